package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

func fishCompletion(app *kong.Application) (string, error) {
	const seen, unseen = "__fish_seen_subcommand_from ", "not __fish_seen_subcommand_from "
	var b strings.Builder
	fmt.Fprintf(&b, "# fish completion for %s; put it into a folder of $fish_complete_path.\n", app.Name)
	all := commands(app)
	for _, c := range all {
		// fish knows which words stand on the line, not in which order: a verb that also
		// stands below a group of verbs is meant only where that group is not.
		var when []string
		for _, w := range c.words {
			when = append(when, seen+w)
		}
		for _, other := range all {
			if len(c.words) > 0 && len(other.words) == len(c.words)+1 && other.words[len(other.words)-1] == c.words[len(c.words)-1] {
				when = append(when, unseen+strings.Join(other.words[:len(other.words)-1], " "))
			}
		}
		lines := func(f *kong.Flag, condition []string) {
			if f.Hidden {
				return
			}
			fmt.Fprintf(&b, "complete -c %s%s -l %s", app.Name, fishCondition(condition), f.Name)
			if f.Short != 0 {
				fmt.Fprintf(&b, " -s %c", f.Short)
			}
			if takesValue(f) {
				b.WriteString(fishValue(hintOf(f.Value)))
			}
			fmt.Fprintf(&b, " -d %s\n", shellQuote(f.OrigHelp))
		}
		for _, f := range c.node.Flags {
			lines(f, when)
		}
		children := c.children()
		if len(children) == 0 {
			fishArguments(&b, app.Name, fishCondition(when), c.node.Positional)
			continue
		}
		before := append(slices.Clone(when), unseen+strings.Join(children, " "))
		if d := c.node.DefaultCmd; d != nil {
			for _, f := range d.Flags {
				lines(f, before)
			}
		}
		for _, child := range c.node.Children {
			if !child.Hidden {
				fmt.Fprintf(&b, "complete -c %s -f%s -a %s -d %s\n", app.Name, fishCondition(before), child.Name, shellQuote(child.Help))
			}
		}
	}
	return b.String(), nil
}

// fishArguments says what a verb's arguments may be, without which fish offers files.
// It does not know which argument a word is, and offers what any of them may be.
func fishArguments(b *strings.Builder, program, condition string, arguments []*kong.Positional) {
	noFiles := " -f"
	for _, a := range arguments {
		if hintOf(a).path == pathFile {
			noFiles = ""
		}
	}
	if noFiles != "" {
		fmt.Fprintf(b, "complete -c %s%s%s\n", program, noFiles, condition)
	}
	for _, a := range arguments {
		h := hintOf(a)
		words := shellQuote(strings.Join(h.choices, " "))
		if h.path == pathFolder {
			words = "'(__fish_complete_directories)'"
		}
		if h.path == pathFolder || len(h.choices) > 0 {
			fmt.Fprintf(b, "complete -c %s%s%s -a %s -d %s\n", program, noFiles, condition, words, shellQuote(a.Name))
		}
	}
}

func fishValue(h hint) string {
	switch {
	case h.path == pathFile:
		return " -r -F"
	case h.path == pathFolder:
		return " -x -a '(__fish_complete_directories)'"
	case h.list:
		return " -x -a '(__fish_append ," + spaced(h.choices) + ")'"
	case len(h.choices) > 0:
		return " -x -a " + shellQuote(strings.Join(h.choices, " "))
	default:
		return " -x"
	}
}

func fishCondition(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return " -n " + shellQuote(strings.Join(all, "; and "))
}

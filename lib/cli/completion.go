package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// children lists the words that may follow a command's words.
func (c command) children() []string {
	var names []string
	for _, child := range c.node.Children {
		if !child.Hidden {
			names = append(names, child.Name)
		}
	}
	return names
}

// effective returns the flags that are valid behind a command's words: its own
// and, where a default command takes flags without its name, that one's.
func (c command) effective() []*kong.Flag {
	flags := c.flags
	if d := c.node.DefaultCmd; d != nil {
		flags = append(flags[:len(flags):len(flags)], visible(d.Flags)...)
	}
	return flags
}

func visible(flags []*kong.Flag) []*kong.Flag {
	return slices.DeleteFunc(slices.Clone(flags), func(f *kong.Flag) bool { return f.Hidden })
}

func optionWords(flags []*kong.Flag) []string {
	var words []string
	for _, f := range flags {
		words = append(words, "--"+f.Name)
		if f.Short != 0 {
			words = append(words, "-"+string(f.Short))
		}
	}
	return words
}

// bashCompletion needs no bash-completion package, only complete and compgen, and
// runs in the bash 3.2 that macOS has.
func bashCompletion(app *kong.Application) (string, error) {
	fn := "_" + strings.ReplaceAll(app.Name, "-", "_")
	all := commands(app)
	var b strings.Builder
	fmt.Fprintf(&b, "# bash completion for %s; source it, or put it into bash-completion's folder.\n", app.Name)

	// What each flag takes depends on the verb: two verbs may use one name for
	// different things.
	fmt.Fprintf(&b, "# Sets takes to what flag $2 of verb $1 is followed by: words, files or nothing known.\n%s_takes() {\n  case \"$1 $2\" in\n", fn)
	var values []string // in order of appearance
	patterns := map[string][]string{}
	general := visible(app.Flags)
	add := func(anyVerb, path string, flags []*kong.Flag) {
		for _, f := range flags {
			if !takesValue(f) {
				continue
			}
			value := strings.Join(choices(f), " ")
			if value == "" && namesFile(f) {
				value = "files"
			}
			if _, seen := patterns[value]; !seen {
				values = append(values, value)
			}
			for _, word := range optionWords([]*kong.Flag{f}) {
				patterns[value] = append(patterns[value], anyVerb+fmt.Sprintf("%q", path+" "+word))
			}
		}
	}
	add("*", "", general)
	own := make([][]*kong.Flag, len(all))
	for i, c := range all {
		own[i] = c.effective()[len(general):] // the general ones stand first
		add("", spaced(c.words), own[i])
	}
	for _, value := range values {
		fmt.Fprintf(&b, "    %s) takes=%q ;;\n", strings.Join(patterns[value], "|"), value)
	}
	b.WriteString("    *) return 1 ;;\n  esac\n}\n")

	fmt.Fprintf(&b, "%s() {\n", fn)
	b.WriteString(`  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path= skip= takes= word words
  [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD-2]}
  [[ $cur == = ]] && cur=
  COMPREPLY=()
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ -n $skip ]]; then # the value of a flag is no verb
      [[ $word == = ]] || skip=
      continue
    fi
    case "$path $word" in
`)
	for _, c := range all[1:] {
		path := spaced(c.words)
		fmt.Fprintf(&b, "      %q) path=%q ;;\n", path, path)
	}
	fmt.Fprintf(&b, "      *) %s_takes \"$path\" \"$word\" && skip=1 ;;\n    esac\n  done\n", fn)
	fmt.Fprintf(&b, "  if %s_takes \"$path\" \"$prev\"; then\n    words=$takes\n  else\n    case \"$path\" in\n", fn)
	for i, c := range all {
		fmt.Fprintf(&b, "      %q) words=%q ;;\n", spaced(c.words), strings.Join(append(c.children(), optionWords(own[i])...), " "))
	}
	fmt.Fprintf(&b, "    esac\n    takes= words+=%q\n", spaced(optionWords(general)))
	b.WriteString(`  fi
  [[ $words == files ]] || COMPREPLY=($(compgen -W "$words" -- "$cur"))
  if [[ $words == files || -n $words && -z $takes && ${#COMPREPLY[@]} -eq 0 && $cur != -* ]]; then
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$cur")
  fi
}
`)
	fmt.Fprintf(&b, "complete -o filenames -F %s %s\n", fn, app.Name)
	return b.String(), nil
}

// spaced puts a space before each of a command's words.
func spaced(words []string) string {
	return strings.Join(append([]string{""}, words...), " ")
}

func zshCompletion(app *kong.Application) (string, error) {
	fn := "_" + strings.ReplaceAll(app.Name, "-", "_")
	var b strings.Builder
	fmt.Fprintf(&b, "#compdef %s\n# zsh completion for %s; put it into a folder of $fpath as _%s.\n", app.Name, app.Name, app.Name)
	all := commands(app)
	for _, c := range all {
		name := fn + strings.Join(append([]string{""}, c.words...), "__")
		fmt.Fprintf(&b, "%s() {\n", strings.ReplaceAll(name, "-", "_"))
		b.WriteString("  local curcontext=$curcontext state line\n  typeset -A opt_args\n  _arguments -C \\\n")
		for _, f := range c.effective() {
			fmt.Fprintf(&b, "    %s \\\n", zshFlag(f))
		}
		if len(c.children()) > 0 {
			b.WriteString("    '1: :->verb' '*:: :->rest'\n  case $state in\n    verb)\n      local -a verbs=(\n")
			for _, child := range c.node.Children {
				if !child.Hidden {
					fmt.Fprintf(&b, "        %s\n", shellQuote(child.Name+":"+child.Help))
				}
			}
			b.WriteString("      )\n      _describe verb verbs ;;\n    rest)\n      case $words[1] in\n")
			for _, child := range c.children() {
				fmt.Fprintf(&b, "        %s) %s ;;\n", child, strings.ReplaceAll(name+"__"+child, "-", "_"))
			}
			b.WriteString("      esac ;;\n  esac\n}\n")
			continue
		}
		b.WriteString("    '*: :_files'\n}\n")
	}
	fmt.Fprintf(&b, "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n  %s \"$@\"\nelse\n  compdef %s %s\nfi\n", fn, fn, app.Name)
	return b.String(), nil
}

func zshFlag(f *kong.Flag) string {
	help := strings.NewReplacer("[", "(", "]", ")", ":", " -").Replace(f.OrigHelp)
	action := ""
	if takesValue(f) {
		action = ":" + strings.ToLower(f.Name) + ":"
		switch {
		case len(choices(f)) > 0:
			action += "(" + strings.Join(choices(f), " ") + ")"
		case namesFile(f):
			action += "_files"
		}
	}
	assign, repeat := "", ""
	if takesValue(f) {
		assign = "="
	}
	if f.IsSlice() {
		repeat = "*"
	}
	if f.Short == 0 {
		return shellQuote(repeat + "--" + f.Name + assign + "[" + help + "]" + action)
	}
	short := "-" + string(f.Short)
	if takesValue(f) {
		short += "+"
	}
	group := "'(-" + string(f.Short) + " --" + f.Name + ")'"
	if repeat != "" {
		group = "'*'"
	}
	return group + "{" + short + ",--" + f.Name + assign + "}" + shellQuote("["+help+"]"+action)
}

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
				switch {
				case len(choices(f)) > 0:
					fmt.Fprintf(&b, " -x -a %s", shellQuote(strings.Join(choices(f), " ")))
				case namesFile(f):
					b.WriteString(" -r -F")
				default:
					b.WriteString(" -x")
				}
			}
			fmt.Fprintf(&b, " -d %s\n", shellQuote(f.OrigHelp))
		}
		for _, f := range c.node.Flags {
			lines(f, when)
		}
		children := c.children()
		if len(children) == 0 {
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

func fishCondition(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return " -n " + shellQuote(strings.Join(all, "; and "))
}

// shellQuote quotes for bash, zsh and fish alike.
func shellQuote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

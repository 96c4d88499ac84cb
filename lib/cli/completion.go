package cli

import (
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

// arguments returns what may stand behind a command's words: its own arguments, or
// the default command's.
func (c command) arguments() []*kong.Positional {
	if d := c.node.DefaultCmd; d != nil {
		return d.Positional
	}
	return c.node.Positional
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

// spaced puts a space before each of a command's words.
func spaced(words []string) string {
	return strings.Join(append([]string{""}, words...), " ")
}

// shellQuote quotes for bash, zsh and fish alike.
func shellQuote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

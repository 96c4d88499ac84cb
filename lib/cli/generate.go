package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

// generateFlag is --generate: text made from the grammar itself, so that manual
// pages and completions cannot drift from what the binary accepts.
type generateFlag string

var generators = map[string]func(app *kong.Application) (string, error){
	"man":  manPage,
	"bash": bashCompletion,
	"zsh":  zshCompletion,
	"fish": fishCompletion,
	"json": grammarJSON,
}

// BeforeReset prints the text and ends the parse, before kong asks for a command.
func (generateFlag) BeforeReset(ctx *kong.Context, trace *kong.Path) error {
	form := ""
	if v, ok := ctx.FlagValue(trace.Flag).(generateFlag); ok {
		form = string(v)
	}
	generate, ok := generators[form]
	if !ok {
		return fault.New(fault.Usage, "--generate must be one of man, bash, zsh, fish, json, not %s", fault.Quote(form))
	}
	text, err := generate(ctx.Model)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprint(ctx.Stdout, text); err != nil {
		return err
	}
	ctx.Exit(0)
	return nil
}

// command is one verb as the generators see it: its words, its help, its flags
// with those of every level above.
type command struct {
	words []string
	node  *kong.Node
	flags []*kong.Flag
}

// commands lists the visible verbs in the order of the grammar; the root stands
// first, with the flags that need no verb.
func commands(app *kong.Application) []command {
	var all []command
	var visit func(n *kong.Node, words []string, flags []*kong.Flag)
	visit = func(n *kong.Node, words []string, flags []*kong.Flag) {
		own := append(slices.Clone(flags), visible(n.Flags)...)
		all = append(all, command{words, n, own})
		for _, child := range n.Children {
			if !child.Hidden {
				visit(child, append(slices.Clone(words), child.Name), own)
			}
		}
	}
	visit(app.Node, nil, nil)
	return all
}

// takesValue reports whether a flag is followed by a value.
func takesValue(f *kong.Flag) bool { return !f.IsBool() && !f.IsCounter() }

func choices(f *kong.Flag) []string {
	if f.Name == "generate" {
		return []string{"man", "bash", "zsh", "fish", "json"}
	}
	if f.Enum == "" {
		return nil
	}
	var all []string
	for _, c := range strings.Split(f.Enum, ",") {
		if c = strings.TrimSpace(c); c != "" {
			all = append(all, c)
		}
	}
	return all
}

// namesFile reports whether a value is a file or a folder, from its placeholder.
func namesFile(f *kong.Flag) bool {
	p := f.PlaceHolder
	return strings.HasSuffix(p, "FILE") || strings.HasSuffix(p, "DIR") || strings.HasSuffix(p, "PATH")
}

// Grammar forms for --generate=json.
type grammarFlag struct {
	Name    string   `json:"name"`
	Short   string   `json:"short,omitempty"`
	Value   string   `json:"value,omitempty"`
	Choices []string `json:"choices,omitempty"`
	Default string   `json:"default,omitempty"`
	Env     []string `json:"env,omitempty"`
	Repeat  bool     `json:"repeat,omitempty"`
	Require bool     `json:"required,omitempty"`
	Help    string   `json:"help"`
}

type grammarArg struct {
	Name    string `json:"name"`
	Repeat  bool   `json:"repeat,omitempty"`
	Require bool   `json:"required,omitempty"`
	Help    string `json:"help,omitempty"`
}

type grammarCommand struct {
	Command string        `json:"command"`
	Help    string        `json:"help,omitempty"`
	Default bool          `json:"default,omitempty"`
	Flags   []grammarFlag `json:"flags"`
	Args    []grammarArg  `json:"arguments"`
	Codes   []codeRow     `json:"errors"`
}

type codeRow struct {
	Code fault.Code `json:"code"`
	Exit int        `json:"exit"`
	Help string     `json:"help"`
}

func grammarJSON(app *kong.Application) (string, error) {
	doc := struct {
		Schema   string           `json:"schema"`
		Name     string           `json:"name"`
		Version  string           `json:"version"`
		Help     string           `json:"help"`
		Commands []grammarCommand `json:"commands"`
	}{"kxm.grammar.v1", app.Name, version(), app.Help, []grammarCommand{}}
	for _, c := range commands(app) {
		if len(c.words) > 0 && len(c.node.Children) > 0 {
			continue // a group of verbs, none itself
		}
		g := grammarCommand{
			Command: strings.Join(c.words, " "), Help: c.node.Help, Flags: []grammarFlag{}, Args: []grammarArg{}, Codes: []codeRow{},
			Default: c.node.Parent != nil && c.node.Parent.DefaultCmd == c.node,
		}
		for _, f := range c.flags {
			row := grammarFlag{Name: f.Name, Choices: choices(f), Default: f.Default, Env: f.Envs, Repeat: f.IsSlice(), Require: f.Required, Help: f.OrigHelp}
			if f.Short != 0 {
				row.Short = string(f.Short)
			}
			if takesValue(f) {
				row.Value = f.FormatPlaceHolder()
			}
			g.Flags = append(g.Flags, row)
		}
		for _, a := range c.node.Positional {
			g.Args = append(g.Args, grammarArg{a.Name, a.IsSlice(), a.Required, a.Help})
		}
		if len(c.words) > 0 {
			for _, code := range codesOf(c.node) {
				g.Codes = append(g.Codes, codeRow{code, code.Exit(), code.Meaning()})
			}
		}
		doc.Commands = append(doc.Commands, g)
	}
	line, err := ndjson.Marshal(doc)
	if err != nil {
		return "", err
	}
	return string(line) + "\n", nil
}

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

// hint is what the generators know of a value. Besides kong's own tags they read two
// of ours, for values that the command itself checks: oneof:"a,b" names what the value
// may be, listof:"a,b" what stands in it between commas.
type hint struct {
	choices []string // in the grammar's order
	list    bool     // several of them, separated by commas
	path    string   // pathFile, pathFolder, or empty
}

const (
	pathFile   = "file"
	pathFolder = "folder"
)

// hintOf reads the tags of a flag's or an argument's value. A placeholder that ends in
// FILE, PATH or DIR names a file or a folder.
func hintOf(v *kong.Value) hint {
	var h hint
	switch {
	case v.Flag != nil && v.Flag.Name == "generate":
		h.choices = []string{"man", "bash", "zsh", "fish", "json"}
	case v.Tag.Has("listof"):
		h.choices, h.list = tagWords(v.Tag.Get("listof")), true
	case v.Tag.Has("oneof"):
		h.choices = tagWords(v.Tag.Get("oneof"))
	default:
		h.choices = tagWords(v.Enum)
	}
	switch p := v.Tag.PlaceHolder; {
	case strings.HasSuffix(p, "FILE"), strings.HasSuffix(p, "PATH"):
		h.path = pathFile
	case strings.HasSuffix(p, "DIR"):
		h.path = pathFolder
	}
	return h
}

// tagWords cuts a tag's list and leaves out the empty word, which only says that a flag
// may be absent.
func tagWords(list string) []string {
	var all []string
	for w := range strings.SplitSeq(list, ",") {
		if w = strings.TrimSpace(w); w != "" {
			all = append(all, w)
		}
	}
	return all
}

// Grammar forms for --generate=json.
type grammarFlag struct {
	Name    string   `json:"name"`
	Short   string   `json:"short,omitempty"`
	Value   string   `json:"value,omitempty"`
	Choices []string `json:"choices,omitempty"`
	List    bool     `json:"list,omitempty"`
	Path    string   `json:"path,omitempty"`
	Default string   `json:"default,omitempty"`
	Env     []string `json:"env,omitempty"`
	Repeat  bool     `json:"repeat,omitempty"`
	Require bool     `json:"required,omitempty"`
	Help    string   `json:"help"`
}

type grammarArg struct {
	Name    string   `json:"name"`
	Choices []string `json:"choices,omitempty"`
	Path    string   `json:"path,omitempty"`
	Repeat  bool     `json:"repeat,omitempty"`
	Require bool     `json:"required,omitempty"`
	Help    string   `json:"help,omitempty"`
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
			h := hintOf(f.Value)
			row := grammarFlag{Name: f.Name, Choices: h.choices, List: h.list, Path: h.path, Default: f.Default, Env: f.Envs, Repeat: f.IsSlice(), Require: f.Required, Help: f.OrigHelp}
			if f.Short != 0 {
				row.Short = string(f.Short)
			}
			if takesValue(f) {
				row.Value = f.FormatPlaceHolder()
			}
			g.Flags = append(g.Flags, row)
		}
		for _, a := range c.node.Positional {
			h := hintOf(a)
			g.Args = append(g.Args, grammarArg{a.Name, h.choices, h.path, a.IsSlice(), a.Required, a.Help})
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

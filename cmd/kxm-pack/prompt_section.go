package main

import (
	"slices"
	"strings"
	"unicode/utf8"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/prompt"
)

// sectionCmd makes a section.
type sectionCmd struct {
	promptInput
	ID      string   `placeholder:"ID" help:"The section's id: a-z, 0-9 and -."`
	Title   string   `placeholder:"TEXT" help:"Its heading, one line of at most 120 characters."`
	Order   *int     `placeholder:"N" help:"Where it stands among the sections, 1 to 94; default: 70."`
	Budget  *int     `placeholder:"N" help:"The most characters of it, 200 to 30,000; default: 4,000."`
	Dynamic bool     `help:"It changes between turns: deliver it in updates, not in the system prompt."`
	Owner   string   `placeholder:"PLUGIN" help:"The plugin that owns it, such as application:release."`
	Source  []string `placeholder:"REF" sep:"none" help:"Where the text comes from; may be repeated. The first stands in the note of a cut."`
	Builtin string   `placeholder:"ID" oneof:"session-state,references,required-skills,plan,continuation,subagents,wiki" help:"Print a section that an input's launch brings, as an update would hold it: session-state, references, required-skills, plan, continuation, subagents or wiki."`
}

// Help stands below the usage.
func (*sectionCmd) Help() string {
	return `Without --builtin the text on standard input becomes an object for --sections. With it
the command reads an input as compile does, and prints nothing if that brings no such
section.`
}

// Codes names what the command can end with.
func (*sectionCmd) Codes() []fault.Code { return inputCodes() }

// Run prints the section, or the block.
func (c *sectionCmd) Run(s *cli.Session) error {
	own := c.ID != "" || c.Title != "" || c.Order != nil || c.Budget != nil || c.Dynamic || c.Owner != "" || len(c.Source) > 0
	switch {
	case c.Builtin != "" && own:
		return fault.New(fault.Usage, "--builtin prints a section of the compiler's own, which takes no other description")
	case c.Builtin != "":
		return c.block(s)
	case c.given():
		return fault.New(fault.Usage, "an application's section is made of standard input alone").WithHint("--builtin ID reads an input")
	case c.ID == "":
		return fault.New(fault.Usage, "the section has no --id")
	}
	text, err := readStdin(s, "text")
	if err != nil {
		return err
	}
	if !utf8.Valid(text) {
		return fault.New(fault.PromptInputInvalid, "the text is not UTF-8").At("stdin", 0, 0).On("body")
	}
	section := prompt.AppSection{
		ID: c.ID, Title: c.Title, Body: string(text), Order: prompt.DefaultOrder, Budget: prompt.DefaultBudget,
		Dynamic: c.Dynamic, Owner: c.Owner, Sources: c.Source,
	}
	if c.Order != nil {
		section.Order = *c.Order
	}
	if c.Budget != nil {
		section.Budget = *c.Budget
	}
	if err := section.Check(); err != nil {
		return err
	}
	emit(s, section.AppendJSON(nil))
	return nil
}

func (c *sectionCmd) block(s *cli.Session) error {
	if ids := prompt.BlockIDs(); !slices.Contains(ids, c.Builtin) {
		return fault.New(fault.Usage, "--builtin: %s is not one of %s", fault.Quote(c.Builtin), strings.Join(ids, ", "))
	}
	in, err := c.read(s)
	if err != nil {
		return err
	}
	block, err := prompt.Block(in, c.Builtin)
	s.Print("%s", block)
	return err
}

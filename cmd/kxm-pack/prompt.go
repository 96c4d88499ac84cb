package main

import (
	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/prompt"
)

// promptCmd holds the verbs of the prompt compiler.
type promptCmd struct {
	Compile    compileCmd      `cmd:"" help:"Compile an input into a context pack."`
	Launch     launchCmd       `cmd:"" help:"Compile the system prompt of a run and the update that its history lacks."`
	Render     promptRenderCmd `cmd:"" help:"Lay a pack out as one text, for a session that takes a single prompt."`
	Snapshot   snapshotCmd     `cmd:"" help:"Print the snapshot that a history last delivered."`
	Checkpoint checkpointCmd   `cmd:"" help:"Build the message that keeps a run on its work after a compaction."`
	Record     recordCmd       `cmd:"" help:"Record a pack beside a run."`
	Show       showCmd         `cmd:"" help:"Print the pack that is recorded beside a run."`
	Sizes      sizesCmd        `cmd:"" help:"Say what each section of a delivered pack occupies."`
	Prefix     prefixCmd       `cmd:"" help:"Measure how much of their beginning two requests share."`
	Section    sectionCmd      `cmd:"" help:"Make an application's section of a text, or print a section of one request."`
	Texts      textsCmd        `cmd:"" help:"Print the fixed texts."`
}

// inputCodes are those of reading an input and compiling it.
func inputCodes(more ...fault.Code) []fault.Code {
	return append(more, fault.InvalidJSON, fault.PromptInputInvalid, fault.PromptSectionDuplicate, fault.PromptSectionReserved,
		fault.PromptBudgetInvalid, fault.PromptVariantSectionTooLarge, fault.PromptCapabilitiesInvalid,
		fault.InvalidFrontMatter, fault.PathEscapes, fault.TreeRefused)
}

// readStdin reads standard input, which is to hold what is named.
func readStdin(s *cli.Session, what string) ([]byte, error) {
	if cli.Terminal(s.In) {
		return nil, fault.New(fault.Usage, "no %s on standard input, which is a terminal", what)
	}
	return s.ReadFile("-")
}

// readPack reads the pack or launch answer on standard input.
func readPack(s *cli.Session) (*prompt.Pack, []byte, error) {
	raw, err := readStdin(s, "pack")
	if err != nil {
		return nil, nil, err
	}
	p, err := prompt.ParsePack(raw)
	return p, raw, fault.Place(err, "stdin")
}

// emit adds one line to the answer.
func emit(s *cli.Session, line []byte) {
	_, _ = s.Write(append(line, '\n')) // never fails
}

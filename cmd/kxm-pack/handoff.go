package main

import (
	"bytes"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/packet"
)

// handoffCmd holds the verbs about handoff manifests.
type handoffCmd struct {
	Build handoffBuildCmd `cmd:"" default:"withargs" help:"Build a manifest (the default command)."`
	Check handoffCheckCmd `cmd:"" help:"Check a manifest and print it."`
}

// Help says how the verbs are called.
func (*handoffCmd) Help() string {
	return `"handoff --from FILE" builds a manifest of its content, "handoff check [FILE]" checks one.`
}

// handoffBuildCmd builds a manifest.
type handoffBuildCmd struct {
	clock
	From string `required:"" placeholder:"FILE" help:"The manifest's content, a JSON object; - is standard input. Its id, status and time are not needed and made anew."`
}

// Codes names what the command can end with.
func (*handoffBuildCmd) Codes() []fault.Code { return documentCodes(fault.InvalidHandoff) }

// Run prints the manifest.
func (c *handoffBuildCmd) Run(s *cli.Session) error {
	now, err := c.clock.time(s)
	if err != nil {
		return err
	}
	draft, err := readHandoff(s, c.From, packet.ReadHandoffDraft)
	if err != nil {
		return err
	}
	manifest, err := packet.BuildHandoff(draft, now)
	if err != nil {
		return err
	}
	return s.Emit(manifest)
}

// handoffCheckCmd checks a manifest.
type handoffCheckCmd struct {
	File string `arg:"" optional:"" default:"-" placeholder:"FILE" help:"The manifest; default: standard input."`
}

// Help says what is checked and what is not.
func (*handoffCheckCmd) Help() string {
	return `Every field, enumeration and limit is checked. A manifest that is valid is printed, so that
the command can stand in a pipe. Its id names it as it was built, and is checked for its
form alone: the status changes later.`
}

// Codes names what the command can end with.
func (*handoffCheckCmd) Codes() []fault.Code { return documentCodes(fault.InvalidHandoff) }

// Run prints the manifest, if it is one.
func (c *handoffCheckCmd) Run(s *cli.Session) error {
	manifest, err := readHandoff(s, c.File, packet.ReadHandoff)
	if err != nil {
		return err
	}
	return s.Emit(manifest)
}

// readHandoff reads a manifest from a file or standard input.
func readHandoff(s *cli.Session, name string, read func([]byte, packet.Masks) (packet.Handoff, error)) (packet.Handoff, error) {
	if name == "-" && cli.Terminal(s.In) {
		return packet.Handoff{}, fault.New(fault.Usage, "no manifest on standard input, which is a terminal")
	}
	data, err := s.ReadFile(name)
	if err != nil {
		return packet.Handoff{}, err
	}
	if name == "-" {
		name = "stdin"
	}
	return readDocument(bytes.NewReader(data), name, "handoff manifest", fault.InvalidHandoff, read)
}

package main

import (
	"bytes"
	"slices"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/ndjson"
	"kxm/lib/prompt"
)

// promptInput is what the verbs that compile share: one object on standard input, or
// files as soon as one of the flags is given.
type promptInput struct {
	Launch       []string `placeholder:"FILE" sep:"none" help:"Take the launch from FILE instead of one input on standard input."`
	Variant      []string `placeholder:"DIR" sep:"none" help:"Take the variant from a folder: AGENTS.md, guardrails.md, memory.md, agents, scripts and skills."`
	Omit         []string `placeholder:"ID" sep:"none" help:"Leave this section of the folder out, such as system where the agent reads AGENTS.md itself; may be repeated."`
	Sections     []string `placeholder:"FILE" sep:"none" help:"Take an application's sections from FILE; may be repeated."`
	Capabilities []string `placeholder:"FILE" sep:"none" help:"Take the frozen capability set from FILE."`
	Descriptors  []string `placeholder:"FILE" sep:"none" help:"Take an application's plugin descriptors from FILE; may be repeated."`
}

func (p *promptInput) given() bool {
	return len(p.Launch)+len(p.Variant)+len(p.Omit)+len(p.Sections)+len(p.Capabilities)+len(p.Descriptors) > 0
}

// read returns the input. Others are files that the command reads besides, of which
// one may be standard input instead.
func (p *promptInput) read(s *cli.Session, others ...string) (*prompt.Input, error) {
	if err := p.check(others); err != nil {
		return nil, err
	}
	var in *prompt.Input
	var err error
	if p.given() {
		in, err = p.build(s)
	} else {
		in, err = parseStdin(s)
	}
	if err != nil {
		return nil, err
	}
	if in.Launch.WantsFolder() {
		in.Launch.Standard = &prompt.Standard{Cwd: prompt.Line(s.Dir)}
	}
	return in, nil
}

// check refuses two inputs for one field, and a standard input that is to be two.
func (p *promptInput) check(others []string) error {
	for _, once := range []struct {
		flag   string
		values []string
	}{{"--launch", p.Launch}, {"--variant", p.Variant}, {"--capabilities", p.Capabilities}} {
		if len(once.values) > 1 {
			return fault.New(fault.Usage, "%s is given twice, and holds one value", once.flag)
		}
	}
	if len(p.Omit) > 0 && len(p.Variant) == 0 {
		return fault.New(fault.Usage, "--omit leaves out sections of --variant, which is not given")
	}
	stdin := 0
	if !p.given() {
		stdin++
	}
	for _, names := range [][]string{p.Launch, p.Sections, p.Capabilities, p.Descriptors, others} {
		for _, name := range names {
			if name == "-" {
				stdin++
			}
		}
	}
	if slices.Contains(p.Variant, "-") {
		return fault.New(fault.Usage, "--variant is a folder, which standard input cannot be")
	}
	if stdin > 1 {
		return fault.New(fault.Usage, "standard input is to be two inputs at once")
	}
	return nil
}

// parseStdin reads one input of everything.
func parseStdin(s *cli.Session) (*prompt.Input, error) {
	raw, err := readStdin(s, "input")
	if err != nil {
		return nil, err
	}
	in, err := prompt.ParseInput(raw)
	return &in, fault.Place(err, "stdin")
}

// build puts the input together from files.
func (p *promptInput) build(s *cli.Session) (*prompt.Input, error) {
	b := prompt.NewBuilder()
	for _, name := range p.Launch {
		if err := readValue(s, name, b.Launch); err != nil {
			return nil, err
		}
	}
	for _, dir := range p.Variant {
		v, err := readVariant(s, dir, p.Omit)
		if err != nil {
			return nil, err
		}
		v.Scope = b.Input().Launch.Scope
		if err := b.Variant(v); err != nil {
			return nil, fault.Place(err, dir)
		}
	}
	for _, name := range p.Sections {
		if err := readValues(s, name, b.Section); err != nil {
			return nil, err
		}
	}
	for _, name := range p.Capabilities {
		if err := readValue(s, name, b.Capabilities); err != nil {
			return nil, err
		}
	}
	for _, name := range p.Descriptors {
		if err := readValues(s, name, b.Descriptor); err != nil {
			return nil, err
		}
	}
	return b.Input(), nil
}

// sourceName is what errors call a file.
func sourceName(name string) string {
	if name == "-" {
		return "stdin"
	}
	return name
}

// readValue reads a file of one JSON value.
func readValue(s *cli.Session, name string, read func(raw []byte) error) error {
	raw, err := s.ReadFile(name)
	if err != nil {
		return err
	}
	return fault.Place(read(raw), sourceName(name))
}

// readValues reads a file of any number of JSON values, or of a list of them.
func readValues(s *cli.Session, name string, add func(raw []byte) error) error {
	raw, err := s.ReadFile(name)
	if err != nil {
		return err
	}
	source := sourceName(name)
	for v, err := range ndjson.NewDecoder(bytes.NewReader(raw), source).Values() {
		if err != nil {
			return err
		}
		if err := add(v.Raw); err != nil {
			return placeLine(err, source, v.Line)
		}
	}
	return nil
}

// placeLine places an error at the value that begins on a line; a line within the
// value counts from there.
func placeLine(err error, source string, line int) error {
	e, ok := err.(*fault.Error)
	if !ok {
		return err
	}
	c := *e.At(source, 0, 0)
	c.Line = line + max(0, c.Line-1)
	return &c
}

package main

import (
	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/prompt"
)

// launchCmd compiles what a run starts with.
type launchCmd struct {
	promptInput
	Snapshot  string `placeholder:"FILE" xor:"before" help:"What the conversation was given before, as the last answer that was delivered had it."`
	History   string `placeholder:"FILE" xor:"before" help:"Find the snapshot in the session's history: NDJSON entries, read from the end."`
	Leaf      string `placeholder:"ID" help:"The entry that the active branch of the history ends with; default: the last."`
	Compacted bool   `help:"The history was compacted: send everything again."`
	Record    string `placeholder:"DIR" help:"Record the pack beside the run. A failure is a warning, and delivers nothing."`
	Expect    string `placeholder:"DIGEST" help:"Exit 1 and print nothing unless the system prompt has this digest (sha256:…)."`
}

// Codes names what the command can end with.
func (*launchCmd) Codes() []fault.Code {
	return inputCodes(fault.PromptHistoryInvalid, fault.PromptPrefixChanged)
}

// Run prints the answer.
func (c *launchCmd) Run(s *cli.Session) error {
	if err := c.checkFlags(); err != nil {
		return err
	}
	in, err := c.read(s, c.Snapshot, c.History)
	if err != nil {
		return err
	}
	before, err := c.before(s)
	if err != nil {
		return err
	}
	l, err := prompt.Start(in, before, c.Compacted)
	if err != nil {
		return err
	}
	if c.Expect != "" {
		if err := l.Expect(c.Expect); err != nil {
			return err
		}
	}
	if l.First != "" {
		s.Warn("the system prompt differs from the snapshot's, first in %s: the provider reads all behind it anew [%s]", fault.Quote(l.First), fault.PromptPrefixChanged)
	}
	emit(s, l.AppendJSON(nil))
	if c.Record != "" {
		if _, err := record(s, c.Record, l.Pack.AppendJSON(nil)); err != nil {
			s.Warn("%v", err)
		}
	}
	return nil
}

func (c *launchCmd) checkFlags() error {
	if c.Leaf != "" && c.History == "" {
		return fault.New(fault.Usage, "--leaf names an entry of --history, which is not given")
	}
	if c.Expect != "" {
		return prompt.CheckDigest("--expect", c.Expect)
	}
	return nil
}

// before finds what the conversation was given, nil if nothing counts.
func (c *launchCmd) before(s *cli.Session) (*prompt.Snapshot, error) {
	switch {
	case c.History != "":
		return delivered(s, c.History, c.Leaf)
	case c.Snapshot != "":
		var before *prompt.Snapshot
		err := readValue(s, c.Snapshot, func(raw []byte) (err error) {
			before, err = prompt.ParseSnapshot(raw)
			return err
		})
		return before, err
	}
	return nil, nil
}

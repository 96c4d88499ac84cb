package main

import (
	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/prompt"
)

// prefixCmd compares requests.
type prefixCmd struct {
	Old   string   `arg:"" optional:"" placeholder:"FILE" help:"The launch answer of the earlier request."`
	New   string   `arg:"" optional:"" placeholder:"FILE" help:"The launch answer of the later request."`
	Turns bool     `help:"Read launch answers on standard input, in order, each with the member history for what followed it, or with objects {\"history\":TEXT} between them."`
	Min   *float64 `placeholder:"SHARE" help:"Exit 1 when two requests share less than this, 0 to 1."`
}

// Help stands below the usage.
func (*prefixCmd) Help() string {
	return `A request is the system prompt, then the history with the updates in their places.
What is measured are bytes of these texts. Whether a provider serves them from its
cache is another matter: it matches whole blocks, ignores short prefixes, and puts tool
schemas, whose order the harness must keep, before the system prompt. Only real
requests, which the account's owner allows, can show a cache hit.`
}

// Codes names what the command can end with.
func (*prefixCmd) Codes() []fault.Code {
	return []fault.Code{fault.InvalidJSON, fault.PromptInputInvalid, fault.PromptPrefixShort}
}

// Run prints one row for each pair of requests.
func (c *prefixCmd) Run(s *cli.Session) error {
	if c.Min != nil && (*c.Min < 0 || *c.Min > 1) {
		return fault.New(fault.Usage, "--min must lie between 0 and 1")
	}
	var answers prompt.Answers
	files := []string{c.Old, c.New}
	switch {
	case c.Turns && c.Old != "":
		return fault.New(fault.Usage, "--turns reads standard input and takes no file")
	case c.Turns:
		files = []string{"-"}
	case c.New == "":
		return fault.New(fault.Usage, "the answers of two requests are needed").WithHint("%s prompt prefix OLD NEW, or --turns", s.Program)
	case c.Old == "-" && c.New == "-":
		return fault.New(fault.Usage, "standard input is to be two inputs at once")
	}
	for _, name := range files {
		if err := readValues(s, name, answers.Add); err != nil {
			return err
		}
	}
	if !c.Turns && len(answers.Turns()) != 2 {
		return fault.New(fault.Usage, "each file must hold one launch answer").WithHint("--turns reads many on standard input")
	}
	short := 0
	for _, common := range prompt.Compare(answers.Turns()) {
		emit(s, common.AppendJSON(nil))
		if c.Min != nil && common.Share() < *c.Min {
			short++
		}
	}
	if short > 0 {
		return fault.New(fault.PromptPrefixShort, "%d requests share less than %g with the one before", short, *c.Min)
	}
	return nil
}

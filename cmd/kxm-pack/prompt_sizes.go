package main

import (
	"strconv"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/prompt"
)

// sizesCmd measures a delivered pack.
type sizesCmd struct {
	Format string `enum:"json,text" default:"json" placeholder:"FORM" help:"json, one object a line, or text, a table."`
}

// Codes names what the command can end with.
func (*sizesCmd) Codes() []fault.Code { return packCodes() }

// Run prints one row a section, the framing last.
func (c *sizesCmd) Run(s *cli.Session) error {
	p, _, err := readPack(s)
	if err != nil {
		return err
	}
	rows := prompt.Measure(p)
	if c.Format == "json" {
		for i := range rows {
			emit(s, rows[i].AppendJSON(nil))
		}
		return nil
	}
	width := len("SECTION")
	for _, r := range rows {
		width = max(width, len([]rune(r.ID)))
	}
	s.Print("%-*s  %-7s  %10s  %6s  %8s  %10s\n", width, "SECTION", "PART", "CHARACTERS", "SHARE", "TOKENS", "CUT")
	for _, r := range rows {
		share, err := strconv.ParseFloat(r.Share, 64)
		if err != nil {
			return err
		}
		s.Print("%-*s  %-7s  %10d  %5.1f%%  %8d  %10d\n", width, fault.Printable(r.ID), r.Part, r.Size, 100*share, r.Tokens, r.Cut)
	}
	if len(rows) > 0 && rows[0].Approximate {
		s.Print("The pack was recorded without measures: the split is approximate.\n")
	}
	return nil
}

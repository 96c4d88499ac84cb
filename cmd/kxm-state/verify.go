package main

import (
	"context"
	"path"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/project"
	"kxm/lib/state"
)

// verifyCmd checks every event.
type verifyCmd struct {
	reading
	Strict bool `help:"Warnings count as errors."`
}

// Codes names what the command can end with.
func (*verifyCmd) Codes() []fault.Code { return storeCodes(fault.StateVerifyFailed) }

// Run prints the findings, one a line, and says which commit it trusts.
func (c *verifyCmd) Run(s *cli.Session) error {
	ctx := context.Background()
	d, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	snapshot, err := d.Log.Snapshot(ctx, "")
	if err != nil {
		return err
	}
	records, err := d.Records(ctx, snapshot)
	if err != nil {
		return err
	}
	foreign, err := snapshot.Foreign(ctx)
	if err != nil {
		return err
	}
	set := state.Check(records, d.Trust, d.Project)
	findings := state.Verify(set, d.Trust)
	named := map[string]bool{}
	for i := range findings {
		named[findings[i].Path] = true
	}
	for _, name := range foreign {
		if !named[name] { // a link at an event's path is an event that cannot be read
			findings = append(findings, state.ForeignFinding(name))
		}
	}
	bad := 0
	var out []byte
	for i := range findings {
		if findings[i].Severity == state.SeverityError || c.Strict {
			bad++
		}
		out = append(findings[i].AppendJSON(out), '\n')
	}
	s.Write(out)
	d.sayTrust()
	s.Note("%s, %s of other projects, %s of unknown types", count(len(set.Events), "event"), count(set.Foreign, "event"), count(set.Unknown, "event"))
	if bad > 0 {
		return fault.New(fault.StateVerifyFailed, "%s", count(bad, "finding"))
	}
	return nil
}

// sayTrust says which commit is trusted and why, and which lines there grant nothing.
func (d *desk) sayTrust() {
	d.s.Say("trust point: %s", pointText(d.Trust.Point))
	for _, p := range d.Trust.Problems {
		d.s.Warn("%s:%d grants nothing: %s", path.Join(d.view.Dir, state.AllowedSignersFile), p.Line, p.Reason)
	}
}

// pointText says which commit is trusted, and why.
func pointText(p state.Point) string { return project.TrustPoint(p).Setup().Detail }

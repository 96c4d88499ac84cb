package main

import (
	"context"
	"path"
	"strconv"

	"kxm/lib/cli"
	"kxm/lib/eventlog"
	"kxm/lib/fault"
	"kxm/lib/project"
	"kxm/lib/signature"
	"kxm/lib/state"
)

// doctorCmd says what is set up and what is broken.
type doctorCmd struct {
	reading
	Repair bool `help:"Set a ref that cannot be read to the newest log that can be, and write what writers that died had handed over."`
}

// Codes names what the command can end with.
func (*doctorCmd) Codes() []fault.Code {
	return storeCodes(fault.SetupIncomplete, fault.StateBusy, fault.StateQuarantine, fault.RefLocked)
}

// Statuses of a diagnosis. Only what is broken makes doctor exit 1: what is off is a
// choice.
const (
	statusOK     = "ok"
	statusOff    = "off"
	statusBroken = "broken"
)

type diagnosis struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Path   string `json:"path,omitempty"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
}

// Run prints the diagnoses, after a repair if one was asked for.
func (c *doctorCmd) Run(s *cli.Session) error {
	ctx := context.Background()
	d, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	repaired := []string{}
	if c.Repair {
		done, err := d.Log.Repair(ctx)
		if err != nil {
			return err
		}
		repaired = append(repaired, done...)
	}
	checks := d.setup(ctx)
	findings, err := d.Log.Check(ctx)
	if err != nil {
		return err
	}
	checks = append(checks, storeChecks(findings)...)
	broken := 0
	for _, x := range checks {
		if x.Status == statusBroken {
			broken++
		}
	}
	if err := s.Emit(struct {
		Schema   string      `json:"schema"`
		OK       bool        `json:"ok"`
		Repaired []string    `json:"repaired"`
		Checks   []diagnosis `json:"checks"`
	}{"kxm.state-doctor.v1", broken == 0, repaired, checks}); err != nil {
		return err
	}
	if broken > 0 {
		return fault.New(fault.SetupIncomplete, "%s broken", count(broken, "thing"))
	}
	return nil
}

// setup looks at Git, the trust point, who may sign, and the key.
func (d *desk) setup(ctx context.Context) []diagnosis {
	var all []diagnosis
	add := func(name, status, detail, fix string) {
		if status == statusOK {
			fix = ""
		}
		all = append(all, diagnosis{Name: name, Status: status, Detail: maskText(fault.Printable(detail)), Fix: fix})
	}
	tell := func(x project.Setup) {
		add(x.Name, [...]string{project.Good: statusOK, project.Off: statusOff, project.Wrong: statusBroken}[x.Condition], x.Detail, x.Fix)
	}
	tell(project.GitSetup(ctx))
	tell(project.TrustPoint(d.Trust.Point).Setup())
	file := path.Join(d.view.Dir, state.AllowedSignersFile)
	switch n := d.Trust.Signers.Len(); {
	case n > 0:
		add("signers", statusOK, count(n, "line")+" of "+file+" may sign", "")
	default:
		add("signers", statusOff, "nobody may sign: no line of "+file+" at the trust point grants anything", "kxm-state init, then commit and merge "+file)
	}
	for _, p := range d.Trust.Problems {
		all = append(all, diagnosis{Name: "signers", Status: statusOff, Path: file, Detail: "line " + strconv.Itoa(p.Line) + " grants nothing: " + maskText(p.Reason), Fix: "correct the line, and have it reviewed"})
	}
	tell(project.KeySetup(ctx, project.KeySource(ctx, d.Repo, d.s.Dir, d.s.Getenv), file, func(k signature.Key) bool { return d.Trust.Signers.PersonOf(k) > 0 }))
	if d.Trust.Format > state.FormatVersion {
		add("format", statusBroken, "the project asks for store format "+strconv.Itoa(d.Trust.Format)+": this program only reads", "update kxm-state")
	}
	return all
}

// storeChecks turns the store's findings into diagnoses; none is one that says so.
func storeChecks(findings []eventlog.Finding) []diagnosis {
	if len(findings) == 0 {
		return []diagnosis{{Name: "store", Status: statusOK, Detail: "every event lies where its content says"}}
	}
	var all []diagnosis
	for _, f := range findings {
		status := statusOff
		if f.Severity == "error" {
			status = statusBroken
		}
		all = append(all, diagnosis{Name: f.Rule, Status: status, Path: maskText(f.Path), Detail: maskText(f.Message), Fix: f.Hint})
	}
	return all
}

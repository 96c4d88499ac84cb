package main

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/memory"
	"kxm/lib/project"
	"kxm/lib/redact"
)

// checkCmd looks for what is wrong.
type checkCmd struct {
	Paths  []string `arg:"" optional:"" name:"path" sep:"none" placeholder:"PATH" help:"Only findings in these files or folders."`
	Staged bool     `help:"Read the index instead of the worktree, and report only on staged files, in every project of the repository."`
	Format string   `enum:"json,text,github" default:"json" placeholder:"FORM" help:"json (one finding a line), text, or github (annotations of a workflow)."`
	Rules  bool     `help:"List the rules instead."`
}

// Codes names what the command can end with.
func (*checkCmd) Codes() []fault.Code { return append(recordCodes(), fault.MemoryCheckFailed) }

// defaultCandidateDays is after how many days a candidate is called old.
const defaultCandidateDays = 30

// Run prints the findings, and fails when one is an error.
func (c *checkCmd) Run(s *cli.Session) error {
	if c.Rules {
		return listRules(s)
	}
	ctx := context.Background()
	p, err := findPlace(ctx, s)
	if err != nil {
		return err
	}
	report, err := c.report(ctx, s, p)
	if err != nil {
		return err
	}
	for i := range report.Findings {
		f := &report.Findings[i]
		switch c.Format {
		case "text":
			s.Print("%s", f.Text())
		case "github":
			s.Print("%s", f.GitHub())
		default:
			s.Write(append(f.AppendJSON(nil), '\n'))
		}
	}
	if report.Allowed > 0 {
		s.Note("%s let through by gitleaks:allow or [secrets] allow", count(report.Allowed, "secret"))
	}
	if n := report.Errors(); n > 0 {
		return fault.New(fault.MemoryCheckFailed, "%s of severity error", count(n, "finding"))
	}
	return nil
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// report checks the nearest project; with --staged, every project that the next
// commit changes.
func (c *checkCmd) report(ctx context.Context, s *cli.Session, p *project.Place) (memory.Report, error) {
	var all memory.Report
	views, staged, err := projects(ctx, p, c.Staged)
	if err != nil {
		return all, err
	}
	only, err := c.only(p, views, staged)
	if err != nil {
		return all, err
	}
	for _, v := range views {
		in, err := checkInput(v, s.Now())
		if err != nil {
			return all, err
		}
		in.Only = only
		report := memory.Check(in)
		all.Findings = append(all.Findings, report.Findings...)
		all.Allowed += report.Allowed
	}
	return all, nil
}

// checkInput collects the view's records and what they are checked against.
func checkInput(v *project.View, now time.Time) (in memory.CheckInput, err error) {
	in = memory.CheckInput{
		Dir: v.Dir, Root: v.Root, Now: now, CandidateDays: defaultCandidateDays, Allow: allow(v),
		Exists: func(ref string) bool { return exists(v, ref) },
	}
	if v.Config.Memory.CandidateDays != nil {
		in.CandidateDays = *v.Config.Memory.CandidateDays
	}
	if in.Facts, err = memory.Load(v.Kxm); err != nil {
		return in, err
	}
	in.Candidates, err = memory.LoadCandidates(v.Kxm)
	return in, err
}

// exists looks for a path that a record names, from the top of the repository or
// from the folder that holds .kxm.
func exists(v *project.View, ref string) bool {
	for _, name := range []string{path.Clean(ref), path.Join(v.Dir, ref)} {
		if fs.ValidPath(name) {
			if _, err := fs.Stat(v.Root, name); err == nil {
				return true
			}
		}
	}
	return false
}

// only says which files are wanted; nil is all. A path that names nothing is
// refused: a misspelled one would otherwise look clean.
func (c *checkCmd) only(p *project.Place, views []*project.View, staged map[string]bool) (func(string) bool, error) {
	var below []string
	for _, name := range c.Paths {
		rel, err := p.Below(name)
		if err != nil {
			return nil, err
		}
		if _, err := fs.Lstat(views[0].Root, rel); err != nil {
			return nil, fault.New(fault.Usage, "there is no file or folder %s", fault.Quote(name))
		}
		below = append(below, rel)
	}
	if staged == nil && below == nil {
		return nil, nil
	}
	return func(file string) bool {
		if staged != nil && !staged[file] {
			return false
		}
		return below == nil || slices.ContainsFunc(below, func(b string) bool {
			return b == "." || file == b || strings.HasPrefix(file, b+"/")
		})
	}, nil
}

func listRules(s *cli.Session) error {
	for _, r := range memory.Rules() {
		if err := s.Emit(struct {
			Schema   string          `json:"schema"`
			Rule     string          `json:"rule"`
			Severity memory.Severity `json:"severity"`
			Meaning  string          `json:"meaning"`
			Fix      string          `json:"fix"`
		}{"kxm.memory-rule.v1", r.ID, r.Severity, r.Meaning, r.Fix}); err != nil {
			return err
		}
	}
	return nil
}

// maskText removes secrets from a text that is printed.
func maskText(s string) string {
	clean, _ := redact.Redact(s)
	return clean
}

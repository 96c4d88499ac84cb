package main

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path"
	"slices"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/memory"
	"kxm/lib/project"
	"kxm/lib/repo"
)

// briefCmd prints what an agent starts with.
type briefCmd struct {
	Scope  string `placeholder:"S,S" listof:"agent,project,run,operator" help:"Only facts of these scopes: agent, project, run, operator."`
	Budget int    `placeholder:"N" help:"At most N estimated tokens of facts; the strongest are kept."`
	Format string `enum:"text,json" default:"text" placeholder:"FORM" help:"text or json."`
	Rev    string `placeholder:"REV" help:"Read a commit instead of the worktree."`
}

// Codes names what the command can end with.
func (*briefCmd) Codes() []fault.Code {
	return append(recordCodes(), fault.RevisionNotFound, fault.MemoryUnreadable, fault.MemoryDuplicate)
}

// Run prints the brief.
func (c *briefCmd) Run(s *cli.Session) error {
	scopes, err := parseScopes(c.Scope)
	if err != nil {
		return err
	}
	if c.Budget < 0 {
		return fault.New(fault.Usage, "--budget must not be negative")
	}
	ctx := context.Background()
	p, err := findPlace(ctx, s)
	if err != nil {
		return err
	}
	v, err := viewed(ctx, p, c.Rev, false)
	if err != nil {
		return err
	}
	facts, err := wholeSet(v)
	if err != nil {
		return err
	}
	brief := memory.NewBrief(facts.Facts(scopes...), c.Budget, s.Now())
	if c.Format == "json" {
		return s.Emit(brief)
	}
	s.Print("%s", brief.Text())
	return nil
}

// wholeSet loads the facts for commands that must not leave one out.
func wholeSet(v *project.View) (*memory.Set, error) {
	facts, err := memory.Load(v.Kxm)
	if err != nil {
		return nil, err
	}
	return facts, facts.Err()
}

// syncCmd writes the block.
type syncCmd struct {
	DryRun bool   `short:"n" xor:"how" help:"Say what would be written, and write nothing."`
	Check  bool   `xor:"how" help:"Write nothing; exit 1 when a block is out of date."`
	Staged bool   `help:"With --check: compare the index's facts with the index's files, in this project and all others that the next commit changes."`
	Format string `enum:"json,text" default:"json" placeholder:"FORM" help:"json, or text: the difference alone."`
}

// Codes names what the command can end with.
func (*syncCmd) Codes() []fault.Code {
	return append(recordCodes(), fault.MemorySyncFailed, fault.MemoryBlockStale, fault.MemoryUnreadable, fault.MemoryDuplicate, fault.ProjectNotConfigured)
}

// synced is the answer.
type synced struct {
	Schema string       `json:"schema"`
	Files  []syncedFile `json:"files"`
	Diff   string       `json:"diff,omitempty"`
}

type syncedFile struct {
	Path   string            `json:"path"`
	Status memory.SyncStatus `json:"status"`
	Of     string            `json:"of,omitempty"`
}

// Run brings the instruction files up to date, or says what is not.
func (c *syncCmd) Run(s *cli.Session) error {
	if c.Staged && !c.Check {
		return fault.New(fault.Usage, "--staged needs --check: the index is never written")
	}
	ctx := context.Background()
	p, err := findPlace(ctx, s)
	if err != nil {
		return err
	}
	if !c.Check {
		if err := p.NeedFolder(); err != nil {
			return err
		}
	}
	views, _, err := projects(ctx, p, c.Staged)
	if err != nil {
		return err
	}
	out := synced{Schema: "kxm.memory-sync.v1", Files: []syncedFile{}}
	stale := ""
	for _, v := range views {
		plan, err := c.plan(v)
		if err != nil {
			return err
		}
		for _, f := range plan.Files {
			out.Files = append(out.Files, syncedFile{path.Join(v.Dir, f.Name), f.Status, f.Of})
		}
		for _, f := range plan.Stale() {
			stale = cmp.Or(stale, path.Join(v.Dir, f.Name))
		}
		out.Diff += string(plan.Diff())
		if c.Check || c.DryRun {
			continue
		}
		if err := writePlan(p, plan); err != nil {
			return err
		}
	}
	if err := c.print(s, out); err != nil {
		return err
	}
	if c.Check && stale != "" {
		return fault.New(fault.MemoryBlockStale, "the memory block of %s is out of date", fault.Quote(stale)).
			WithHint("kxm-memory sync, then git add")
	}
	return nil
}

// plan decides what the view's instruction files must hold. A project without one
// of them has no stale block.
func (c *syncCmd) plan(v *project.View) (*memory.SyncPlan, error) {
	if c.Check && (!v.Exists || !anyInstructions(v)) {
		return &memory.SyncPlan{}, nil
	}
	facts, err := wholeSet(v)
	if err != nil {
		return nil, err
	}
	return memory.PlanSync(v.Root, v.Dir, facts.Facts(memory.ProjectedScopes()...))
}

// writePlan replaces the plan's files in the worktree.
func writePlan(p *project.Place, plan *memory.SyncPlan) error {
	top, err := os.OpenRoot(p.Top)
	if err != nil {
		return fault.Wrap(err, fault.IOFailed, "cannot open the top of the worktree")
	}
	defer top.Close()
	return plan.Write(top)
}

// anyInstructions reports whether one of the instruction files is there, be it a
// link to nothing.
func anyInstructions(v *project.View) bool {
	return slices.ContainsFunc(memory.InstructionFiles(), func(name string) bool {
		_, err := fs.Lstat(v.Root, path.Join(v.Dir, name))
		return err == nil
	})
}

func (c *syncCmd) print(s *cli.Session, out synced) error {
	if c.Format == "text" {
		s.Print("%s", out.Diff)
		return nil
	}
	if !c.DryRun && !c.Check {
		out.Diff = ""
	}
	return s.Emit(out)
}

// revisionCmd prints the revision.
type revisionCmd struct {
	Rev    string `placeholder:"REV" xor:"view" help:"Read a commit instead of the worktree."`
	Staged bool   `xor:"view" help:"Read the index instead of the worktree."`
}

// Codes names what the command can end with.
func (*revisionCmd) Codes() []fault.Code {
	return append(recordCodes(), fault.RevisionNotFound, fault.MemoryUnreadable, fault.MemoryDuplicate)
}

// Run prints ctxrev_ and 64 hex digits. Content that list could not serve whole has
// no revision.
func (c *revisionCmd) Run(s *cli.Session) error {
	ctx := context.Background()
	p, err := findPlace(ctx, s)
	if err != nil {
		return err
	}
	v, err := viewed(ctx, p, c.Rev, c.Staged)
	if err != nil {
		return err
	}
	if _, err := wholeSet(v); err != nil {
		return err
	}
	revision, err := memory.Revision(v.Kxm)
	if err != nil {
		return err
	}
	s.Print("%s\n", revision)
	return nil
}

// mergeBlockCmd is a Git merge driver.
type mergeBlockCmd struct {
	Base   string `arg:"" name:"base" placeholder:"FILE" help:"The common ancestor's version (%O)."`
	Ours   string `arg:"" name:"ours" placeholder:"FILE" help:"Our version (%A), which receives the result."`
	Theirs string `arg:"" name:"theirs" placeholder:"FILE" help:"Their version (%B)."`
}

// Help shows how it is switched on.
func (*mergeBlockCmd) Help() string {
	return `Two lines switch it on, the second in .gitattributes:

  git config merge.kxm-memory.driver 'kxm-memory merge-block %O %A %B'
  AGENTS.md merge=kxm-memory`
}

// Codes names what the command can end with.
func (*mergeBlockCmd) Codes() []fault.Code {
	return append(recordCodes(), fault.MergeConflict)
}

// Run writes the merged text into OURS.
func (c *mergeBlockCmd) Run(s *cli.Session) error {
	ctx := context.Background()
	p, err := findPlace(ctx, s)
	if err != nil {
		return err
	}
	if err := p.NeedRepo("merging"); err != nil {
		return err
	}
	var sides [3][]byte
	for i, name := range []string{c.Base, c.Ours, c.Theirs} {
		if sides[i], err = s.ReadFile(name); err != nil {
			return err
		}
	}
	merged, conflict, err := memory.MergeInstructions(sides[0], sides[1], sides[2], func(base, ours, theirs []byte) ([]byte, bool, error) {
		return p.Repo.MergeFile(ctx, base, ours, theirs, repo.MergeLabels{Ours: "ours", Base: "base", Theirs: "theirs"})
	})
	if err != nil {
		return err
	}
	if err := cli.ReplaceFile(s.Path(c.Ours), merged); err != nil {
		return fault.Wrap(err, fault.IOFailed, "cannot write %s", fault.Quote(c.Ours))
	}
	if conflict {
		return fault.New(fault.MergeConflict, "the text outside the memory block conflicts")
	}
	return nil
}

package main

import (
	"context"
	"os"
	"path"
	"strings"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/memory"
	"kxm/lib/project"
)

// noteCmd writes a candidate.
type noteCmd struct {
	Fact   string   `arg:"" name:"fact" help:"The fact, at most 4,000 characters; - reads standard input."`
	Kind   string   `placeholder:"LABEL" default:"learning" help:"A free label, such as convention, decision or learning."`
	Scope  string   `placeholder:"SCOPE" enum:"agent,project,run,operator" default:"project" help:"agent, project, run or operator."`
	Ref    []string `placeholder:"REF" sep:"none" help:"An evidence reference; may be repeated."`
	Redact bool     `help:"Mask secrets instead of refusing the fact."`
}

// Codes names what the command can end with.
func (*noteCmd) Codes() []fault.Code {
	return append(recordCodes(), fault.SecretFound, fault.ProtocolError, fault.ProjectNotConfigured)
}

// Run writes the candidate, or finds it.
func (c *noteCmd) Run(s *cli.Session) error {
	p, root, err := writable(s)
	if err != nil {
		return err
	}
	fact := c.Fact
	if fact == "-" {
		data, err := s.ReadFile("-")
		if err != nil {
			return err
		}
		fact = string(data)
	}
	candidate, err := memory.WriteNote(root, memory.Note{
		Fact: fact, Kind: c.Kind, Scope: item.Scope(c.Scope), Refs: c.Ref, Redact: c.Redact, Now: s.Now(),
	})
	if err != nil {
		return err
	}
	candidate.Path = path.Join(p.Folder(), candidate.Path)
	return s.Emit(candidate)
}

// writable finds the place and opens its .kxm for writing.
func writable(s *cli.Session) (*project.Place, *os.Root, error) {
	p, err := findPlace(context.Background(), s)
	if err != nil {
		return nil, nil, err
	}
	if err := p.NeedFolder(); err != nil {
		return nil, nil, err
	}
	root, err := p.OpenRoot()
	return p, root, err
}

// candidatesCmd lists candidates.
type candidatesCmd struct {
	Rev    string `placeholder:"REV" xor:"view" help:"Read a commit instead of the worktree."`
	Staged bool   `xor:"view" help:"Read the index instead of the worktree."`
}

// Codes names what the command can end with.
func (*candidatesCmd) Codes() []fault.Code { return append(recordCodes(), fault.RevisionNotFound) }

// Run prints the records oldest first, then a gap for each file that is none.
func (c *candidatesCmd) Run(s *cli.Session) error {
	ctx := context.Background()
	p, err := findPlace(ctx, s)
	if err != nil {
		return err
	}
	v, err := viewed(ctx, p, c.Rev, c.Staged)
	if err != nil {
		return err
	}
	set, err := memory.LoadCandidates(v.Kxm)
	if err != nil {
		return err
	}
	var out []byte
	for _, r := range set.ByAge() {
		out = append(r.Redacted().AppendJSON(out), '\n')
	}
	_, gaps := (&memory.Set{Duplicates: set.Duplicates, Problems: set.Problems}).Items(memory.ItemOptions{})
	for _, g := range gaps {
		out = append(g.AppendJSON(out), '\n')
		s.Warn("%s: %s", g.Gap, g.Detail)
	}
	s.Write(out)
	return nil
}

// promoteCmd moves a candidate to the facts.
type promoteCmd struct {
	Candidate  string `arg:"" name:"candidate" help:"The candidate's id, or an unambiguous beginning of it."`
	ID         string `name:"id" required:"" placeholder:"ID" help:"The fact's id, which is also its file's name."`
	Authority  string `placeholder:"A" oneof:"instruction,evidence,promoted" help:"instruction, evidence or promoted; default: the candidate's."`
	Confidence string `placeholder:"C" oneof:"verified,probable,uncertain" help:"verified, probable or uncertain; default: the candidate's."`
}

// Codes names what the command can end with.
func (*promoteCmd) Codes() []fault.Code {
	return append(recordCodes(), fault.ProjectNotConfigured, fault.MemoryIDTaken, fault.MemoryNotFound, fault.CandidateAmbiguous,
		fault.MemoryDuplicate, fault.SecretFound, fault.InvalidMemoryFile)
}

// Run moves the file.
func (c *promoteCmd) Run(s *cli.Session) error {
	p, root, err := writable(s)
	if err != nil {
		return err
	}
	done, err := memory.Promote(root, c.Candidate, memory.Promotion{ID: c.ID, Authority: memory.Authority(c.Authority), Confidence: item.Confidence(c.Confidence)})
	if err != nil {
		return err
	}
	done.From, done.To = path.Join(p.Folder(), done.From), path.Join(p.Folder(), done.To)
	return s.Emit(done)
}

// deprecateCmd marks a fact as no longer true.
type deprecateCmd struct {
	ID  string `arg:"" name:"id" help:"The fact's id."`
	Why string `required:"" placeholder:"TEXT" help:"The reason; it is written into the file."`
}

// Codes names what the command can end with.
func (*deprecateCmd) Codes() []fault.Code { return editCodes() }

func editCodes() []fault.Code {
	return append(recordCodes(), fault.ProjectNotConfigured, fault.MemoryNotFound, fault.MemoryDuplicate, fault.SecretFound,
		fault.ProtocolError, fault.InvalidMemoryFile)
}

// edit is the answer of a command that edits facts in place.
type edit struct {
	Schema    string   `json:"schema"`
	ID        string   `json:"id"`
	Lifecycle string   `json:"lifecycle"`
	By        string   `json:"by,omitempty"`
	Written   []string `json:"written"`
}

// Run edits the file.
func (c *deprecateCmd) Run(s *cli.Session) error {
	p, root, err := writable(s)
	if err != nil {
		return err
	}
	id := strings.TrimPrefix(c.ID, "mem_")
	file, err := memory.Deprecate(root, id, c.Why)
	if err != nil {
		return err
	}
	return s.Emit(edit{"kxm.memory-edit.v1", id, string(memory.LifecycleDeprecated), "", []string{path.Join(p.Folder(), file)}})
}

// supersedeCmd marks a fact as replaced.
type supersedeCmd struct {
	Old string `arg:"" name:"old" help:"The id of the fact that no longer holds."`
	New string `arg:"" name:"new" help:"The id of the fact that replaces it."`
}

// Codes names what the command can end with.
func (*supersedeCmd) Codes() []fault.Code { return editCodes() }

// Run edits both files.
func (c *supersedeCmd) Run(s *cli.Session) error {
	p, root, err := writable(s)
	if err != nil {
		return err
	}
	old, by := strings.TrimPrefix(c.Old, "mem_"), strings.TrimPrefix(c.New, "mem_")
	oldFile, newFile, err := memory.Supersede(root, old, by)
	if err != nil {
		return err
	}
	return s.Emit(edit{"kxm.memory-edit.v1", old, string(memory.LifecycleSuperseded), by,
		[]string{path.Join(p.Folder(), oldFile), path.Join(p.Folder(), newFile)}})
}

package main

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/memory"
	"kxm/lib/project"
	"kxm/lib/repo"
	"kxm/lib/skill"
)

// showCmd prints one record.
type showCmd struct {
	ID  string `arg:"" name:"id" help:"A fact's, candidate's or skill's id, with or without the prefix that it has as an item."`
	Rev string `placeholder:"REV" help:"Read a commit instead of the worktree."`
}

// Codes names what the command can end with.
func (*showCmd) Codes() []fault.Code {
	return append(recordCodes(), fault.MemoryNotFound, fault.MemoryDuplicate, fault.CandidateAmbiguous, fault.RevisionNotFound,
		fault.InvalidMemoryFile, fault.MemoryUnreadable, fault.ContextAuthorityViolation, fault.SkillIntegrityViolation, fault.InvalidSkillMetadata)
}

// historyLimit bounds how many commits of a record are shown, newest first.
const historyLimit = 100

// shown is the answer.
type shown struct {
	Schema  string   `json:"schema"`
	Path    string   `json:"path"` // from the top of the repository
	Record  any      `json:"record"`
	History []commit `json:"history"`
}

type commit struct {
	Commit  repo.OID `json:"commit"`
	At      string   `json:"at"`
	Author  string   `json:"author"`
	Subject string   `json:"subject"`
}

// Run prints the record with the commits that changed its file.
func (c *showCmd) Run(s *cli.Session) error {
	ctx := context.Background()
	p, err := findPlace(ctx, s)
	if err != nil {
		return err
	}
	v, err := viewed(ctx, p, c.Rev, false)
	if err != nil {
		return err
	}
	out := shown{Schema: "kxm.memory-show.v1", History: []commit{}}
	var file string // from .kxm
	if file, out.Record, err = findRecord(v, c.ID); err != nil {
		return err
	}
	out.Path = path.Join(v.Folder(), file)
	if p.Repo != nil {
		// A record that was never committed has no history, as one outside a repository.
		commits, err := p.Repo.PathHistory(ctx, v.Commit, out.Path, historyLimit)
		if err != nil {
			return err
		}
		for _, h := range commits {
			out.History = append(out.History, commit{h.OID, h.Author.When.UTC().Format(time.RFC3339), maskText(h.Author.Name), maskText(h.Subject)})
		}
	}
	return s.Emit(out)
}

// findRecord looks for an id among the facts, then the candidates, then the skills.
func findRecord(v *project.View, id string) (file string, record any, err error) {
	facts, err := memory.Load(v.Kxm)
	if err != nil {
		return "", nil, err
	}
	r, err := facts.Find(strings.TrimPrefix(id, "mem_"))
	if err == nil {
		return path.Join(memory.Folder, r.File), r.Redacted(), nil
	}
	if !fault.Is(err, fault.MemoryNotFound) {
		return "", nil, err
	}
	candidates, err := memory.LoadCandidates(v.Kxm)
	if err != nil {
		return "", nil, err
	}
	r, err = candidates.FindPrefix(id)
	if err == nil {
		return path.Join(memory.CandidatesFolder, r.File), r.Redacted(), nil
	}
	if !fault.Is(err, fault.MemoryNotFound) {
		return "", nil, err
	}
	found, serr := skill.Find(v.Kxm, strings.TrimPrefix(id, "skill_"))
	if serr == nil {
		return found.Path(), found, nil
	}
	if !fault.Is(serr, fault.SkillNotFound) {
		return "", nil, serr
	}
	// A file of that name is what was asked for, though it is no record.
	for _, problem := range slices.Concat(facts.Problems, candidates.Problems) {
		if problem.File == strings.TrimPrefix(id, "mem_")+".md" {
			return "", nil, problem.Err
		}
	}
	return "", nil, err
}

package main

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"kxm/lib/cli"
	"kxm/lib/config"
	"kxm/lib/fault"
	"kxm/lib/memory"
	"kxm/lib/project"
	"kxm/lib/repo"
	"kxm/lib/state"
)

// doctorCmd says what is set up.
type doctorCmd struct {
	Format string `enum:"json,text" default:"json" placeholder:"FORM" help:"json or text."`
}

// Codes names what the command can end with.
func (*doctorCmd) Codes() []fault.Code { return []fault.Code{fault.SetupIncomplete} }

// Statuses of a diagnosis. Only what is missing makes doctor exit 1: what is off is
// a choice.
const (
	statusOK      = "ok"
	statusOff     = "off"
	statusMissing = "missing"
)

// diagnosis is one line of doctor's.
type diagnosis struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
}

// doctor collects the diagnoses.
type doctor struct {
	s   *cli.Session
	ctx context.Context
	all []diagnosis
}

func (d *doctor) add(name, status, detail, fix string) {
	if status == statusOK {
		fix = ""
	}
	d.all = append(d.all, diagnosis{name, status, maskText(fault.Printable(detail)), fix})
}

// Run prints the diagnoses.
func (c *doctorCmd) Run(s *cli.Session) error {
	d := &doctor{s: s, ctx: context.Background()}
	d.examine()
	missing := 0
	for _, x := range d.all {
		if x.Status == statusMissing {
			missing++
		}
	}
	if c.Format == "text" {
		for _, x := range d.all {
			s.Print("%-8s %-16s %s\n", x.Status, x.Name, x.Detail)
			if x.Fix != "" {
				s.Print("%-8s %-16s mend: %s\n", "", "", x.Fix)
			}
		}
	} else if err := s.Emit(struct {
		Schema string      `json:"schema"`
		OK     bool        `json:"ok"`
		Checks []diagnosis `json:"checks"`
	}{"kxm.memory-doctor.v1", missing == 0, d.all}); err != nil {
		return err
	}
	if missing > 0 {
		return fault.New(fault.SetupIncomplete, "%s missing", count(missing, "thing"))
	}
	return nil
}

func (d *doctor) examine() {
	if version, err := repo.GitVersion(d.ctx); err != nil {
		d.add("git", statusMissing, err.Error(), "install Git 2.31 or newer")
	} else {
		d.add("git", statusOK, version, "")
	}
	p, err := findPlace(d.ctx, d.s)
	if err != nil {
		d.add("repository", statusMissing, err.Error(), "git init")
		return
	}
	if p.Repo == nil {
		d.add("repository", statusMissing, "not in a Git repository", "git init")
		return
	}
	detail := p.Repo.GitDir() + ", read directly"
	if p.Repo.Reason() != "" {
		detail = p.Repo.GitDir() + ", read through the git program: " + p.Repo.Reason()
	}
	d.add("repository", statusOK, detail, "")
	v, err := p.Worktree(d.ctx)
	if err != nil {
		d.add("configuration", statusMissing, err.Error(), "correct the file at the line named")
		return
	}
	d.project(p, v)
	d.records(v)
	d.instructions(v)
	d.trust(p, v)
	d.signingKey(p)
	d.hook(p)
	d.mergeDriver(p, v)
}

// project looks for a name and for a second folder that claims it.
func (d *doctor) project(p *project.Place, v *project.View) {
	if !v.Exists {
		d.add("project", statusMissing, "no "+config.Folder+" folder here or above", "kxm-memory init")
		return
	}
	given := d.s.Getenv("KXM_PROJECT")
	name, err := v.Project(given)
	if err != nil {
		d.add("project", statusMissing, "records, but no project name", "kxm-memory init")
		return
	}
	origin := v.Config.Origin("project")
	if given != "" {
		origin = "KXM_PROJECT"
	}
	d.add("project", statusOK, fault.Quote(name)+" by "+origin, "")
	others := []string{}
	entries, err := p.Repo.Index(d.ctx)
	if err != nil {
		d.add("project-twice", statusMissing, err.Error(), "git fsck")
		return
	}
	for _, e := range entries {
		if path.Base(e.Path) != path.Base(config.FileName) || path.Base(path.Dir(e.Path)) != config.Folder || path.Dir(e.Path) == v.Folder() {
			continue
		}
		data, err := p.Repo.Blob(d.ctx, e.OID)
		if err != nil {
			continue
		}
		if other, err := config.Load(config.Options{Repository: data, RepositoryName: e.Path}); err == nil && other.Project == name {
			others = append(others, e.Path)
		}
	}
	if len(others) > 0 {
		d.add("project-twice", statusMissing, "also named in "+strings.Join(others, ", "), "give each folder a project name of its own")
	}
}

func (d *doctor) records(v *project.View) {
	facts, err := memory.Load(v.Kxm)
	if err == nil {
		err = facts.Err()
	}
	if err != nil {
		d.add("memory", statusMissing, err.Error(), "kxm-memory check --format text")
		return
	}
	d.add("memory", statusOK, count(len(facts.Records), "record"), "")
}

func (d *doctor) instructions(v *project.View) {
	if !anyInstructions(v) {
		d.add("instructions", statusOff, "none of "+strings.Join(memory.InstructionFiles(), ", ")+" exists", "make the file that your agent reads, then kxm-memory sync")
		return
	}
	facts, err := wholeSet(v)
	if err != nil {
		return // told above
	}
	plan, err := memory.PlanSync(v.Root, v.Dir, facts.Facts(memory.ProjectedScopes()...))
	switch {
	case err != nil:
		d.add("instructions", statusMissing, err.Error(), "kxm-memory check --format text")
	case len(plan.Stale()) > 0:
		d.add("instructions", statusMissing, "the memory block of "+plan.Stale()[0].Name+" is out of date", "kxm-memory sync")
	default:
		d.add("instructions", statusOK, "up to date", "")
	}
}

// trust says which commit's list of signers counts, and why.
func (d *doctor) trust(p *project.Place, v *project.View) {
	const name, fix = "trust-point", "git remote set-head origin -a, or git config kxm.trustRef REF"
	store, err := state.OpenStore(d.ctx, p.Repo, state.StoreOptions{Project: v.Config.Project, Folder: v.Dir, Now: d.s.Now})
	switch {
	case err != nil:
		d.add(name, statusMissing, err.Error(), fix)
	case !store.Trust.Point.Resolved:
		d.add(name, statusMissing, "none, so no signature counts: "+store.Trust.Point.Why, fix)
	default:
		d.add(name, statusOK, store.Trust.Point.Name+", since "+store.Trust.Point.Why, "")
	}
}

// signingKey says where a signature would come from.
func (d *doctor) signingKey(p *project.Place) {
	const name, fix = "signing-key", "git config gpg.format ssh, and git config user.signingKey FILE"
	if key := d.s.Getenv("KXM_SIGNING_KEY"); key != "" {
		d.add(name, statusOK, "KXM_SIGNING_KEY", "")
		return
	}
	format, _, err := p.Repo.ConfigValue(d.ctx, "gpg.format")
	if err != nil {
		d.add(name, statusMissing, err.Error(), fix)
		return
	}
	if key, ok, err := p.Repo.ConfigValue(d.ctx, "user.signingKey"); err == nil && ok && key != "" && format == "ssh" {
		d.add(name, statusOK, "Git's user.signingKey", "")
		return
	}
	if user := config.UserFile(d.s.Getenv); user != "" {
		own := filepath.Join(filepath.Dir(user), "id_ed25519")
		if info, err := os.Stat(own); err == nil && info.Mode().IsRegular() {
			d.add(name, statusOK, own, "")
			return
		}
	}
	d.add(name, statusOff, "none: what needs a signature is refused", fix)
}

func (d *doctor) hook(p *project.Place) {
	const name, fix = "hook", "kxm-memory hook install"
	if p.Top == "" {
		d.add(name, statusOff, "nothing is committed in a repository without a worktree", "")
		return
	}
	dir, err := p.Repo.HooksDir(d.ctx)
	if err != nil {
		d.add(name, statusMissing, err.Error(), fix)
		return
	}
	_, exists, ours, err := readHook(filepath.Join(dir, hookName))
	switch {
	case err != nil:
		d.add(name, statusMissing, err.Error(), fix)
	case ours:
		d.add(name, statusOK, filepath.Join(dir, hookName), "")
	case exists:
		d.add(name, statusOff, "the pre-commit hook is another one; install keeps it and runs it first", fix)
	default:
		d.add(name, statusOff, "no pre-commit hook", fix)
	}
}

// mergeDriver looks for both lines that switch the driver on.
func (d *doctor) mergeDriver(p *project.Place, v *project.View) {
	const name = "merge-driver"
	const fix = "git config merge.kxm-memory.driver 'kxm-memory merge-block %O %A %B', and \"AGENTS.md merge=kxm-memory\" in .gitattributes"
	_, driver, err := p.Repo.ConfigValue(d.ctx, "merge.kxm-memory.driver")
	if err != nil {
		d.add(name, statusMissing, err.Error(), fix)
		return
	}
	var attributes []byte
	if v.Root != nil {
		attributes, _ = fs.ReadFile(v.Root, path.Join(v.Dir, ".gitattributes")) // absent is as good as empty
		if v.Dir != "." {
			top, _ := fs.ReadFile(v.Root, ".gitattributes")
			attributes = slices.Concat(attributes, []byte("\n"), top)
		}
	}
	named := strings.Contains(string(attributes), "merge=kxm-memory")
	switch {
	case driver && named:
		d.add(name, statusOK, "kxm-memory", "")
	case driver:
		d.add(name, statusOff, "configured, but no file uses it in .gitattributes", fix)
	case named:
		d.add(name, statusOff, ".gitattributes names it, but it is not configured", fix)
	default:
		d.add(name, statusOff, "not used", fix)
	}
}

package main

import (
	"context"
	"path"
	"strconv"
	"strings"

	"kxm/lib/cli"
	"kxm/lib/config"
	"kxm/lib/fault"
	"kxm/lib/memory"
	"kxm/lib/packet"
	"kxm/lib/project"
	"kxm/lib/skill"
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

// tell adds what all doctors say alike.
func (d *doctor) tell(x project.Setup) {
	d.add(x.Name, [...]string{project.Good: statusOK, project.Off: statusOff, project.Wrong: statusMissing}[x.Condition], x.Detail, x.Fix)
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
	d.tell(project.GitSetup(d.ctx))
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
	d.skills(v)
	d.instructions(v)
	d.roles(v)
	d.state(p, v)
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

// skills recomputes the digests of the promoted ones.
func (d *doctor) skills(v *project.View) {
	skills, problems := skill.Promoted(v.Kxm)
	if len(problems) > 0 {
		d.add("skills", statusMissing, count(len(problems), "promoted skill")+" left out of the pool: "+problems[0].Gap(), "kxm-memory skill verify")
		return
	}
	d.add("skills", statusOK, count(len(skills), "promoted skill"), "")
}

// roles says where policies of kxm-pack come from, and whether the default role has one.
func (d *doctor) roles(v *project.View) {
	const name = "roles"
	var builtIn int
	var configured []string
	known := false
	for _, role := range packet.Roles(v.Config) {
		known = known || role.Name == v.Config.Pack.Role
		if source := v.Config.Origin("roles." + role.Name); source != "" {
			configured = append(configured, role.Name+" by "+source)
		} else if role.Name != packet.AnyOther {
			builtIn++
		}
	}
	detail := strings.Join(append([]string{strconv.Itoa(builtIn) + " built in"}, configured...), ", ")
	if role := v.Config.Pack.Role; role != "" && !known {
		d.add(name, statusOff, detail+"; the default, "+fault.Quote(role)+" by "+v.Config.Origin("pack.role")+", has no policy of its own", "kxm-pack roles lists those that have one")
		return
	}
	d.add(name, statusOK, detail, "")
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

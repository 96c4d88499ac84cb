package main

import (
	"path"
	"strings"

	"kxm/lib/eventlog"
	"kxm/lib/fault"
	"kxm/lib/project"
	"kxm/lib/repo"
	"kxm/lib/signature"
	"kxm/lib/state"
)

// state looks at the log, at what is known of it on remotes, and at who may sign.
// Whether each event is whole kxm-state doctor says, which reads them all.
func (d *doctor) state(p *project.Place, v *project.View) {
	d.refspecs(p)
	tip, ok, err := p.Repo.PlainRef(d.ctx, eventlog.Ref)
	remote := ""
	if err == nil {
		remote, err = d.remoteLogs(p, tip)
	}
	switch {
	case err != nil:
		d.add("state", statusMissing, err.Error(), "kxm-state doctor --repair")
	case !ok && remote == "":
		d.add("state", statusOff, "nothing was written yet", "kxm-state init")
	case !ok:
		d.add("state", statusOff, eventlog.Ref+" is not here; "+remote, "kxm-state sync")
	case remote != "":
		d.add("state", statusOff, eventlog.Ref+" at "+string(tip)[:12]+"; "+remote, "kxm-state sync")
	default:
		d.add("state", statusOK, eventlog.Ref+" at "+string(tip)[:12], "")
	}
	store, err := state.OpenStore(d.ctx, p.Repo, state.StoreOptions{Project: v.Config.Project, Folder: v.Dir, Now: d.s.Now})
	if err != nil {
		d.add("trust-point", statusMissing, err.Error(), "kxm-state doctor")
		return
	}
	d.tell(project.TrustPoint(store.Trust.Point).Setup())
	source := project.KeySource(d.ctx, p.Repo, d.s.Dir, d.s.Getenv)
	d.tell(project.KeySetup(d.ctx, source, path.Join(v.Dir, state.AllowedSignersFile), func(k signature.Key) bool { return store.Trust.Signers.PersonOf(k) > 0 }))
}

// remoteLogs says in what the log differs from the remotes', as they were last seen;
// "" if in nothing, or if there is no remote.
func (d *doctor) remoteLogs(p *project.Place, tip repo.OID) (string, error) {
	if has, err := p.Repo.HasRemote(d.ctx); err != nil || !has {
		return "", err
	}
	out, err := p.Repo.Git(d.ctx, nil, "for-each-ref", "--format=%(objectname) %(refname)", "refs/kxm/remotes/")
	if fault.Is(err, fault.GitUnavailable) {
		return "", nil // told above
	}
	if err != nil {
		return "", err
	}
	if len(out) == 0 {
		return "it was exchanged with no remote yet", nil
	}
	for line := range strings.Lines(string(out)) {
		id, ref, _ := strings.Cut(strings.TrimSpace(line), " ")
		if id != string(tip) {
			return ref + ", as it was last seen, is another", nil
		}
	}
	return "", nil
}

// refspecs looks for a setting that lets git fetch replace the log by a remote's, and
// with it lose events that were not sent: kxm-state sync merges instead.
func (d *doctor) refspecs(p *project.Place) {
	if p.Top == "" {
		return // a mirror takes what it is given, and writes nothing
	}
	out, err := p.Repo.Git(d.ctx, nil, "config", "--get-regexp", `^remote\..*\.fetch$`)
	if err != nil {
		return // there is none, or git is missing, which is told above
	}
	for line := range strings.Lines(string(out)) {
		key, spec, _ := strings.Cut(strings.TrimSpace(line), " ")
		_, to, _ := strings.Cut(spec, ":")
		if strings.HasPrefix(spec, "+") && (to == eventlog.Ref || to == "refs/kxm/*" || to == "refs/*") {
			d.add("fetch-refspec", statusMissing, key+" is "+spec+": git fetch replaces "+eventlog.Ref+" and loses what was not sent",
				"git config --fixed-value --unset "+key+" '"+spec+"', then kxm-state sync")
		}
	}
}

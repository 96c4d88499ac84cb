package main

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"kxm/lib/eventlog"
	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/project"
	"kxm/lib/signature"
	"kxm/lib/state"
)

// pen signs with the key that is configured, which is looked for when it is first
// needed.
type pen struct {
	d    *desk
	key  signature.PrivateKey
	used *state.Signing // the last one that was asked for; nil: none yet
}

// take finds the key to sign with in an origin's namespace.
func (p *pen) take(ctx context.Context, origin item.Origin) (state.Signing, error) {
	if p.used == nil {
		var err error
		if p.key, err = signature.FindKey(ctx, project.KeySource(ctx, p.d.Repo, p.d.s.Dir, p.d.s.Getenv)); err != nil {
			return state.Signing{}, err
		}
	}
	p.used = &state.Signing{Key: p.key.Key(), Origin: origin}
	return *p.used, nil
}

// sign signs the drafts that are to be signed and tells what was signed.
func (p *pen) sign(ctx context.Context, drafts []*state.Draft) ([]eventlog.Write, error) {
	writes := make([]eventlog.Write, len(drafts))
	for i, draft := range drafts {
		for _, warning := range draft.Warnings {
			p.d.s.Warn("%s", warning)
		}
		if draft.Masked > 0 {
			p.d.s.Warn("masked %s", count(draft.Masked, "secret"))
		}
		writes[i] = eventlog.Write{Folder: folderOf(&draft.Event), ID: draft.ID, Event: draft.Bytes}
		if draft.Signing == nil {
			continue
		}
		sig, err := p.signBytes(ctx, draft.Bytes, draft.Signing.Origin)
		if err != nil {
			return nil, err
		}
		writes[i].Signatures = [][]byte{sig}
	}
	return writes, nil
}

func (p *pen) signBytes(ctx context.Context, event []byte, origin item.Origin) ([]byte, error) {
	sig, err := signature.Sign(ctx, p.key, state.Namespace(origin), event)
	if err == nil {
		p.d.s.Say("signed as %s: %s", origin, strings.TrimSpace(string(event)))
	}
	return sig, err
}

// waiting adds to a refusal for want of a credential which commit the credential
// waits for: the list of signers counts at the trust point alone, and it may stand
// elsewhere already.
func (p *pen) waiting(ctx context.Context, err error) error {
	var refusal *fault.Error
	if !errors.As(err, &refusal) {
		return err
	}
	var enough func(list []byte) bool
	switch trust := p.d.Trust; {
	case refusal.Code == fault.AdminAuthNotConfigured:
		enough = func(list []byte) bool {
			signers, _ := signature.ParseAllowedSigners(list)
			return signers.Len() > 0
		}
	case refusal.Code == fault.InvalidAuth && p.used != nil:
		if _, aerr := trust.Authorise(*p.used, p.d.now, false); aerr == nil {
			return err // the key is not what is missing
		}
		enough = func(list []byte) bool { return state.Grants(list, *p.used, p.d.now) }
	default:
		return err
	}
	file := path.Join(p.d.view.Dir, state.AllowedSignersFile)
	if commit := p.d.signersAtHead(ctx, file, enough); commit != "" {
		return refusal.WithHint("commit %s of HEAD has the line: have it merged into the trust point %s", commit, p.d.Trust.Point.Name)
	}
	list, rerr := fs.ReadFile(p.d.view.Kxm, path.Base(state.AllowedSignersFile))
	if rerr == nil && enough(list) {
		return refusal.WithHint("the line is not committed: commit %s and have it merged into the trust point %s", file, p.d.Trust.Point.Name)
	}
	return err
}

// signersAtHead returns the commit, shortened, that made the list of signers what it
// is at HEAD, if that is enough. It is part of a hint, so a failure is no answer.
func (d *desk) signersAtHead(ctx context.Context, file string, enough func([]byte) bool) string {
	head, ok, err := d.Repo.Head(ctx)
	if err != nil || !ok {
		return ""
	}
	files, err := d.Repo.CommitFS(ctx, head, "")
	if err != nil {
		return ""
	}
	list, err := fs.ReadFile(files, file)
	if err != nil || !enough(list) {
		return ""
	}
	history, err := d.Repo.PathHistory(ctx, head, file, 1)
	if err != nil || len(history) == 0 {
		return ""
	}
	return string(history[0].OID[:12])
}

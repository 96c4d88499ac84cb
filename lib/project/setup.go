package project

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"

	"kxm/lib/config"
	"kxm/lib/fault"
	"kxm/lib/repo"
	"kxm/lib/signature"
)

// Setup is what a doctor says about one thing that several programs need. It is said
// in one place, so that all of them say the same.
type Setup struct {
	Name      string
	Condition Condition
	Detail    string
	Fix       string // the command that mends it; empty if nothing is to be mended
}

// Condition is how a thing is set up.
type Condition int

// Conditions of a setup. What is off is a choice.
const (
	Good Condition = iota
	Off
	Wrong
)

// GitSetup looks for the git program.
func GitSetup(ctx context.Context) Setup {
	version, err := repo.GitVersion(ctx)
	if err != nil {
		return Setup{"git", Wrong, messageOf(err), "install Git 2.31 or newer"}
	}
	return Setup{Name: "git", Detail: version}
}

// TrustPoint is which commit's list of signers counts, and why: the fields of a
// state.Point, which is a domain's.
type TrustPoint struct {
	Resolved bool
	Commit   string // of 40 or 64 hex digits; empty where nothing is committed yet
	Name     string
	Why      string // a clause
}

// Setup says what the point is. Without one no signature counts.
func (p TrustPoint) Setup() Setup {
	const name = "trust-point"
	if !p.Resolved {
		return Setup{name, Wrong, "none, since " + p.Why, "git remote set-head origin -a, or git config kxm.trustRef REF"}
	}
	text := p.Name
	if p.Commit != "" {
		text += " (" + p.Commit[:12] + ")"
	}
	return Setup{Name: name, Detail: text + ", since " + p.Why}
}

// KeySource is where the key of a call in dir is looked for.
func KeySource(ctx context.Context, r *repo.Repo, dir string, getenv func(string) string) signature.KeySource {
	source := signature.KeySource{
		Getenv:    getenv,
		GitConfig: func(key string) (string, bool, error) { return r.ConfigValue(ctx, key) },
		Dir:       dir,
	}
	if file := config.UserFile(getenv); file != "" {
		source.ConfigDir = filepath.Dir(file)
	}
	return source
}

// KeySetup says which key signs, and whether it may at the trust point, by the list of
// signers named.
func KeySetup(ctx context.Context, source signature.KeySource, signers string, maySign func(signature.Key) bool) Setup {
	const name = "signing-key"
	key, err := signature.FindKey(ctx, source)
	switch {
	case fault.Is(err, fault.SigningKeyMissing):
		return Setup{name, Off, messageOf(err) + ": what must be signed is refused", cmp.Or(hintOf(err), "correct the path, or let it name no key")}
	case err != nil:
		return Setup{name, Wrong, messageOf(err), hintOf(err)}
	case !maySign(key.Key()):
		return Setup{name, Off, key.String() + ", which may not sign at the trust point", "kxm-state init, then commit and merge " + signers}
	default:
		return Setup{Name: name, Detail: key.String()}
	}
}

// messageOf returns an error without its code.
func messageOf(err error) string {
	var e *fault.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

func hintOf(err error) string {
	var e *fault.Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}

package state

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"kxm/lib/config"
	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/signature"
)

// Files at the trust point, from the repository's root.
const (
	AllowedSignersFile = ".kxm/allowed_signers"
	ConfigFile         = ".kxm/config.toml"
)

// namespacePrefix stands before an origin in the namespace whose signatures give it.
const namespacePrefix = "kxm-"

// Namespace returns the namespace of the signatures that give an origin, or "" if
// none does.
func Namespace(origin item.Origin) string {
	if strength(origin) == 0 {
		return ""
	}
	return namespacePrefix + string(origin)
}

// originOf returns the origin that signatures in a namespace give, or "".
func originOf(namespace string) item.Origin {
	for _, o := range [...]item.Origin{item.OriginHuman, item.OriginWorkflow, item.OriginPeer} {
		if namespace == namespacePrefix+string(o) {
			return o
		}
	}
	return ""
}

// strength orders the origins that a signature can give; 0 is none. Human and
// workflow may claim as much as one another, and human is shown first.
func strength(o item.Origin) int {
	switch o {
	case item.OriginHuman:
		return 3
	case item.OriginWorkflow:
		return 2
	case item.OriginPeer:
		return 1
	}
	return 0
}

// decides reports whether credentials of the origin may promote, reject and review.
func decides(o item.Origin) bool { return o == item.OriginHuman || o == item.OriginWorkflow }

// Trust is what a reader goes by: the trust point and what stands there. It is not
// changed after it was made, so goroutines may share it.
type Trust struct {
	Point    Point
	Signers  signature.Signers
	Problems []signature.LineProblem // lines of the allowed signers that grant nothing

	// RequireSigned leaves out what no credential covers; SelfPromotion lets an author
	// promote; Format is the store format that the project asks for, 0 for this one.
	RequireSigned bool
	SelfPromotion bool
	Format        int

	digest string
}

// NewTrust reads what stands at a trust point; nil is a file that does not exist.
// Without a trust point nothing there counts, whatever is given. The error is a
// configuration's that does not parse: one who cannot read the switches must not
// guess them.
func NewTrust(p Point, allowedSigners, configuration []byte) (*Trust, error) {
	t := &Trust{Point: p}
	if p.Resolved {
		t.Signers, t.Problems = signature.ParseAllowedSigners(allowedSigners)
		c, err := config.Load(config.Options{Repository: configuration, RepositoryName: p.Name + ":" + ConfigFile})
		if err != nil {
			return nil, err
		}
		t.RequireSigned, t.SelfPromotion = c.State.RequireSigned, c.State.SelfPromotion
		if c.State.Format != nil {
			t.Format = *c.State.Format
		}
	}
	h := sha256.New()
	fmt.Fprintf(h, "%t %t %t %d\n", p.Resolved, t.RequireSigned, t.SelfPromotion, t.Format)
	h.Write(allowedSigners)
	t.digest = hex.EncodeToString(h.Sum(nil))
	return t, nil
}

// Writable refuses to write (StateFormatUnknown) where the trust point asks for a
// format that this program does not know.
func (t *Trust) Writable() error {
	if t.Format > FormatVersion {
		return fault.New(fault.StateFormatUnknown, "the project asks for store format %d, and this program writes format %d", t.Format, FormatVersion).
			WithHint("update kxm-state")
	}
	return nil
}

// Gaps returns what every reader must say about the trust point itself.
func (t *Trust) Gaps() []item.Gap {
	if t.Point.Resolved {
		return nil
	}
	return []item.Gap{{Gap: string(fault.StateTrustUnresolved), Detail: "no signature counts: " + t.Point.Why}}
}

// Credential is what a signature that holds proves: that a key signed, and what that
// gives.
type Credential struct {
	Key    signature.Key
	Name   string      // the principal to show; "" if it grants nothing
	Origin item.Origin // "" if it grants nothing
}

// credential returns what a signature by a key, in a namespace and at a time, gives,
// or why it gives nothing.
func (t *Trust) credential(key signature.Key, namespace string, at time.Time) (c Credential, why string) {
	c.Key = key
	name, ok, why := t.Signers.Allows(key, namespace, at)
	if !ok {
		return c, why
	}
	if c.Origin = originOf(namespace); c.Origin == "" {
		return c, "the namespace " + fault.Quote(namespace) + " is not for state events"
	}
	c.Name = name
	return c, ""
}

// verify returns the signatures of an event that hold, strongest first, one for each
// key and namespace. The problems say why others do not, or grant nothing.
func (t *Trust) verify(event []byte, clock HLC, files []SignatureFile) (credentials []Credential, problems []string) {
	if len(files) == 0 {
		return nil, nil
	}
	if t.Signers.Len() == 0 {
		return nil, []string{"nobody may sign at the trust point"}
	}
	type maker struct {
		key       signature.Key
		namespace string
	}
	done := map[maker]bool{}
	for _, f := range files {
		if f.Err != nil {
			problems = append(problems, reason(f.Err))
			continue
		}
		s, err := signature.Parse(f.Data)
		if err != nil {
			problems = append(problems, reason(err))
			continue
		}
		by := maker{s.Key, s.Namespace}
		if done[by] {
			continue
		}
		c, why := t.credential(s.Key, s.Namespace, clock.Time())
		// Looking a key up is cheap and verifying is not. A stranger's signature proves
		// nothing; that of a key which is on the list may still show who the author is.
		if t.Signers.PersonOf(s.Key) == 0 {
			problems = append(problems, "a signature by a stranger: "+why)
			continue
		}
		if err := s.Verify(event, s.Namespace); err != nil {
			problems = append(problems, reason(err))
			continue
		}
		done[by] = true
		if c.Origin == "" {
			problems = append(problems, "a signature that grants nothing: "+why)
			if slices.Contains(credentials, c) {
				continue // in another namespace, where it grants as little
			}
		}
		credentials = append(credentials, c)
	}
	slices.SortFunc(credentials, func(a, b Credential) int {
		return cmp.Or(cmp.Compare(strength(b.Origin), strength(a.Origin)), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Key.Authorized(), b.Key.Authorized()))
	})
	slices.Sort(problems)
	return credentials, slices.Compact(problems)
}

// Signing is how a verb's event will be signed.
type Signing struct {
	Key    signature.Key
	Origin item.Origin
}

// MaySign refuses a signature before its key is looked for, so that no agent is
// troubled in vain: where no person is there (StatePersonRequired), and where no
// signature can count (see [Trust.Configured]).
func (t *Trust) MaySign(origin item.Origin, unattended bool) error {
	switch {
	case Namespace(origin) == "":
		return fault.New(fault.Usage, "nobody signs as %s; the origins are human, workflow and peer", fault.Quote(string(origin)))
	case origin == item.OriginHuman && unattended:
		return fault.New(fault.StatePersonRequired, "a person's signature is needed, and KXM_UNATTENDED says that no person is there").
			WithHint("a person must run the command, or a workflow with a key of its own and --origin workflow")
	}
	return t.Configured()
}

// Authorise returns the credential that a signature to come will give an event of a
// time. It refuses what [Trust.MaySign] refuses, and a key that may not sign in that
// namespace or at that time (InvalidAuth).
func (t *Trust) Authorise(s Signing, at time.Time, unattended bool) (Credential, error) {
	if err := t.MaySign(s.Origin, unattended); err != nil {
		return Credential{}, err
	}
	namespace := Namespace(s.Origin)
	c, why := t.credential(s.Key, namespace, at)
	if c.Origin == "" {
		return Credential{}, fault.New(fault.InvalidAuth, "the signer %s may not sign as %s: %s", s.Key.Fingerprint(), s.Origin, why).
			WithHint("a line for it in %s with namespaces=%q must be committed at the trust point %s", AllowedSignersFile, namespace, t.Point.Name)
	}
	return c, nil
}

// Configured refuses where no signature can count: there is no trust point
// (StateTrustUnresolved), or nobody may sign there (AdminAuthNotConfigured). A verb
// that needs a credential asks before it looks for a key.
func (t *Trust) Configured() error {
	switch {
	case !t.Point.Resolved:
		return fault.New(fault.StateTrustUnresolved, "no signature counts: %s", t.Point.Why).WithHint("%s", trustHint)
	case t.Signers.Len() == 0:
		return fault.New(fault.AdminAuthNotConfigured, "nobody may sign: there is no allowed signer at the trust point %s", t.Point.Name).
			WithHint("kxm-state init, then commit %s and have it merged", AllowedSignersFile)
	}
	return nil
}

// Grants reports whether an allowed-signers file would let a key sign. A caller asks
// it of the worktree's file and of HEAD's, to say which commit a refused signer waits
// for.
func Grants(allowedSigners []byte, s Signing, at time.Time) bool {
	list, _ := signature.ParseAllowedSigners(allowedSigners)
	_, ok, _ := list.Allows(s.Key, Namespace(s.Origin), at)
	return ok
}

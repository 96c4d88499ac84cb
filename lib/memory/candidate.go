package memory

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"kxm/lib/fault"
	"kxm/lib/frontmatter"
	"kxm/lib/item"
	"kxm/lib/ndjson"
	"kxm/lib/redact"
)

// MaxSummary bounds a fact, in characters: the limit of an item's summary.
const MaxSummary = 4000

// Note is a fact that somebody noticed and nobody has reviewed.
type Note struct {
	Fact   string
	Kind   string     // "" is learning
	Scope  item.Scope // "" is project
	Refs   []string   // evidence references
	Redact bool       // mask secrets instead of refusing them
	Now    time.Time
}

// Candidate is what WriteNote wrote or found.
type Candidate struct {
	ID       string
	Path     string           // from .kxm
	Existed  bool             // the same fact was noted before; nothing was written
	Redacted []redact.Finding // what Redact masked, without places: the fact was changed before
}

// MarshalJSON returns {"candidate":id,"path":…,"existed":…} with the path as it
// is, and the rules of what was masked, if any.
func (c Candidate) MarshalJSON() ([]byte, error) {
	o := ndjson.NewObject(nil)
	o.Text("candidate", c.ID)
	o.Text("path", c.Path)
	o.Name("existed")
	if c.Existed {
		o.Bytes = append(o.Bytes, "true"...)
	} else {
		o.Bytes = append(o.Bytes, "false"...)
	}
	if len(c.Redacted) > 0 {
		rules := make([]string, len(c.Redacted))
		for i, f := range c.Redacted {
			rules[i] = f.Rule
		}
		slices.Sort(rules)
		o.List("redacted", slices.Compact(rules))
	}
	return o.End(), nil
}

// CandidateID returns the id of a note: cand_<scope>_ and the first 12 hex digits
// of the SHA-256 of scope NUL kind NUL fact, with the fact in NFC, trimmed, and
// each run of white space as one space.
func CandidateID(scope item.Scope, kind, fact string) string {
	sum := sha256.Sum256([]byte(string(scope) + "\x00" + kind + "\x00" + squeeze(fact)))
	return "cand_" + string(scope) + "_" + hex.EncodeToString(sum[:6])
}

func squeeze(s string) string { return strings.Join(strings.Fields(norm.NFC.String(s)), " ") }

// WriteNote writes the note as a candidate below root, the .kxm folder: origin
// peer, authority evidence, confidence probable. The fact is stored as it is
// hashed, on one line. A fact that was noted before is found again and stays as it
// was.
//
// A secret in the fact, the kind or a reference is refused with SecretFound, or
// with Redact masked before anything else, so that the id, too, is that of the
// masked text.
func WriteNote(root *os.Root, n Note) (Candidate, error) {
	n.Kind, n.Scope = cmp.Or(n.Kind, "learning"), cmp.Or(n.Scope, item.ScopeProject)
	if !slices.Contains(scopes, n.Scope) {
		return Candidate{}, fault.New(fault.Usage, "invalid scope %s: must be one of agent, project, run, operator", fault.Quote(redacted(string(n.Scope))))
	}
	var c Candidate
	var err error
	n.Refs = slices.Clone(n.Refs)
	texts := []struct {
		name string
		text *string
	}{{"fact", &n.Fact}, {"kind", &n.Kind}}
	for i := range n.Refs {
		texts = append(texts, struct {
			name string
			text *string
		}{"reference", &n.Refs[i]})
	}
	for _, t := range texts {
		if *t.text, err = cleanText(t.name, *t.text, n.Redact, &c.Redacted); err != nil {
			return Candidate{}, err
		}
	}
	if err := checkFact(n.Fact); err != nil {
		return Candidate{}, err
	}
	c.ID = CandidateID(n.Scope, n.Kind, n.Fact)
	c.Path = path.Join(CandidatesFolder, c.ID+".md")
	data, err := n.file(c.ID)
	if err != nil {
		return Candidate{}, err
	}
	if err := root.MkdirAll(CandidatesFolder, 0o777); err != nil {
		return Candidate{}, writeError(CandidatesFolder, err)
	}
	if err := createFile(root, c.Path, data); errors.Is(err, fs.ErrExist) {
		c.Existed = true
	} else if err != nil {
		return Candidate{}, err
	}
	return c, nil
}

// cleanText returns the text on one line and without secrets. They are looked for
// before and after, since joining lines can hide one and can make one.
func cleanText(name, text string, mask bool, found *[]redact.Finding) (string, error) {
	if !utf8.ValidString(text) {
		return "", fault.New(fault.ProtocolError, "the %s is not UTF-8", name).On(name)
	}
	for _, step := range []func(string) string{func(s string) string { return s }, squeeze} {
		text = step(text)
		clean, hits := redact.Redact(text)
		if len(hits) == 0 {
			continue
		}
		if !mask {
			return "", secretError(name, hits[0])
		}
		text = clean
		*found = append(*found, hits...)
	}
	return text, nil
}

// secretError names a secret's rule and place, never its value.
func secretError(name string, f redact.Finding) error {
	return fault.New(fault.SecretFound, "the %s holds a secret (%s at byte %d)", name, f.Rule, f.Start+1).On(name).
		WithHint("take it out, or mask it with --redact where the command has it")
}

// refuseSecrets refuses texts, given as pairs of name and text, that hold a
// secret.
func refuseSecrets(pairs ...string) error {
	for i := 0; i < len(pairs); i += 2 {
		if hits := redact.Find(pairs[i+1]); len(hits) > 0 {
			return secretError(pairs[i], hits[0])
		}
	}
	return nil
}

func checkFact(fact string) error {
	switch n := utf8.RuneCountInString(fact); {
	case n == 0:
		return fault.New(fault.ProtocolError, "the fact is empty").On("fact")
	case n > MaxSummary:
		return fault.New(fault.ProtocolError, "the fact has %d characters; at most %d are allowed", n, MaxSummary).On("fact")
	case strings.Contains(fact, StartMarker) || strings.Contains(fact, EndMarker):
		return fault.New(fault.ProtocolError, "the fact holds a memory block marker").On("fact")
	}
	return nil
}

// file returns the note's memory file, checked as a reader will check it.
func (n *Note) file(id string) ([]byte, error) {
	data := []byte("---\nschema: " + Schema + "\nid: " + id + "\nscope: " + string(n.Scope) +
		"\nkind: " + frontmatter.QuoteScalar(n.Kind) + "\nsummary: " + frontmatter.QuoteScalar(n.Fact) +
		"\nprovenance:\n  sourceType: " + string(item.OriginPeer) + "\n  timestamp: " + n.Now.UTC().Format(time.RFC3339) +
		"\nauthority: " + string(AuthorityEvidence) + "\nconfidence: " + string(item.ConfidenceProbable) +
		"\nlifecycle: " + string(LifecycleActive) + "\nevidenceRefs: []\n---\n")
	data, err := frontmatter.Set(data, "evidenceRefs", frontmatter.List(n.Refs...))
	if err != nil {
		return nil, err
	}
	r, err := ParseRecord(id+".md", data)
	if err != nil {
		return nil, err
	}
	if _, err := r.Item(item.SharedProject, "", ""); err != nil {
		return nil, err
	}
	return data, nil
}

// ByAge returns the records oldest first: by provenance.timestamp, those without
// one before all others, then by id.
func (s *Set) ByAge() []*Record {
	type aged struct {
		at time.Time
		r  *Record
	}
	list := make([]aged, len(s.Records))
	for i, r := range s.Records {
		at, _ := r.Time()
		list[i] = aged{at, r}
	}
	slices.SortStableFunc(list, func(a, b aged) int { return a.at.Compare(b.at) }) // Records are by id
	sorted := make([]*Record, len(list))
	for i, a := range list {
		sorted[i] = a.r
	}
	return sorted
}

// Time returns the record's provenance.timestamp; ok is false where there is none
// or it is no time.
func (r *Record) Time() (at time.Time, ok bool) {
	at, err := item.ParseTime(r.Provenance.Timestamp)
	return at, err == nil && r.Provenance.Timestamp != ""
}

// FindPrefix returns the record whose id is id or, if there is none, the only one
// whose id begins with it. The error is MemoryNotFound, MemoryDuplicate or
// CandidateAmbiguous.
func (s *Set) FindPrefix(id string) (*Record, error) {
	r, err := s.Find(id)
	if id == "" || !fault.Is(err, fault.MemoryNotFound) {
		return r, err
	}
	var found []*Record
	for _, r := range s.Records {
		if strings.HasPrefix(r.ID, id) {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 0:
		return nil, err
	case 1:
		return found[0], nil
	}
	return nil, fault.New(fault.CandidateAmbiguous, "%d candidates begin with %s", len(found), fault.Quote(redacted(id))).
		WithHint("the first is %s", found[0].ID)
}

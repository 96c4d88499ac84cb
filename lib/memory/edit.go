package memory

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"unicode/utf8"

	"kxm/lib/fault"
	"kxm/lib/frontmatter"
	"kxm/lib/item"
	"kxm/lib/ndjson"
)

// Promotion says what a candidate becomes.
type Promotion struct {
	ID         string
	Authority  Authority       // "" keeps the candidate's
	Confidence item.Confidence // "" keeps the candidate's
}

// Promoted is what Promote did; paths are from .kxm.
type Promoted struct {
	Candidate, ID, From, To string
}

// MarshalJSON returns the result as one object.
func (p Promoted) MarshalJSON() ([]byte, error) {
	o := ndjson.NewObject(nil)
	o.Text("candidate", p.Candidate)
	o.Text("id", p.ID)
	o.Text("from", p.From)
	o.Text("path", p.To)
	return o.End(), nil
}

// Promote moves a candidate, named by its id or an unambiguous beginning of it,
// to the authored facts below root, the .kxm folder: it gets its id and the origin
// git, since the commit that brings it in is reviewed, and keeps every other byte.
// It commits nothing.
//
// The error is MemoryIDTaken when a fact or a file has the id, SecretFound when
// the candidate holds a secret, or what ParseRecord and Item say of the result.
func Promote(root *os.Root, candidate string, p Promotion) (Promoted, error) {
	if err := CheckID(p.ID); err != nil {
		return Promoted{}, err
	}
	if err := refuseSecrets("id", p.ID); err != nil {
		return Promoted{}, err
	}
	if p.Authority != "" && !slices.Contains(authorities, p.Authority) {
		return Promoted{}, fault.New(fault.Usage, "invalid authority %s: must be one of instruction, evidence, promoted", fault.Quote(redacted(string(p.Authority))))
	}
	if p.Confidence != "" && !p.Confidence.Valid() {
		return Promoted{}, fault.New(fault.Usage, "invalid confidence %s: must be one of verified, probable, uncertain", fault.Quote(redacted(string(p.Confidence))))
	}
	candidates, err := LoadCandidates(root.FS())
	if err != nil {
		return Promoted{}, err
	}
	r, err := candidates.FindPrefix(candidate)
	if err != nil {
		return Promoted{}, err
	}
	done := Promoted{r.ID, p.ID, path.Join(CandidatesFolder, r.File), path.Join(Folder, p.ID+".md")}
	taken := fault.New(fault.MemoryIDTaken, "id %s is taken", fault.Quote(p.ID))
	facts, err := Load(root.FS())
	if err != nil {
		return Promoted{}, err
	}
	if _, err := facts.Find(p.ID); !fault.Is(err, fault.MemoryNotFound) {
		return Promoted{}, taken
	}
	data, err := p.apply(r)
	if err != nil {
		return Promoted{}, err
	}
	if err := createFile(root, done.To, data); errors.Is(err, fs.ErrExist) {
		return Promoted{}, taken
	} else if err != nil {
		return Promoted{}, err
	}
	if err := root.Remove(done.From); err != nil {
		return Promoted{}, writeError(done.From, err)
	}
	return done, nil
}

// apply returns the candidate's file as a fact's.
func (p *Promotion) apply(r *Record) ([]byte, error) {
	if err := r.refuseSecrets(); err != nil {
		return nil, err
	}
	data := r.Data
	if r.Origin() != item.OriginGit {
		var err error
		if data, err = setSourceType(r, string(item.OriginGit)); err != nil {
			return nil, err
		}
	}
	for _, set := range []struct{ key, value string }{
		{"id", p.ID}, {"authority", string(p.Authority)}, {"confidence", string(p.Confidence)},
	} {
		if set.value == "" {
			continue
		}
		var err error
		if data, err = frontmatter.Set(data, set.key, frontmatter.Text(set.value)); err != nil {
			return nil, err
		}
	}
	fact, err := ParseRecord(p.ID+".md", data)
	if err != nil {
		return nil, err
	}
	if fact.Origin() != item.OriginGit || fact.Summary != r.Summary || fact.Body != r.Body {
		return nil, notInPlace(r)
	}
	if _, err := fact.Item(item.SharedProject, "", ""); err != nil {
		return nil, err
	}
	return data, nil
}

func notInPlace(r *Record) error {
	return fault.New(fault.InvalidMemoryFile, "cannot change provenance.sourceType of %s in place", fault.Quote(redacted(r.File))).
		At(redacted(r.File), r.Line("provenance.sourceType"), 0).WithHint("write sourceType on a line of its own, without escapes")
}

// setSourceType returns the record's file with another provenance.sourceType. It
// replaces a scalar that is written as it reads, in quotes or not.
func setSourceType(r *Record, value string) ([]byte, error) {
	provenance, _ := r.root.Get("provenance")
	n, ok := provenance.Get("sourceType")
	if !ok {
		return nil, notInPlace(r)
	}
	at := offsetOf(r.Data, n.Line, n.Column)
	rest := r.Data[at:]
	if len(rest) > 0 && (rest[0] == '"' || rest[0] == '\'') {
		at, rest = at+1, rest[1:]
	}
	if !bytes.HasPrefix(rest, []byte(n.Value)) {
		return nil, notInPlace(r)
	}
	return slices.Concat(r.Data[:at], []byte(value), rest[len(n.Value):]), nil
}

// offsetOf returns the byte offset of a line and a column, both from 1; columns
// count characters.
func offsetOf(data []byte, line, column int) int {
	at := 0
	for ; line > 1; line-- {
		_, at = lineEnd(data, at)
	}
	for ; column > 1 && at < len(data); column-- {
		_, n := utf8.DecodeRune(data[at:])
		at += n
	}
	return at
}

// refuseSecrets refuses a record whose texts hold a secret.
func (r *Record) refuseSecrets() error {
	pairs := []string{"file name", r.File, "kind", r.Kind, "summary", r.Summary, "body", r.Body, "reason", r.LifecycleReason,
		"source reference", r.Provenance.SourceRef}
	for _, ref := range r.EvidenceRefs {
		pairs = append(pairs, "reference", ref)
	}
	return refuseSecrets(pairs...)
}

// Deprecate sets the lifecycle of the fact with an id to deprecated and says why,
// in the file below root, the .kxm folder, and keeps every other byte. It returns
// the file's path from .kxm.
func Deprecate(root *os.Root, id, why string) (string, error) {
	why = squeeze(why)
	if why == "" {
		return "", fault.New(fault.ProtocolError, "the reason is empty").On("why")
	}
	if err := refuseSecrets("reason", why); err != nil {
		return "", err
	}
	facts, err := Load(root.FS())
	if err != nil {
		return "", err
	}
	r, err := facts.Find(id)
	if err != nil {
		return "", err
	}
	e, err := edited(root, r,
		change{"lifecycle", frontmatter.Text(string(LifecycleDeprecated))},
		change{"lifecycleReason", frontmatter.Text(why)})
	if err != nil {
		return "", err
	}
	return path.Join(Folder, r.File), replaceFiles(root, []replacement{e})
}

// Supersede sets the lifecycle of the fact old to superseded and adds it to what
// the fact new supersedes, in their files below root, the .kxm folder, and keeps
// every other byte. It returns the paths of both files from .kxm.
func Supersede(root *os.Root, old, new string) (oldPath, newPath string, err error) {
	if old == new {
		return "", "", fault.New(fault.Usage, "a fact cannot supersede itself")
	}
	facts, err := Load(root.FS())
	if err != nil {
		return "", "", err
	}
	o, err := facts.Find(old)
	if err != nil {
		return "", "", err
	}
	n, err := facts.Find(new)
	if err != nil {
		return "", "", err
	}
	if slices.Contains(o.Supersedes, new) {
		return "", "", fault.New(fault.Usage, "%s supersedes %s already", fault.Quote(old), fault.Quote(new))
	}
	list := n.Supersedes
	if !slices.Contains(list, old) {
		list = append(slices.Clone(list), old)
	}
	oldEdit, err := edited(root, o, change{"lifecycle", frontmatter.Text(string(LifecycleSuperseded))})
	if err != nil {
		return "", "", err
	}
	newEdit, err := edited(root, n, change{"supersedes", frontmatter.List(list...)})
	if err != nil {
		return "", "", err
	}
	return path.Join(Folder, o.File), path.Join(Folder, n.File), replaceFiles(root, []replacement{oldEdit, newEdit})
}

// change is a key of the front matter and what it becomes.
type change struct {
	key   string
	value frontmatter.Value
}

// edited returns the replacement that makes the changes to a fact's file. An item
// can be made of the result if one could be made of the fact.
func edited(root *os.Root, r *Record, changes ...change) (replacement, error) {
	file, err := resolve(root.FS(), path.Join(Folder, r.File))
	if err != nil {
		return replacement{}, readError(r.File, err)
	}
	info, err := root.Lstat(file)
	if err != nil {
		return replacement{}, readError(r.File, err)
	}
	data := r.Data
	for _, c := range changes {
		if data, err = frontmatter.Set(data, c.key, c.value); err != nil {
			return replacement{}, readError(r.File, err)
		}
	}
	after, err := ParseRecord(r.File, data)
	if err != nil {
		return replacement{}, err
	}
	if _, err := r.Item(item.SharedProject, "", ""); err == nil {
		if _, err := after.Item(item.SharedProject, "", ""); err != nil {
			return replacement{}, err
		}
	}
	return replacement{file, r.Data, data, info.Mode()}, nil
}

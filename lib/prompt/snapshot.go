package prompt

import (
	"fmt"
	"strings"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

// Snapshot is what a conversation was given: the digest of its system prompt and the
// dynamic sections that hold. Only the message that carries an update carries its
// snapshot, so that what was not delivered never counts.
type Snapshot struct {
	System         string // a digest
	SystemSections []SectionDigest
	Sections       []SectionDigest // dynamic ones; no request's
}

// SectionDigest is the digest of a section's title, a NUL and its body. The title is
// kept of dynamic sections, which may have to be withdrawn.
type SectionDigest struct{ ID, Title, Digest string }

// digest returns the section's digest, which is made once.
func (s *Section) digest() string {
	if s.sum == "" {
		s.sum = digest(s.Title, "\x00", s.Body)
	}
	return s.sum
}

// snapshot is what the pack leaves a conversation with once it is delivered.
func (p *Pack) snapshot(system string) *Snapshot {
	s := &Snapshot{System: digest(system)}
	for i := range p.Sections {
		section := &p.Sections[i]
		switch section.Part {
		case Stable:
			s.SystemSections = append(s.SystemSections, SectionDigest{ID: section.ID, Digest: section.digest()})
		case Dynamic:
			s.Sections = append(s.Sections, SectionDigest{section.ID, section.Title, section.digest()})
		}
	}
	return s
}

// AppendJSON appends the snapshot as one compact JSON object.
func (s *Snapshot) AppendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("schema", SnapshotSchema)
	o.Text("system", s.System)
	write := func(o *ndjson.Object, d *SectionDigest) {
		o.Text("id", d.ID)
		o.Optional("title", d.Title)
		o.Text("digest", d.Digest)
	}
	o.Name("systemSections")
	o.Bytes = appendList(o.Bytes, s.SystemSections, write)
	o.Name("sections")
	o.Bytes = appendList(o.Bytes, s.Sections, write)
	return o.End()
}

// ParseSnapshot reads a snapshot of one JSON object.
func ParseSnapshot(raw []byte) (*Snapshot, error) {
	m, err := validated(raw)
	if err != nil {
		return nil, err
	}
	s := &Snapshot{}
	if err := s.read(m); err != nil {
		return nil, refused(within(err, "snapshot"))
	}
	return s, nil
}

func (s *Snapshot) read(m member) error {
	named := false
	err := m.object(func(key string, m member) error {
		switch key {
		case "schema":
			named = true
			return m.schema(SnapshotSchema)
		case "system":
			return m.digest(&s.System)
		case "systemSections":
			return m.digests(&s.SystemSections)
		case "sections":
			return m.digests(&s.Sections)
		}
		return nil
	})
	if err == nil && (!named || s.System == "") {
		return wrong("must have the schema %q and the digest of a system prompt", SnapshotSchema)
	}
	return err
}

func (m member) digests(into *[]SectionDigest) error {
	*into = nil
	return m.list(func(_ int, m member) error {
		var d SectionDigest
		err := m.object(func(key string, m member) error {
			switch key {
			case "id":
				return m.line(&d.ID, MaxLabel)
			case "title":
				return m.line(&d.Title, MaxTitle)
			case "digest":
				return m.digest(&d.Digest)
			}
			return nil
		})
		if err == nil && (d.ID == "" || d.Digest == "") {
			return wrong("must have an id and a digest")
		}
		*into = append(*into, d)
		return err
	})
}

func (m member) digest(into *string) error {
	if err := m.line(into, MaxLabel); err != nil {
		return err
	}
	if !isDigest(*into) {
		return wrong("must be %s and 64 hexadecimal digits", fmt.Sprintf("%q", "sha256:"))
	}
	return nil
}

func isDigest(s string) bool {
	hex, ok := strings.CutPrefix(s, "sha256:")
	return ok && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}

// CheckDigest refuses what cannot be a digest, as a flag's value.
func CheckDigest(flag, s string) error {
	if isDigest(s) {
		return nil
	}
	return fault.New(fault.Usage, "%s must be sha256: and 64 hexadecimal digits, not %s", flag, fault.Quote(s))
}

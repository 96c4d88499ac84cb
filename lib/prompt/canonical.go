package prompt

import (
	"crypto/sha256"
	"encoding/hex"

	"kxm/lib/ndjson"
)

// makeID gives the pack its id: the SHA-256 of its RFC 8785 form without the id
// itself, the time and the delivery. ndjson.Digest says the same of the encoded pack,
// and reads it twice to do so.
func (p *Pack) makeID() {
	sum := sha256.Sum256(p.appendCanonical(make([]byte, 0, p.bytes())))
	p.ID = "pk_" + hex.EncodeToString(sum[:8])
}

// appendCanonical writes members by their names, texts with as few escapes as
// possible, and only integers, which are the same in both forms.
func (p *Pack) appendCanonical(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	if p.Harness != nil {
		o.Name("harness")
		h := ndjson.NewObject(o.Bytes)
		h.Optional("fingerprint", p.Harness.Fingerprint)
		h.Optional("scope", p.Harness.Scope)
		o.Bytes = h.End()
	}
	o.Text("mode", string(p.Mode))
	o.Text("productName", p.ProductName)
	o.Optional("profile", p.Profile)
	o.Name("redactions")
	o.Bytes = appendList(o.Bytes, p.Redactions, func(o *ndjson.Object, r *Redaction) {
		o.Number("count", r.Count)
		o.Text("rule", r.Rule)
		o.Text("section", r.Section)
	})
	o.Text("schema", PackSchema)
	o.Name("sections")
	o.Bytes = appendList(o.Bytes, p.Sections, func(o *ndjson.Object, s *Section) {
		o.Text("body", s.Body)
		o.Number("budget", s.Budget)
		o.Number("cut", s.Cut)
		o.Text("id", s.ID)
		o.Number("order", s.Order)
		o.Optional("owner", s.Owner)
		o.Text("part", string(s.Part))
		o.Number("size", s.Size)
		o.List("sources", s.Sources)
		o.Text("title", s.Title)
	})
	o.Name("toolGroups")
	o.Bytes = appendList(o.Bytes, p.ToolGroups, func(o *ndjson.Object, g *ToolGroup) {
		o.Text("id", g.ID)
		o.Optional("owner", g.Owner)
		o.Text("title", g.Title)
		o.List("tools", g.Tools)
	})
	o.Name("unattributed")
	o.Bytes = appendList(o.Bytes, p.Unattributed, func(o *ndjson.Object, u *Unattributed) {
		o.Text("id", u.ID)
		o.Text("kind", u.Kind)
	})
	return o.End()
}

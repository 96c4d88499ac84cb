package prompt

import (
	"slices"
	"strconv"

	"kxm/lib/ndjson"
)

// Pack is everything that a model is told, in order, and how it was split.
type Pack struct {
	ID          string // "pk_" and 16 hex digits; of the content, whenever it was compiled
	ProductName string
	Harness     *Harness // nil: no variant
	Mode        Mode
	Profile     string // of a subagent; empty: none
	Sections    []Section
	ToolGroups  []ToolGroup
	// Unattributed names what no descriptor owns.
	Unattributed []Unattributed
	Redactions   []Redaction
	CompiledAt   string // empty: not known
	Delivery     *Delivery
}

// Harness is the variant that a pack was compiled with.
type Harness struct{ Scope, Fingerprint string }

// Section is one section of a pack. Budget, size and cut are code points; cut says
// how many of the text given were left out.
type Section struct {
	ID, Title, Body   string
	Order             int
	Part              Part
	Owner             string // empty: none
	Sources           []string
	Budget, Size, Cut int

	sum string // see digest
}

// ToolGroup is a group of tools that the pack describes.
type ToolGroup struct {
	ID, Title, Owner string
	Tools            []string
}

// Unattributed is a section, group or tool without an owner.
type Unattributed struct{ Kind, ID string }

// Redaction counts what one rule masked in one section.
type Redaction struct {
	Section, Rule string
	Count         int
}

// Delivery is how a pack was delivered: which sections the system prompt and the
// update hold, and what each occupied.
type Delivery struct {
	System, Updated, Withdrawn []string // ids
	Sizes                      Sizes
}

// Sizes are the code points that each section occupied, and those that belong to
// none. All of them together are the length of the text.
type Sizes struct {
	Known                        bool // false in a pack that was recorded without them
	System, Update               []Size
	SystemFraming, UpdateFraming int
}

// Size is what one section occupied.
type Size struct {
	ID         string
	Characters int
}

// AppendJSON appends the pack as one compact JSON object.
func (p *Pack) AppendJSON(dst []byte) []byte {
	dst = slices.Grow(dst, p.bytes())
	o := ndjson.NewObject(dst)
	o.Text("schema", PackSchema)
	o.Text("packId", p.ID)
	p.content(&o)
	o.Optional("compiledAt", p.CompiledAt)
	if p.Delivery != nil {
		o.Name("delivery")
		o.Bytes = p.Delivery.appendJSON(o.Bytes)
	}
	return o.End()
}

// content writes the members that the pack's id is of; canonical.go has them in the
// order of their names.
func (p *Pack) content(o *ndjson.Object) {
	o.Text("productName", p.ProductName)
	if p.Harness != nil {
		o.Name("harness")
		h := ndjson.NewObject(o.Bytes)
		h.Optional("scope", p.Harness.Scope)
		h.Optional("fingerprint", p.Harness.Fingerprint)
		o.Bytes = h.End()
	}
	o.Text("mode", string(p.Mode))
	o.Optional("profile", p.Profile)
	o.Name("sections")
	o.Bytes = appendList(o.Bytes, p.Sections, func(o *ndjson.Object, s *Section) { s.content(o) })
	o.Name("toolGroups")
	o.Bytes = appendList(o.Bytes, p.ToolGroups, func(o *ndjson.Object, g *ToolGroup) { g.content(o) })
	o.Name("unattributed")
	o.Bytes = appendList(o.Bytes, p.Unattributed, func(o *ndjson.Object, u *Unattributed) {
		o.Text("kind", u.Kind)
		o.Text("id", u.ID)
	})
	o.Name("redactions")
	o.Bytes = appendList(o.Bytes, p.Redactions, func(o *ndjson.Object, r *Redaction) {
		o.Text("section", r.Section)
		o.Text("rule", r.Rule)
		o.Number("count", r.Count)
	})
}

func (s *Section) content(o *ndjson.Object) {
	o.Text("id", s.ID)
	o.Text("title", s.Title)
	o.Text("body", s.Body)
	o.Number("order", s.Order)
	o.Text("part", string(s.Part))
	o.Optional("owner", s.Owner)
	o.List("sources", s.Sources)
	o.Number("budget", s.Budget)
	o.Number("size", s.Size)
	o.Number("cut", s.Cut)
}

func (g *ToolGroup) content(o *ndjson.Object) {
	o.Text("id", g.ID)
	o.Text("title", g.Title)
	o.Optional("owner", g.Owner)
	o.List("tools", g.Tools)
}

// AppendJSON appends the group as a line of its own.
func (g *ToolGroup) AppendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("schema", GroupSchema)
	g.content(&o)
	return o.End()
}

func (d *Delivery) appendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.List("systemSectionIds", d.System)
	o.List("updatedSectionIds", d.Updated)
	o.List("withdrawnSectionIds", d.Withdrawn)
	if d.Sizes.Known {
		o.Name("sizes")
		sizes := ndjson.NewObject(o.Bytes)
		sizes.Name("system")
		sizes.Bytes = appendSizes(sizes.Bytes, d.Sizes.System)
		sizes.Name("update")
		sizes.Bytes = appendSizes(sizes.Bytes, d.Sizes.Update)
		sizes.Name("framing")
		framing := ndjson.NewObject(sizes.Bytes)
		framing.Number("system", d.Sizes.SystemFraming)
		framing.Number("update", d.Sizes.UpdateFraming)
		sizes.Bytes = framing.End()
		o.Bytes = sizes.End()
	}
	return o.End()
}

func appendSizes(dst []byte, sizes []Size) []byte {
	dst = append(dst, '{')
	for i, s := range sizes {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(ndjson.AppendString(dst, s.ID), ':')
		dst = strconv.AppendInt(dst, int64(s.Characters), 10)
	}
	return append(dst, '}')
}

// appendList appends an array of objects.
func appendList[T any](dst []byte, list []T, write func(o *ndjson.Object, element *T)) []byte {
	dst = append(dst, '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		o := ndjson.NewObject(dst)
		write(&o, &list[i])
		dst = o.End()
	}
	return append(dst, ']')
}

// bytes is about what the pack takes as JSON.
func (p *Pack) bytes() int {
	n := 4 << 10
	for i := range p.Sections {
		n += 256 + len(p.Sections[i].Body) + len(p.Sections[i].Body)/16
	}
	return n
}

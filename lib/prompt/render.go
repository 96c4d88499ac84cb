package prompt

import "kxm/lib/ndjson"

// Rendered is one string for a session that takes a single prompt, with the code
// points that each section occupies and those that belong to none.
type Rendered struct {
	Text            string
	Sizes           []Size
	Stable, Dynamic int // framing of each part
}

// Render lays out the parts of the pack that are asked for: the stable sections, the
// dynamic ones under a heading of their own, or both. The stable part is a prefix of
// the whole, byte for byte.
func Render(p *Pack, stable, dynamic bool) Rendered {
	var r Rendered
	if stable {
		l := p.system(&layout{}, false)
		r.Text, r.Sizes, r.Stable = l.end(), l.sizes, l.framing
	}
	if !dynamic {
		return r
	}
	l := &layout{}
	l.grow(p.Sections, isDynamic)
	for i := range p.Sections {
		if s := &p.Sections[i]; s.Part != Stable {
			if !l.begun {
				l.frame("# Context")
			}
			l.section(s)
		}
	}
	text := l.end()
	if text == "" {
		return r
	}
	if r.Text != "" {
		r.Text += "\n" // the blank line between the parts
		l.framing++
	}
	r.Text += text
	r.Sizes = append(r.Sizes, l.sizes...)
	r.Dynamic = l.framing
	return r
}

// AppendJSON appends the text with its sizes as one compact JSON object.
func (r *Rendered) AppendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("schema", RenderSchema)
	o.Text("text", r.Text)
	o.Name("sizes")
	o.Bytes = appendSizes(o.Bytes, r.Sizes)
	o.Name("framing")
	framing := ndjson.NewObject(o.Bytes)
	framing.Number(string(Stable), r.Stable)
	framing.Number(string(Dynamic), r.Dynamic)
	o.Bytes = framing.End()
	return o.End()
}

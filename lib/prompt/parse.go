package prompt

import (
	"strings"

	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/ndjson"
	"kxm/lib/redact"
)

// ParsePack reads a pack of one JSON object, or the one in a launch answer. Texts are
// normalised and redacted again, which changes nothing in a pack that the compiler
// made. The error is a *fault.Error that names the field.
func ParsePack(raw []byte) (*Pack, error) {
	top, err := validated(raw)
	if err != nil {
		return nil, err
	}
	pack, field, err := packOf(top)
	if err != nil {
		return nil, refused(err)
	}
	p := &packReader{cleaner: newCleaner(), pack: &Pack{}}
	if err := p.read(pack); err != nil {
		if field != "" {
			err = within(err, field)
		}
		return nil, refused(err)
	}
	return p.pack, nil
}

// RecordJSON returns the pack in raw, which [ParsePack] has read, as it is recorded: on
// one line, without secrets, with fields that are not known, and with the time unless
// it has one.
func RecordJSON(raw []byte, now string) []byte {
	pack, _, _ := packOf(trimmed(raw))
	o := ndjson.NewObject(make([]byte, 0, len(pack)+64))
	add := func(name string, value []byte) {
		o.Name(name)
		o.Bytes = ndjson.MapText(o.Bytes, value, mask)
	}
	timed := false
	_ = pack.all(func(key string, m member) error { // it was read before
		switch {
		case key == "compiledAt" && m.null():
			return nil
		case key == "compiledAt":
			timed = true
		case key == "delivery" && !timed && now != "":
			timed = true
			o.Text("compiledAt", now)
		}
		name := ndjson.AppendString(nil, mask(key))
		add(string(name[1:len(name)-1]), []byte(m))
		return nil
	})
	if !timed && now != "" {
		o.Text("compiledAt", now)
	}
	return o.End()
}

func mask(text string) string {
	clean, _ := redact.Redact(text)
	return clean
}

// packOf finds the pack in an answer, and the field that it stands in.
func packOf(top member) (pack member, field string, err error) {
	schema := ""
	err = top.object(func(key string, m member) error {
		switch key {
		case "schema":
			return m.line(&schema, MaxLabel)
		case "pack":
			pack = m
		}
		return nil
	})
	switch {
	case err != nil:
		return "", "", err
	case schema == PackSchema:
		return top, "", nil
	case schema != LaunchSchema:
		return "", "", within(wrong("must be %q or %q, not %s", PackSchema, LaunchSchema, fault.Quote(schema)), "schema")
	case pack == "":
		return "", "", within(wrong("is missing"), "pack")
	}
	return pack, "pack", nil
}

// packReader reads a pack. Everything in it comes from outside.
type packReader struct {
	*cleaner
	pack *Pack
}

// text reads a text, line one that must be one line; both without secrets.
func (p *packReader) text(m member, into *string) error {
	err := m.text(into)
	*into = p.clean("", *into)
	return err
}

func (p *packReader) line(m member, into *string) error {
	err := m.line(into, ndjson.MaxValue)
	*into = p.clean("", *into)
	return err
}

func (p *packReader) lines(m member, into *[]string) error {
	return m.list(func(_ int, m member) error {
		var s string
		err := p.line(m, &s)
		*into = append(*into, s)
		return err
	})
}

func (p *packReader) read(m member) error {
	p.pack.ProductName = DefaultName
	seen := false
	err := m.object(func(key string, m member) error {
		switch key {
		case "schema":
			seen = true
			return m.schema(PackSchema)
		case "packId":
			if err := m.line(&p.pack.ID, MaxLabel); err != nil {
				return err
			}
			if !isPackID(p.pack.ID) {
				return wrong("must be pk_ and 16 hexadecimal digits")
			}
		case "productName":
			return p.line(m, &p.pack.ProductName)
		case "harness":
			return p.harness(m)
		case "mode":
			return p.line(m, (*string)(&p.pack.Mode))
		case "profile":
			return p.line(m, &p.pack.Profile)
		case "compiledAt":
			if err := p.line(m, &p.pack.CompiledAt); err != nil {
				return err
			}
			if _, err := item.ParseTime(p.pack.CompiledAt); err != nil {
				return wrong("must be an RFC 3339 time")
			}
		case "sections":
			return m.list(func(_ int, m member) error { return p.section(m) })
		case "delivery":
			return p.delivery(m)
		default:
			return p.account(key, m)
		}
		return nil
	})
	if err == nil && (!seen || p.pack.ID == "") {
		return wrong("must be an object with the schema %q and a packId", PackSchema)
	}
	return err
}

func isPackID(id string) bool {
	hex, ok := strings.CutPrefix(id, "pk_")
	return ok && len(hex) == 16 && strings.Trim(hex, "0123456789abcdef") == ""
}

func (p *packReader) harness(m member) error {
	p.pack.Harness = &Harness{}
	return m.object(func(key string, m member) error {
		switch key {
		case "scope":
			return p.line(m, &p.pack.Harness.Scope)
		case "fingerprint":
			return p.line(m, &p.pack.Harness.Fingerprint)
		}
		return nil
	})
}

func (p *packReader) section(m member) error {
	var s Section
	err := m.object(func(key string, m member) error {
		switch key {
		case "id":
			return p.line(m, &s.ID)
		case "title":
			return p.line(m, &s.Title)
		case "body":
			return p.text(m, &s.Body)
		case "order":
			return m.count(&s.Order)
		case "part":
			if err := m.line((*string)(&s.Part), MaxLabel); err != nil {
				return err
			}
			if s.Part != Stable && s.Part != Dynamic && s.Part != Request {
				return wrong("must be one of %s, %s, %s", Stable, Dynamic, Request)
			}
		case "owner":
			return p.line(m, &s.Owner)
		case "sources":
			return p.lines(m, &s.Sources)
		case "budget":
			return m.count(&s.Budget)
		case "cut":
			return m.count(&s.Cut)
		}
		return nil
	})
	if err == nil && (s.ID == "" || s.Part == "") {
		return wrong("must have an id and a part")
	}
	s.Size = length(s.Body)
	p.pack.Sections = append(p.pack.Sections, s)
	return err
}

func (m member) count(into *int) error {
	return m.number(into, 0, ndjson.MaxValue, fault.PromptInputInvalid)
}

// account reads what a pack says of itself.
func (p *packReader) account(key string, m member) error {
	switch key {
	case "toolGroups":
		return m.list(func(_ int, m member) error {
			var g ToolGroup
			err := p.fields(m, map[string]*string{"id": &g.ID, "title": &g.Title, "owner": &g.Owner}, func(key string, m member) error {
				if key != "tools" {
					return nil
				}
				return p.lines(m, &g.Tools)
			})
			p.pack.ToolGroups = append(p.pack.ToolGroups, g)
			return err
		})
	case "unattributed":
		return m.list(func(_ int, m member) error {
			var u Unattributed
			err := p.fields(m, map[string]*string{"kind": &u.Kind, "id": &u.ID}, nil)
			p.pack.Unattributed = append(p.pack.Unattributed, u)
			return err
		})
	case "redactions":
		return m.list(func(_ int, m member) error {
			var r Redaction
			err := p.fields(m, map[string]*string{"section": &r.Section, "rule": &r.Rule}, func(key string, m member) error {
				if key != "count" {
					return nil
				}
				return m.count(&r.Count)
			})
			p.pack.Redactions = append(p.pack.Redactions, r)
			return err
		})
	}
	return nil
}

// fields reads an object of texts; other is asked for what is none of them.
func (p *packReader) fields(m member, texts map[string]*string, other func(key string, m member) error) error {
	return m.object(func(key string, m member) error {
		if into, ok := texts[key]; ok {
			return p.line(m, into)
		}
		if other != nil {
			return other(key, m)
		}
		return nil
	})
}

func (p *packReader) delivery(m member) error {
	d := &Delivery{}
	p.pack.Delivery = d
	return m.object(func(key string, m member) error {
		switch key {
		case "systemSectionIds":
			return p.lines(m, &d.System)
		case "updatedSectionIds":
			return p.lines(m, &d.Updated)
		case "withdrawnSectionIds":
			return p.lines(m, &d.Withdrawn)
		case "sizes":
			d.Sizes.Known = true
			return p.sizes(m, &d.Sizes)
		}
		return nil
	})
}

func (p *packReader) sizes(m member, s *Sizes) error {
	return m.object(func(key string, m member) error {
		switch key {
		case "system":
			return p.sizesOf(m, &s.System)
		case "update":
			return p.sizesOf(m, &s.Update)
		case "framing":
			return m.object(func(key string, m member) error {
				switch key {
				case "system":
					return m.count(&s.SystemFraming)
				case "update":
					return m.count(&s.UpdateFraming)
				}
				return nil
			})
		}
		return nil
	})
}

func (p *packReader) sizesOf(m member, into *[]Size) error {
	return m.object(func(key string, m member) error {
		s := Size{ID: p.clean("", Line(key))}
		err := m.count(&s.Characters)
		*into = append(*into, s)
		return err
	})
}

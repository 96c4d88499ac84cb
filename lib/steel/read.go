package steel

import (
	"context"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

// What can be read of a page or an element.
const (
	ReadURL     = "url"
	ReadTitle   = "title"
	ReadText    = "text"
	ReadHTML    = "html"
	ReadValue   = "value"
	ReadAttr    = "attr"
	ReadCount   = "count" // how many visible elements match
	ReadBox     = "box"
	ReadChecked = "checked"
	ReadEnabled = "enabled"
	ReadVisible = "visible"
)

// Wish is something to be read.
type Wish struct {
	What     string
	Name     string // of an attribute
	Aim      Aim    // the zero value is the whole document
	Choice   Choice
	MaxBytes int  // of a text; 0 is no limit
	Reveal   bool // values of password-like fields, and the whole of addresses
}

// Value is something that was read.
type Value struct {
	Schema      string          `json:"schema"`
	What        string          `json:"what"`
	Name        string          `json:"name,omitempty"`
	Value       json.RawMessage `json:"value,omitempty"`       // none: the element has no such attribute
	ValueLength *int            `json:"valueLength,omitempty"` // of a hidden one, in characters
	Truncated   bool            `json:"truncated"`
}

// reading is the script's answer.
type reading struct {
	Value  json.RawMessage `json:"value"`
	Length *int            `json:"length"` // of what is not told
	Cut    bool            `json:"cut"`
	Wrong  bool            `json:"wrong"` // the element has no such thing
}

// Read reads something of the page. SteelTargetKind says that the element has nothing of
// the kind.
func (p *Page) Read(ctx context.Context, w *Wish) (*Value, error) {
	var read reading
	var whole any
	var err error
	switch {
	case w.What == ReadURL || w.What == ReadTitle:
		whole, err = p.readPlace(ctx, w)
	case w.What == ReadCount:
		whole, err = p.Count(ctx, w.Aim)
	case w.What == ReadBox:
		whole, err = p.readBox(ctx, w)
	case w.Aim.kind == "":
		err = p.askIn(ctx, locateScript, p.tab.TargetID, "readDocument", []any{w.What, w.terms()}, &read)
	default:
		c := w.Choice
		c.Hidden = c.Hidden || w.What != ReadText
		_, err = p.LocateAndAsk(ctx, w.Aim, c, "read", []any{w.What, w.terms()}, &read)
	}
	if err != nil {
		return nil, err
	}
	if read.Wrong {
		return nil, fault.New(fault.SteelTargetKind, "%s has no %s", fault.Quote(w.Aim.String()), map[string]string{ReadValue: "value", ReadChecked: "state to be checked"}[w.What])
	}
	if whole != nil {
		if read.Value, err = ndjson.Marshal(whole); err != nil {
			return nil, err
		}
	}
	if string(read.Value) == "null" {
		read.Value = nil
	}
	v := &Value{Schema: ValueSchema, What: w.What, Name: w.Name, Value: read.Value, ValueLength: read.Length, Truncated: read.Cut}
	return v, v.cut(w.MaxBytes)
}

// terms is what the script is told beside the element.
func (w *Wish) terms() map[string]any {
	return map[string]any{"name": w.Name, "reveal": w.Reveal, "most": w.MaxBytes}
}

func (p *Page) readPlace(ctx context.Context, w *Wish) (string, error) {
	at, err := p.where(ctx)
	switch {
	case w.What == ReadTitle:
		return at.Title, err
	case w.Reveal:
		return at.URL, err
	}
	return PrintedURL(at.URL), err
}

func (p *Page) readBox(ctx context.Context, w *Wish) (Rect, error) {
	e, err := p.Locate(ctx, w.Aim, w.Choice)
	if err != nil {
		return Rect{}, err
	}
	return e.Box(ctx)
}

// cut shortens a text, or a list of texts, to a number of bytes.
func (v *Value) cut(most int) error {
	var text string
	var list []string
	var err error
	switch {
	case most == 0 || len(v.Value) <= most:
	case json.Unmarshal(v.Value, &text) == nil && len(text) > most:
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
		}
		v.Truncated = true
		v.Value, err = ndjson.Marshal(text[:most])
	case json.Unmarshal(v.Value, &list) == nil:
		kept := slices.IndexFunc(list, func(s string) bool { most -= len(s); return most < 0 })
		if kept >= 0 {
			v.Truncated = true
			v.Value, err = ndjson.Marshal(list[:kept])
		}
	}
	return err
}

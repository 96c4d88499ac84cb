package prompt

import (
	"strings"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

// Turn is one request of a conversation: a launch answer, and what the history gained
// behind its update until the next request.
type Turn struct {
	system, update string
	places         [2][]place // where sections begin, in each of the two; nil: not known
	History        string
	Compacted      bool // the history before this turn is gone, History is in its place
}

// Answers reads launch answers, in order, with the texts of the history between them.
// A text stands in the member history of the answer before it, or of an object of its
// own, where "compacted": true says that it took the place of everything before.
type Answers struct{ turns []Turn }

// Add reads one value.
func (a *Answers) Add(raw []byte) error {
	m, err := validated(raw)
	if err != nil {
		return err
	}
	var t Turn
	schema, history := "", ""
	var pack member
	compacted, answer := false, false
	err = m.object(func(key string, m member) (err error) {
		switch key {
		case "schema":
			return m.line(&schema, MaxLabel)
		case "system":
			answer = true
			t.system, err = m.exact()
		case "update":
			t.update, err = m.exact()
		case "history":
			history, err = m.exact()
		case "compacted":
			return m.flag(&compacted)
		case "pack":
			pack = m
		}
		return err
	})
	if err != nil {
		return refused(err)
	}
	switch {
	case answer && schema == LaunchSchema:
		t.History = history
		t.locate(pack)
		a.turns = append(a.turns, t)
	case answer || schema != "" && schema != "kxm.prompt-history.v1":
		return refused(within(wrong("must be %q, not %s", LaunchSchema, fault.Quote(schema)), "schema"))
	case len(a.turns) == 0:
		return refused(wrong("must begin with a launch answer"))
	case compacted:
		last := &a.turns[len(a.turns)-1]
		last.History, last.Compacted = history, true
	default:
		a.turns[len(a.turns)-1].History += history
	}
	return nil
}

// Turns returns what was read.
func (a *Answers) Turns() []Turn { return a.turns }

// exact reads a text as it is: requests are compared byte by byte.
func (m member) exact() (string, error) {
	s, ok := ndjson.Unquote(string(m))
	if !ok {
		return "", wrong("must be a text")
	}
	return s, nil
}

// locate finds out where sections begin, by laying the pack out again. Bodies may hold
// headings of their own, so the text cannot tell.
func (t *Turn) locate(pack member) {
	if pack == "" {
		return
	}
	p := &packReader{cleaner: newCleaner(), pack: &Pack{}}
	if p.read(pack) != nil || p.pack.Delivery == nil {
		return
	}
	if l := p.pack.system(&layout{}, true); l.end() == t.system {
		t.places[0] = l.places
	}
	sent := map[string]bool{}
	for _, id := range p.pack.Delivery.Updated {
		sent[id] = true
	}
	if l := p.pack.update(&layout{}, func(s *Section) bool { return sent[s.ID] }, nil); strings.HasPrefix(t.update, strings.TrimSuffix(l.end(), "\n")) {
		t.places[1] = l.places
	}
}

// Common says how much of the beginning two requests share.
type Common struct {
	Common, Old, New int // bytes
	First            *Change
}

// Change is the first place where the old request is not continued.
type Change struct {
	Part    string // "system", "update" or "history"
	Section string // "" in a history, and where it is not known
	Offset  int    // bytes from the beginning of the part
}

// Compare returns what each request shares with the one before it: the system prompt,
// then an append-only history with the updates in their places.
func Compare(turns []Turn) []Common {
	var all []Common
	behind := 0 // bytes of the history before the update of turn n-1
	for n := 1; n < len(turns); n++ {
		old, now := &turns[n-1], &turns[n]
		if old.Compacted || old.system != now.system {
			all = append(all, compare(request(turns[:n]), request(turns[:n+1])))
		} else {
			// The old request goes on in the new one, whatever stands in it.
			whole := len(old.system) + behind + len(old.update)
			all = append(all, Common{Common: whole, Old: whole, New: whole + len(old.History) + len(now.update)})
		}
		if old.Compacted {
			behind = len(old.History)
		} else {
			behind += len(old.update) + len(old.History)
		}
	}
	return all
}

// span is a part of a request: a text and whose it is.
type span struct {
	part, text string
	places     []place
}

// request returns the parts of the last of the turns' requests.
func request(turns []Turn) []span {
	last := len(turns) - 1
	parts := []span{{"system", turns[last].system, turns[last].places[0]}}
	from := 0
	for i := range turns[:last] {
		if turns[i].Compacted {
			from = i
		}
	}
	for i := from; i <= last; i++ {
		t := &turns[i]
		if i > from || !t.Compacted || i == last {
			parts = append(parts, span{"update", t.update, t.places[1]})
		}
		if i < last {
			parts = append(parts, span{part: "history", text: t.History})
		}
	}
	return parts
}

func compare(old, now []span) Common {
	c := Common{Old: total(old), New: total(now)}
	rest := make([]string, len(now))
	for i := range now {
		rest[i] = now[i].text
	}
	for _, p := range old {
		same := 0
		for same < len(p.text) && len(rest) > 0 {
			n := commonPrefix(p.text[same:], rest[0])
			same += n
			if rest[0] = rest[0][n:]; rest[0] != "" {
				break
			}
			rest = rest[1:]
		}
		c.Common += same
		if same < len(p.text) {
			c.First = &Change{p.part, p.section(same), same}
			return c
		}
	}
	return c
}

// section names the section that a place of the part is in.
func (p *span) section(at int) string {
	if len(p.places) == 0 {
		return ""
	}
	id := framingID
	for _, place := range p.places {
		if place.at <= at {
			id = place.id
		}
	}
	return id
}

func total(parts []span) int {
	n := 0
	for _, p := range parts {
		n += len(p.text)
	}
	return n
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	if a[:n] == b[:n] {
		return n
	}
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// Share returns how much of the old request goes on in the new one, 0 to 1, as
// [Common.AppendJSON] writes it: in thousandths, rounded down.
func (c *Common) Share() float64 {
	if c.Common >= c.Old {
		return 1
	}
	return float64(int64(c.Common)*1000/int64(c.Old)) / 1000
}

// AppendJSON appends the comparison as one compact JSON object.
func (c *Common) AppendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("schema", PrefixSchema)
	o.Number("commonBytes", c.Common)
	o.Number("oldBytes", c.Old)
	o.Number("newBytes", c.New)
	o.Name("share")
	o.Bytes = append(o.Bytes, thousandths(c.Common, c.Old)...)
	o.Number("estimatedTokens", estimate(c.Common))
	if c.First != nil {
		o.Name("first")
		first := ndjson.NewObject(o.Bytes)
		first.Text("part", c.First.Part)
		first.Optional("section", c.First.Section)
		first.Number("offset", c.First.Offset)
		o.Bytes = first.End()
	}
	return o.End()
}

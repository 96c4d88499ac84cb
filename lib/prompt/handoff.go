package prompt

import (
	"strings"

	"kxm/lib/fault"
)

// Handoff is a checkpoint event: what one slice of work leaves to the next.
type Handoff struct {
	Objective        []string
	Done, Left, Next []string
	Evidence         []string
}

// ParseHandoff reads a checkpoint event of one JSON object.
func ParseHandoff(raw []byte) (Handoff, error) {
	var h Handoff
	m, err := validated(raw)
	if err != nil {
		return h, err
	}
	return h, refused(h.read(m))
}

// read reads the five fields: a text, or a list of texts.
func (h *Handoff) read(m member) error {
	return m.object(func(key string, m member) error {
		switch key {
		case "objective":
			return m.textOrList(&h.Objective)
		case "done":
			return m.textOrList(&h.Done)
		case "left":
			return m.textOrList(&h.Left)
		case "next":
			return m.textOrList(&h.Next)
		case "evidence":
			return m.textOrList(&h.Evidence)
		}
		return nil
	})
}

func (m member) textOrList(into *[]string) error {
	*into = nil
	add := func(_ int, m member) error {
		var s string
		err := m.text(&s)
		if s != "" {
			*into = append(*into, s)
		}
		return err
	}
	switch kind(m) {
	case '"':
		return add(0, m)
	case '[':
		return m.list(add)
	}
	return wrong("must be a text or a list of texts")
}

// body is the continuation: each field in a fence, since people's words in it are
// material. It is empty for a handoff that says nothing.
func (h *Handoff) body(c *cleaner) (body string, cut int) {
	var pieces []piece
	for _, f := range []struct {
		name  string
		texts []string
	}{
		{"handoff.objective", h.Objective}, {"handoff.done", h.Done}, {"handoff.left", h.Left},
		{"handoff.next", h.Next}, {"handoff.evidence", h.Evidence},
	} {
		text := f.texts
		if len(text) == 0 {
			continue
		}
		joined := text[0]
		if len(text) > 1 {
			joined = "- " + strings.Join(text, "\n- ")
		}
		pieces = append(pieces, piece{head: frame(f.name), text: c.clean(idContinuation, joined), data: true})
	}
	if len(pieces) == 0 {
		return "", 0
	}
	intro := frame("handoff.intro")
	body, cut = material(pieces, rowContinuation.budget-length(intro)-len(blank))
	return intro + blank + body, cut
}

// Continuation is the block that a handoff becomes in an update, title and body.
func Continuation(h Handoff) (string, error) {
	c := newCleaner()
	body, _ := h.body(c)
	if body == "" {
		return "", fault.New(fault.PromptNoCheckpoint, "the handoff says nothing")
	}
	return "## " + rowContinuation.title + blank + body + "\n", nil
}

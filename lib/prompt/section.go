package prompt

import (
	"fmt"
	"strings"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

// Bounds of an application's section.
const (
	maxSectionTitle      = 120
	MinOrder, MaxOrder   = 1, 94 // before reporting
	DefaultOrder         = 70
	MinBudget, MaxBudget = 200, 30_000
	DefaultBudget        = 4_000
	VariantBudget        = 30_000 // of each of a variant's sections
)

// AppSection is a section that an application brings.
type AppSection struct {
	ID, Title, Body string
	Order, Budget   int
	Dynamic         bool
	Owner           string // a plugin id; empty: none, which the pack says
	Sources         []string
}

// Check applies the rules of an application's section to one made in Go, whose texts
// it normalises and redacts. The error is a *fault.Error that names the field.
func (s *AppSection) Check() error {
	s.ID, s.Title, s.Owner, s.Body = Line(s.ID), Line(s.Title), Line(s.Owner), Normalise(s.Body)
	for i := range s.Sources {
		s.Sources[i] = Line(s.Sources[i])
	}
	if err := s.check(); err != nil {
		return refused(err)
	}
	c := newCleaner()
	s.Title, s.Owner, s.Body = c.cleanName(s.ID, s.Title, maxSectionTitle), c.cleanName(s.ID, s.Owner, MaxLabel), c.clean(s.ID, s.Body)
	for i := range s.Sources {
		s.Sources[i] = c.cleanName(s.ID, s.Sources[i], MaxSource)
	}
	return nil
}

// check is Check for normal texts.
func (s *AppSection) check() error {
	if !isSectionID(s.ID) {
		return within(wrong("must begin with a-z and hold only a-z, 0-9 and -, not %s", fault.Quote(s.ID)), "id")
	}
	if isOurs(s.ID) {
		return within(&problem{code: fault.PromptSectionReserved, text: "names " + fault.Quote(s.ID) + ", which is one of the compiler's own"}, "id")
	}
	if s.Title == "" {
		return within(wrong("must be one line that names the section"), "title")
	}
	if n := length(s.Title); n > maxSectionTitle {
		return within(wrong("%s", quantity(n, maxSectionTitle)), "title")
	}
	if s.Order < MinOrder || s.Order > MaxOrder {
		return within(wrong("must be an integer from %d to %d", MinOrder, MaxOrder), "order")
	}
	if s.Budget < MinBudget || s.Budget > MaxBudget {
		return within(&problem{code: fault.PromptBudgetInvalid, text: fmt.Sprintf("must be an integer from %d to %d", MinBudget, MaxBudget)}, "budget")
	}
	if s.Owner != "" && !isPluginID(s.Owner) {
		return within(wrong("must be a plugin id such as application:release, not %s", fault.Quote(s.Owner)), "owner")
	}
	for i, source := range s.Sources {
		if n := length(source); n > MaxSource {
			return within(wrong("%s", quantity(n, MaxSource)), fmt.Sprintf("sources[%d]", i))
		}
	}
	return nil
}

func quantity(n, most int) string {
	return fmt.Sprintf("has %d characters, at most %d are read", n, most)
}

func isSectionID(id string) bool {
	return id != "" && 'a' <= id[0] && id[0] <= 'z' && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// isPluginID reports whether owner is a source and a name, as in application:release.
func isPluginID(owner string) bool {
	source, name, ok := strings.Cut(owner, ":")
	return ok && name != "" && isSectionID(source) && length(owner) <= MaxLabel && !strings.ContainsAny(owner, " `")
}

// addSection reads an application's section.
func (in *Input) addSection(m member) error {
	s := AppSection{Order: DefaultOrder, Budget: DefaultBudget}
	err := m.object(func(key string, m member) error {
		switch key {
		case "schema":
			return m.schema(SectionSchema)
		case "id":
			return m.line(&s.ID, MaxLabel)
		case "title":
			return m.line(&s.Title, maxSectionTitle)
		case "body":
			return m.text(&s.Body)
		case "order":
			return m.number(&s.Order, MinOrder, MaxOrder, fault.PromptInputInvalid)
		case "budget":
			return m.number(&s.Budget, MinBudget, MaxBudget, fault.PromptBudgetInvalid)
		case "dynamic":
			return m.flag(&s.Dynamic)
		case "owner":
			return m.line(&s.Owner, MaxLabel)
		case "sources":
			return m.lines(&s.Sources, MaxSource)
		}
		return nil
	})
	if err == nil {
		err = s.check()
	}
	if err != nil {
		return err
	}
	if in.ids == nil {
		in.ids = map[string]bool{}
	}
	if in.ids[s.ID] {
		return twice(s.ID)
	}
	in.ids[s.ID] = true
	in.Sections = append(in.Sections, s)
	return nil
}

// twice refuses a second section of one id.
func twice(id string) error {
	return within(&problem{code: fault.PromptSectionDuplicate, text: "names the section " + fault.Quote(id) + ", which is there already"}, "id")
}

// AppendJSON appends the section as an input takes it.
func (s *AppSection) AppendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("schema", SectionSchema)
	o.Text("id", s.ID)
	o.Text("title", s.Title)
	o.Text("body", s.Body)
	o.Number("order", s.Order)
	o.Number("budget", s.Budget)
	o.Flag("dynamic", s.Dynamic)
	o.Optional("owner", s.Owner)
	o.List("sources", s.Sources)
	return o.End()
}

package prompt

import (
	"slices"

	"kxm/lib/fault"
)

// variantSections are the ids that a variant's sections may have, with the titles
// that they have unless they bring one.
var variantSections = [...]struct{ id, title string }{
	{"system", "Instructions"}, {"guardrails", "Guardrails"}, {"memory", "Memory"},
	{"subagents", "Subagents"}, {"scripts", "Scripts"},
}

func (v *Variant) read(m member) error {
	v.Skills = map[string]string{}
	return m.object(func(key string, m member) error {
		switch key {
		case "scope":
			return m.line(&v.Scope, MaxLabel)
		case "fingerprint":
			return m.line(&v.Fingerprint, MaxLabel)
		case "sections":
			return m.list(func(_ int, m member) error { return v.readSection(m) })
		case "skills":
			return m.object(func(key string, m member) error {
				var text string
				err := m.text(&text)
				v.Skills[Line(key)] = text
				return err
			})
		}
		return nil
	})
}

func (v *Variant) readSection(m member) error {
	var s VariantSection
	err := m.object(func(key string, m member) error {
		switch key {
		case "id":
			return m.line(&s.ID, MaxLabel)
		case "title":
			return m.line(&s.Title, maxSectionTitle)
		case "body":
			return m.text(&s.Body)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return v.add(s)
}

// add checks a section whose texts are normal.
func (v *Variant) add(s VariantSection) error {
	i := slices.IndexFunc(variantSections[:], func(known struct{ id, title string }) bool { return known.id == s.ID })
	if i < 0 {
		return within(wrong("must be one of system, guardrails, memory, subagents, scripts"), "id")
	}
	if slices.ContainsFunc(v.Sections, func(other VariantSection) bool { return other.ID == s.ID }) {
		return twice(s.ID)
	}
	// A save of the variant limits its sections already: cutting one here would hide
	// that it did not.
	if n := length(s.Body); n > VariantBudget {
		return within(within(&problem{code: fault.PromptVariantSectionTooLarge, text: quantity(n, VariantBudget)}, "body"), s.ID)
	}
	if s.Title == "" {
		s.Title = variantSections[i].title
	}
	v.Sections = append(v.Sections, s)
	return nil
}

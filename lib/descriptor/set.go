package descriptor

import (
	"fmt"
	"slices"
	"strings"

	"kxm/lib/fault"
)

// Set is the built-in descriptors and an application's, in which every id is unique
// and everything has one owner (INV-PLG-10). It does not change.
type Set struct {
	all      []Descriptor
	ids      map[string]bool
	tools    map[string]tool
	groups   map[string]string // id → owner
	sections map[string]string // id → owner
	order    []ToolGroup
}

type tool struct{ owner, group string }

// NewSet joins the built-in descriptors with an application's. An application cannot
// take a built-in id, and nobody what another one owns: a tool, a tool group or a
// prompt section; a tool may join a group of another owner. The error is a
// *fault.Error of fault.PluginDescriptorInvalid that names the field.
func NewSet(application ...Descriptor) (*Set, error) {
	s := &Set{
		all: append(Builtin(), application...),
		ids: map[string]bool{}, tools: map[string]tool{}, groups: map[string]string{}, sections: map[string]string{},
	}
	for i := range s.all {
		d := &s.all[i]
		if i >= len(builtin()) && !strings.HasPrefix(d.ID, applicationSource) {
			return nil, invalid("id", "an application cannot describe %s", fault.Quote(d.ID)).
				WithHint("its ids begin with %q", applicationSource)
		}
		if s.ids[d.ID] {
			return nil, invalid("id", "two descriptors have the id %s", fault.Quote(d.ID))
		}
		s.ids[d.ID] = true
		if err := s.take(d); err != nil {
			return nil, err
		}
	}
	for i := range s.all {
		if err := s.checkGroups(&s.all[i]); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(s.order, func(a, b ToolGroup) int { return rank(a.ID) - rank(b.ID) })
	return s, nil
}

// take notes what a descriptor owns.
func (s *Set) take(d *Descriptor) error {
	for i, c := range d.Contributions {
		if c.Kind != "tool" {
			continue
		}
		if t, taken := s.tools[c.Name]; taken {
			return notYours(d.ID, fmt.Sprintf("contributions[%d].name", i), "tool", c.Name, t.owner)
		}
		s.tools[c.Name] = tool{d.ID, c.Group}
	}
	for i, g := range d.ToolGroups {
		if owner, taken := s.groups[g.ID]; taken {
			return notYours(d.ID, fmt.Sprintf("toolGroups[%d].id", i), "tool group", g.ID, owner)
		}
		s.groups[g.ID] = d.ID
		s.order = append(s.order, g)
	}
	for i, id := range d.Sections {
		owner, taken := s.sections[id]
		if slices.Contains(variantSections, id) {
			owner, taken = "variant:self", true
		}
		if taken {
			return notYours(d.ID, fmt.Sprintf("sections[%d]", i), "prompt section", id, owner)
		}
		s.sections[id] = d.ID
	}
	return nil
}

// checkGroups refuses a tool in a group that nobody declares: no prompt would
// describe it.
func (s *Set) checkGroups(d *Descriptor) error {
	for i, c := range d.Contributions {
		if _, ok := s.groups[c.Group]; c.Group != "" && !ok {
			return invalid(fmt.Sprintf("contributions[%d].group", i), "the tool %s of %s is in the group %s, which no descriptor declares",
				fault.Quote(c.Name), fault.Quote(d.ID), fault.Quote(c.Group))
		}
	}
	return nil
}

func notYours(id, field, what, name, owner string) error {
	return invalid(field, "the descriptor %s takes the %s %s, which %s owns", fault.Quote(id), what, fault.Quote(name), fault.Quote(owner))
}

// rank is a tool group's place among the embedded ones, and the same place behind
// them for all others.
func rank(id string) int {
	if i := slices.Index(embeddedGroups, id); i >= 0 {
		return i
	}
	return len(embeddedGroups)
}

// Descriptors returns all descriptors, the built-in ones first. What they point to is
// shared and must not be changed.
func (s *Set) Descriptors() []Descriptor { return slices.Clone(s.all) }

// ToolOwner returns the id of the descriptor that declares a tool. The tools of a
// connected app are not looked at: they have names of their own.
func (s *Set) ToolOwner(name string) (owner string, ok bool) {
	t, ok := s.tools[name]
	return t.owner, ok
}

// GroupOf returns the tool group that describes a tool; false if none does.
func (s *Set) GroupOf(name string) (group string, ok bool) {
	group = s.tools[name].group
	return group, group != ""
}

// GroupOwner returns the id of the descriptor that declares a tool group.
func (s *Set) GroupOwner(group string) (owner string, ok bool) {
	owner, ok = s.groups[group]
	return owner, ok
}

// SectionOwner returns the id of the descriptor that declares a prompt section. The
// sections of a pinned variant have none here: they are the variant's.
func (s *Set) SectionOwner(section string) (owner string, ok bool) {
	owner, ok = s.sections[section]
	return owner, ok
}

// Declares reports whether a descriptor has that id. A pinned variant is no
// descriptor.
func (s *Set) Declares(owner string) bool { return s.ids[owner] }

// Groups returns the tool groups in the order of a prompt: the built-in ones, whose
// text is lib/prompt/text's, then the application's as they were given.
func (s *Set) Groups() []ToolGroup { return slices.Clone(s.order) }

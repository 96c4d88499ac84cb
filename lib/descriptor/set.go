package descriptor

// Builtin returns the built-in descriptors in the order of their ownership table.
func Builtin() []Descriptor { return nil }

// Skill returns the SKILL.md of an embedded skill.
func Skill(name string) (text string, ok bool) { return "", false }

// Set is the built-in descriptors and an application's, in which everything has one
// owner.
type Set struct{}

// NewSet joins the built-in descriptors with an application's.
func NewSet(application ...Descriptor) (*Set, error) { return &Set{}, nil }

// ToolOwner returns the id of the descriptor that declares a tool.
func (s *Set) ToolOwner(tool string) (owner string, ok bool) { return "", false }

// GroupOf returns the tool group that describes a tool; false if none does.
func (s *Set) GroupOf(tool string) (group string, ok bool) { return "", false }

// GroupOwner returns the id of the descriptor that declares a tool group.
func (s *Set) GroupOwner(group string) (owner string, ok bool) { return "", false }

// SectionOwner returns the id of the descriptor that declares a prompt section.
func (s *Set) SectionOwner(section string) (owner string, ok bool) { return "", false }

// Declares reports whether a descriptor has that id.
func (s *Set) Declares(owner string) bool { return false }

// Groups returns the tool groups in the order of a prompt: the built-in ones, then
// the application's as they were given.
func (s *Set) Groups() []ToolGroup { return nil }

package prompt

import (
	"kxm/lib/capability"
	"kxm/lib/descriptor"
	"kxm/lib/fault"
)

// Limits of single fields, in code points. A fixed text keeps its budget with the
// longest names and paths, and a path is never shown cut.
const (
	MaxName      = 80 // the product, the model, projects, profiles, skills
	MaxPath      = 1_000
	MaxTitle     = 200
	MaxSource    = 512
	MaxLabel     = 200 // scopes, fingerprints, owners, triggers
	maxStatus    = 20
	DefaultName  = "kxm"
	personStarts = "person"
)

// Input is what a pack is compiled from. Its texts are normalised and not yet
// redacted.
type Input struct {
	Launch       Launch
	Variant      *Variant // nil: none
	Sections     []AppSection
	Capabilities *capability.Set // nil: not known
	Descriptors  []descriptor.Descriptor

	ids map[string]bool // of Sections
}

// Launch says which run a prompt is for. The zero value of a field means that it was
// not given.
type Launch struct {
	ProductName, Model string
	Mode               Mode
	Trigger            string
	Child              bool   // another run started it
	Profile            string // of a subagent
	DataRoot           string
	Scope              string // of a variant that is read from a folder
	Standard           *Standard
	StandardOut        bool // opted out of the standard sections
	SessionState       *SessionState
	References         []Reference
	RequiredSkills     []string
	Spawn              *Spawn
	Wiki, Plan         string
	Handoff            *Handoff
	Main               *MainRun
	At                 string // RFC 3339
}

// Standard asks for the standard sections of a person's own session.
type Standard struct{ Cwd, Project string }

// SessionState is what a top-level run is told of its session.
type SessionState struct {
	Name         string // empty: unnamed
	FirstTurn    bool
	Todo         []Todo
	PreviousTodo []Todo // nil: there was no earlier run
}

// Todo is an item of a todo list; the status is printed as given.
type Todo struct{ Text, Status string }

// Reference is a text that a request refers to.
type Reference struct{ Title, Source, Text string }

// Spawn says which subagents a run may start.
type Spawn struct{ Profiles []Profile }

// Profile is a kind of subagent.
type Profile struct {
	Name, Description string
	PlanEligible      bool
}

// MainRun is what the run that a side question is about was given.
type MainRun struct{ System, Update string }

// Variant is a pinned variant's part.
type Variant struct {
	Scope, Fingerprint string
	Sections           []VariantSection
	Skills             map[string]string // SKILL.md by name
}

// VariantSection is one of the five sections that a variant may have.
type VariantSection struct{ ID, Title, Body string }

// InPerson reports whether a person started the run itself, which then has the
// standard sections unless it says otherwise.
func (l *Launch) InPerson() bool { return l.Trigger == personStarts && !l.Child }

// WantsFolder reports whether the standard sections are to be included for the folder
// that the caller stands in, since none is named.
func (l *Launch) WantsFolder() bool {
	return l.Standard == nil && !l.StandardOut && l.InPerson() && l.Mode != ModeSideQuestion
}

// ParseInput reads an input of one JSON object. Unknown members are ignored, so that
// nothing but the listed ones can reach a prompt. The error is a *fault.Error that
// names the field.
func ParseInput(raw []byte) (Input, error) {
	in := Input{Launch: newLaunch()}
	top, err := validated(raw)
	if err != nil {
		return in, err
	}
	return in, refused(top.object(func(key string, m member) (err error) {
		switch key {
		case "schema":
			return m.schema(InputSchema)
		case "launch":
			return in.Launch.read(m)
		case "variant":
			in.Variant = &Variant{}
			return in.Variant.read(m)
		case "sections":
			return m.list(func(_ int, m member) error { return in.addSection(m) })
		case "capabilities":
			return in.readCapabilities([]byte(m))
		case "descriptors":
			return m.list(func(_ int, m member) error { return in.addDescriptor([]byte(m)) })
		}
		return nil
	}))
}

// schema checks the name of the form that a value says it has.
func (m member) schema(want string) error {
	var got string
	if err := m.line(&got, MaxLabel); err != nil {
		return err
	}
	if got != want {
		return wrong("must be %q, not %s", want, fault.Quote(got))
	}
	return nil
}

// Builder puts an input together from several files. The zero value is not ready;
// use [NewBuilder].
type Builder struct{ in Input }

// NewBuilder returns a builder of an input without anything in it.
func NewBuilder() *Builder { return &Builder{Input{Launch: newLaunch()}} }

// Launch reads the member launch of an input.
func (b *Builder) Launch(raw []byte) error {
	m, err := validated(raw)
	if err != nil {
		return err
	}
	return refused(within(b.in.Launch.read(m), "launch"))
}

// Section adds one of the members of sections; the value is validated.
func (b *Builder) Section(raw []byte) error {
	return refused(within(b.in.addSection(trimmed(raw)), "sections"))
}

// Capabilities reads the member capabilities.
func (b *Builder) Capabilities(raw []byte) error {
	return refused(within(b.in.readCapabilities(raw), "capabilities"))
}

// Descriptor adds an application's plugin descriptor; the value is validated.
func (b *Builder) Descriptor(raw []byte) error {
	return refused(within(b.in.addDescriptor(raw), "descriptors"))
}

// Variant sets the variant, which a caller has read from a folder; the limits of the
// member variant count for it too.
func (b *Builder) Variant(v Variant) error {
	clean := Variant{Scope: Line(v.Scope), Fingerprint: Line(v.Fingerprint), Skills: map[string]string{}}
	for _, s := range v.Sections {
		s.Body = Normalise(s.Body)
		if err := clean.add(s); err != nil {
			return refused(within(err, "variant"))
		}
	}
	for name, text := range v.Skills {
		clean.Skills[Line(name)] = Normalise(text)
	}
	b.in.Variant = &clean
	return nil
}

// Input returns the input as far as it was built.
func (b *Builder) Input() *Input { return &b.in }

func newLaunch() Launch {
	return Launch{ProductName: DefaultName, Mode: ModeNormal, Trigger: personStarts}
}

func (in *Input) readCapabilities(raw []byte) error {
	set, err := capability.Parse(raw)
	if err != nil {
		return recoded(err, fault.PromptCapabilitiesInvalid)
	}
	in.Capabilities = &set
	return nil
}

// recoded gives an error of the input's parts this package's code; broken JSON keeps
// its own.
func recoded(err error, code fault.Code) error {
	e, ok := err.(*fault.Error)
	if !ok || e.Code == fault.InvalidJSON {
		return err
	}
	c := *e
	c.Code = code
	return &c
}

func (in *Input) addDescriptor(raw []byte) error {
	d, _, err := descriptor.Parse(raw)
	if err != nil {
		return recoded(err, fault.PromptInputInvalid)
	}
	in.Descriptors = append(in.Descriptors, d)
	return nil
}

package prompt

import (
	"slices"
	"strings"

	"kxm/lib/capability"
	"kxm/lib/descriptor"
	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/ndjson"
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

func (l *Launch) read(m member) error {
	return m.all(func(key string, m member) error {
		if m.null() {
			// The one place where null is a choice: no standard sections.
			l.StandardOut = l.StandardOut || key == "standard"
			return nil
		}
		switch key {
		case "productName":
			return m.line(&l.ProductName, MaxName)
		case "model":
			return m.line(&l.Model, MaxName)
		case "mode":
			return l.readMode(m)
		case "trigger":
			return m.line(&l.Trigger, MaxLabel)
		case "parent":
			l.Child = true
			if kind(m) != '"' && kind(m) != '{' {
				return wrong("must be the name of a run, or an object")
			}
		case "profile":
			return m.line(&l.Profile, MaxName)
		case "dataRoot":
			return m.line(&l.DataRoot, MaxPath)
		case "scope":
			return m.line(&l.Scope, MaxLabel)
		case "standard":
			return l.readStandard(m)
		case "at":
			return l.readAt(m)
		default:
			return l.readContent(key, m)
		}
		return nil
	})
}

// readContent reads what becomes a section.
func (l *Launch) readContent(key string, m member) error {
	switch key {
	case "sessionState":
		l.SessionState = &SessionState{}
		return l.SessionState.read(m)
	case "references":
		return m.list(func(_ int, m member) error {
			var r Reference
			err := r.read(m)
			l.References = append(l.References, r)
			return err
		})
	case "requiredSkills":
		return m.lines(&l.RequiredSkills, MaxName)
	case "spawn":
		l.Spawn = &Spawn{}
		return l.Spawn.read(m)
	case "wiki":
		return m.only("text", &l.Wiki)
	case "plan":
		return m.only("body", &l.Plan)
	case "handoff":
		l.Handoff = &Handoff{}
		return l.Handoff.read(m)
	case "main":
		l.Main = &MainRun{}
		return m.object(func(key string, m member) error {
			switch key {
			case "system":
				return m.text(&l.Main.System)
			case "update":
				return m.text(&l.Main.Update)
			}
			return nil
		})
	}
	return nil
}

// only reads an object of which one text counts.
func (m member) only(name string, into *string) error {
	return m.object(func(key string, m member) error {
		if key != name {
			return nil
		}
		return m.text(into)
	})
}

func (l *Launch) readMode(m member) error {
	var s string
	if err := m.line(&s, MaxLabel); err != nil {
		return err
	}
	l.Mode = Mode(s)
	switch l.Mode {
	case ModeNormal, ModePlan, ModeSideQuestion:
		return nil
	}
	return wrong("must be one of %s, %s, %s", ModeNormal, ModePlan, ModeSideQuestion)
}

func (l *Launch) readAt(m member) error {
	if err := m.line(&l.At, MaxLabel); err != nil {
		return err
	}
	if _, err := item.ParseTime(l.At); err != nil {
		return wrong("must be an RFC 3339 time such as 2026-09-01T12:00:00Z")
	}
	return nil
}

func (l *Launch) readStandard(m member) error {
	l.Standard = &Standard{}
	err := m.object(func(key string, m member) error {
		switch key {
		case "cwd":
			return m.line(&l.Standard.Cwd, MaxPath)
		case "project":
			return m.object(func(key string, m member) error {
				if key != "name" {
					return nil
				}
				return m.line(&l.Standard.Project, MaxName)
			})
		}
		return nil
	})
	if err == nil && l.Standard.Cwd == "" {
		return within(wrong("must name the working folder"), "cwd")
	}
	return err
}

func (s *SessionState) read(m member) error {
	return m.object(func(key string, m member) error {
		switch key {
		case "name":
			return m.line(&s.Name, MaxName)
		case "firstTurn":
			return m.flag(&s.FirstTurn)
		case "todo":
			return readTodo(m, &s.Todo)
		case "previousTodo":
			s.PreviousTodo = []Todo{}
			return readTodo(m, &s.PreviousTodo)
		}
		return nil
	})
}

// readTodo reads a todo list. An item of any length is read, and clipped where it is
// shown.
func readTodo(m member, into *[]Todo) error {
	return m.list(func(_ int, m member) error {
		var t Todo
		err := m.object(func(key string, m member) error {
			switch key {
			case "text":
				return m.line(&t.Text, ndjson.MaxValue)
			case "status":
				if err := m.line(&t.Status, ndjson.MaxValue); err != nil {
					return err
				}
				if !isStatus(t.Status) {
					return wrong("must be one word of a-z, _ and -, of at most %d characters", maxStatus)
				}
			}
			return nil
		})
		*into = append(*into, t)
		return err
	})
}

func isStatus(s string) bool {
	return s != "" && len(s) <= maxStatus && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_-") == ""
}

func (r *Reference) read(m member) error {
	return m.object(func(key string, m member) error {
		switch key {
		case "title":
			return m.line(&r.Title, MaxTitle)
		case "source":
			return m.line(&r.Source, MaxSource)
		case "text":
			return m.text(&r.Text)
		}
		return nil
	})
}

func (s *Spawn) read(m member) error {
	return m.object(func(key string, m member) error {
		if key != "profiles" {
			return nil
		}
		return m.list(func(_ int, m member) error {
			var p Profile
			err := m.object(func(key string, m member) error {
				switch key {
				case "name":
					return m.line(&p.Name, MaxName)
				case "description":
					return m.line(&p.Description, ndjson.MaxValue)
				case "planEligible":
					return m.flag(&p.PlanEligible)
				}
				return nil
			})
			if err == nil && p.Name == "" {
				return within(wrong("must name the profile"), "name")
			}
			s.Profiles = append(s.Profiles, p)
			return err
		})
	})
}

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

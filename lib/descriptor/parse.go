package descriptor

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"kxm/lib/capability"
	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

// Limits, in code points.
const (
	MaxID          = 64 // of the part of an id behind the colon, and of ids of groups and sections
	MaxTitle       = 120
	MaxDescription = 1024
	MaxNote        = 300
	MaxGroupText   = 8000 // the budget of the whole tools section of a prompt
)

// The sources of descriptors, which ids begin with.
const (
	builtinSource     = "builtin:"
	applicationSource = "application:"
)

// kinds of contributions, in the order in which messages list them.
var kinds = []string{"instructions", "skill", "command", "agent", "tool", "connection", "code", "theme"}

// Kinds returns the kinds of contributions.
func Kinds() []string { return slices.Clone(kinds) }

// Parse reads a descriptor from one JSON value. Unknown keys are ignored, and null is
// absent. Surfaces that are malformed are dropped with a problem, since they only
// describe; anything else that is wrong is an error, a *fault.Error of
// fault.InvalidJSON, or of fault.PluginDescriptorInvalid that names the field.
// Whether a descriptor goes with others is [NewSet]'s to say.
func Parse(raw []byte) (Descriptor, []Problem, error) {
	if err := ndjson.Validate(raw); err != nil {
		return Descriptor{}, nil, err
	}
	var r reader
	f := r.object("", string(raw))
	if schema := r.text(f, "schema"); r.err == nil && schema != Schema {
		r.fail("schema", "must be %q", Schema)
	}
	d := Descriptor{
		ID:          r.id(f),
		Title:       r.line(f, "title", MaxTitle),
		Description: r.optionalLine(f, "description", MaxDescription),
		Required:    r.flag(f, "required", false),
		Default:     r.onOff(f, "default"),
	}
	if d.Required && !d.Default {
		r.fail("default", "must be \"on\" for a required plugin")
	}
	d.Contributions = r.contributions(f)
	d.ToolGroups = r.toolGroups(f)
	d.Sections = r.sections(f)
	if r.err != nil {
		return Descriptor{}, nil, r.err
	}
	surfaces, err := readSurfaces(f)
	if err != nil {
		return d, []Problem{{err.Field, err.Message}}, nil
	}
	d.Surfaces = surfaces
	return d, nil, nil
}

// fields are the members of one object that are not null, and where it stands.
type fields struct {
	path   string // "" or a dotted form that ends with a dot
	values map[string]string
}

// reader reads values in a fixed order, so that the order of keys does not decide
// which of two errors is reported, and keeps the first error.
type reader struct{ err *fault.Error }

func (r *reader) fail(field, format string, args ...any) {
	if r.err == nil {
		r.err = invalid(field, "the descriptor's "+field+" "+format, args...)
	}
}

func (r *reader) object(field, value string) fields {
	f := fields{values: map[string]string{}}
	if field != "" {
		f.path = field + "."
	}
	if ndjson.Kind([]byte(value)) != '{' {
		if r.err == nil && field == "" {
			r.err = invalid("", "a plugin descriptor must be an object")
		}
		r.fail(field, "must be an object")
		return f
	}
	if err := ndjson.FieldsText(value, func(key, value string) error {
		if value != "null" {
			f.values[key] = value
		}
		return nil
	}); err != nil {
		panic(err) // the value was validated
	}
	return f
}

// list calls fn with each element of an optional list and its place.
func (r *reader) list(f fields, key string, fn func(field, value string)) {
	value, ok := f.values[key]
	if !ok {
		return
	}
	if value[0] != '[' {
		r.fail(f.path+key, "must be a list")
		return
	}
	i := 0
	if err := ndjson.ElementsText(value, func(value string) error {
		fn(fmt.Sprintf("%s%s[%d]", f.path, key, i), value)
		i++
		return nil
	}); err != nil {
		panic(err) // the value was validated
	}
}

// text reads a text that must be there.
func (r *reader) text(f fields, key string) string {
	text, ok := ndjson.Unquote(f.values[key])
	switch {
	case f.values[key] == "":
		r.fail(f.path+key, "is missing")
	case !ok:
		r.fail(f.path+key, "must be a text")
	}
	return text
}

// line reads a text that must be there and be one visible line.
func (r *reader) line(f fields, key string, limit int) string {
	text := r.text(f, key)
	switch {
	case r.err != nil:
	case strings.TrimSpace(text) == "":
		r.fail(f.path+key, "is empty")
	case utf8.RuneCountInString(text) > limit:
		r.fail(f.path+key, "exceeds %d characters", limit)
	case fault.Printable(text) != text:
		r.fail(f.path+key, "must be one line without invisible characters")
	}
	return text
}

func (r *reader) optionalLine(f fields, key string, limit int) string {
	if value, ok := f.values[key]; !ok || value == `""` {
		return ""
	}
	return r.line(f, key, limit)
}

func (r *reader) flag(f fields, key string, absent bool) bool {
	switch f.values[key] {
	case "":
		return absent
	case "true":
		return true
	case "false":
	default:
		r.fail(f.path+key, "must be true or false")
	}
	return false
}

func (r *reader) onOff(f fields, key string) bool {
	switch f.values[key] {
	case "", `"on"`:
		return true
	case `"off"`:
	default:
		r.fail(f.path+key, `must be "on" or "off"`)
	}
	return false
}

func (r *reader) id(f fields) string {
	id := r.text(f, "id")
	_, name, _ := strings.Cut(id, ":")
	if r.err == nil && (!strings.HasPrefix(id, builtinSource) && !strings.HasPrefix(id, applicationSource) || !validID(name)) {
		r.fail("id", "%s must be \"application:\" and a name of lower-case letters, digits and hyphens", fault.Quote(id))
	}
	return id
}

func (r *reader) contributions(f fields) []Contribution {
	var all []Contribution
	seen := map[string]bool{}
	r.list(f, "contributions", func(field, value string) {
		f := r.object(field, value)
		c := Contribution{Kind: r.text(f, "kind"), Name: r.text(f, "name")}
		if r.err != nil {
			return
		}
		id := c.Kind + "/" + c.Name
		switch {
		case !slices.Contains(kinds, c.Kind):
			r.fail(f.path+"kind", "must be one of %s", strings.Join(kinds, ", "))
		case c.Kind == "tool" && !capability.ValidTool(c.Name),
			c.Kind != "tool" && (!capability.ValidName(c.Name) || strings.Contains(c.Name, "/")):
			r.fail(f.path+"name", "%s is no name of a contribution of kind %s", fault.Quote(c.Name), c.Kind)
		case seen[id]:
			r.fail(f.path+"name", "stands twice: %s", fault.Quote(c.Name))
		}
		seen[id] = true
		if _, ok := f.values["group"]; ok {
			if c.Group = r.line(f, "group", MaxID); c.Kind != "tool" {
				r.fail(f.path+"group", "is for tools alone")
			}
		}
		if _, ok := f.values["tools"]; ok && c.Kind != "connection" {
			r.fail(f.path+"tools", "is for connections alone")
		}
		c.Tools = r.connectionTools(f)
		all = append(all, c)
	})
	return all
}

func (r *reader) connectionTools(f fields) []ConnectionTool {
	var all []ConnectionTool
	seen := map[string]bool{}
	r.list(f, "tools", func(field, value string) {
		f := r.object(field, value)
		// A tool that does not say so asks: not asking must be written down.
		tool := ConnectionTool{Name: r.text(f, "name"), Ask: r.flag(f, "ask", true)}
		switch {
		case r.err != nil:
		case !capability.ValidTool(tool.Name):
			r.fail(f.path+"name", "%s is no name of a tool", fault.Quote(tool.Name))
		case seen[tool.Name]:
			r.fail(f.path+"name", "stands twice: %s", fault.Quote(tool.Name))
		}
		seen[tool.Name] = true
		all = append(all, tool)
	})
	return all
}

func (r *reader) toolGroups(f fields) []ToolGroup {
	var all []ToolGroup
	r.list(f, "toolGroups", func(field, value string) {
		f := r.object(field, value)
		g := ToolGroup{ID: r.text(f, "id")}
		if r.err == nil && !validID(g.ID) {
			r.fail(f.path+"id", "%s must be of lower-case letters, digits and hyphens", fault.Quote(g.ID))
		}
		_, title := f.values["title"]
		_, text := f.values["text"]
		embedded := slices.Contains(embeddedGroups, g.ID)
		switch {
		case embedded && (title || text):
			r.fail(f.path+"id", "%s names a group that has its own title and text", fault.Quote(g.ID))
		case !embedded:
			g.Title = r.line(f, "title", MaxTitle)
			g.Text = r.text(f, "text")
			if r.err == nil && (strings.TrimSpace(g.Text) == "" || utf8.RuneCountInString(g.Text) > MaxGroupText) {
				r.fail(f.path+"text", "must have 1 to %d characters", MaxGroupText)
			}
		}
		all = append(all, g)
	})
	return all
}

func (r *reader) sections(f fields) []string {
	var all []string
	r.list(f, "sections", func(field, value string) {
		id, ok := ndjson.Unquote(value)
		if !ok || !validID(id) {
			r.fail(field, "must be the id of a prompt section")
		}
		all = append(all, id)
	})
	return all
}

// readSurfaces reads the optional surfaces of a descriptor.
func readSurfaces(f fields) (*Surfaces, *fault.Error) {
	value, ok := f.values["surfaces"]
	if !ok {
		return nil, nil
	}
	var r reader
	f = r.object("surfaces", value)
	s := Surfaces{Preferred: r.text(f, "preferred"), Terminal: r.text(f, "terminal"), Note: r.line(f, "note", MaxNote)}
	if r.err == nil && s.Preferred != "host" {
		r.fail("surfaces.preferred", `must be "host"`)
	}
	if r.err == nil && s.Terminal != "fallback" && s.Terminal != "unavailable" {
		r.fail("surfaces.terminal", `must be "fallback" or "unavailable"`)
	}
	if r.err != nil {
		return nil, r.err
	}
	return &s, nil
}

// validID reports whether s is 1 to MaxID lower-case letters, digits and hyphens, a
// letter first.
func validID(s string) bool {
	if s == "" || len(s) > MaxID || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	return !strings.ContainsFunc(s, func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' })
}

func invalid(field, format string, args ...any) *fault.Error {
	return fault.New(fault.PluginDescriptorInvalid, format, args...).On(field)
}

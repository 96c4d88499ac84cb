package capability

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

// MaxName is the most code points of an entry. The longest real ones are
// contributions: a plugin id with a package's name, a kind, and a file's name.
const MaxName = 512

// New returns the set of the given entries, in any order and possibly given more
// than once. The error is that of [Parse].
func New(tools, connectors, contributions []string) (Set, error) {
	s := Set{Version: Version, Tools: slices.Clone(tools), Connectors: slices.Clone(connectors), Contributions: slices.Clone(contributions)}
	for _, l := range []struct {
		field string
		list  *[]string
		valid func(string) bool
	}{
		{"tools", &s.Tools, ValidTool}, {"connectors", &s.Connectors, ValidName}, {"contributions", &s.Contributions, ValidName},
	} {
		for i, name := range *l.list {
			if !l.valid(name) {
				return Set{}, badName(l.field, i, name)
			}
		}
		slices.Sort(*l.list)
		*l.list = slices.Compact(*l.list)
	}
	return s, nil
}

// Parse reads a set from one JSON value. It is stricter than other readers, since a
// key that is not known could be a limit: the five keys must be there and no other,
// and "*" stands nowhere (INV-CAP-2). The order of a list and repeats in it mean
// nothing. The error is a *fault.Error: fault.InvalidJSON, or
// fault.CapabilityInvalid that names the field.
func Parse(raw []byte) (Set, error) {
	if err := ndjson.Validate(raw); err != nil {
		return Set{}, err
	}
	if ndjson.Kind(raw) != '{' {
		return Set{}, fault.New(fault.CapabilityInvalid, "a capability set must be an object")
	}
	var schema, version string
	lists := map[string][]string{}
	err := ndjson.FieldsText(string(raw), func(key, value string) (err error) {
		switch key {
		case "schema":
			schema = value
		case "version":
			version = value
		case "tools", "connectors", "contributions":
			lists[key], err = texts(key, value)
		default:
			err = invalid(key, "the capability set holds the unknown key %s", fault.Quote(key)).
				WithHint("an unknown key could be a limit, so it is refused")
		}
		return err
	})
	if err != nil {
		return Set{}, err
	}
	if name, ok := ndjson.Unquote(schema); !ok || name != Schema {
		return Set{}, invalid("schema", "the schema of a capability set must be %q", Schema)
	}
	if version != "1" {
		return Set{}, invalid("version", "the version of a capability set must be %d", Version)
	}
	for _, key := range []string{"tools", "connectors", "contributions"} {
		if lists[key] == nil {
			return Set{}, invalid(key, "the capability set has no %s", key).WithHint("write an empty list for none")
		}
	}
	return New(lists["tools"], lists["connectors"], lists["contributions"])
}

// texts reads a list of texts, which is not nil.
func texts(key, value string) ([]string, error) {
	if !strings.HasPrefix(value, "[") {
		return nil, invalid(key, "the %s of a capability set must be a list", key)
	}
	list := []string{}
	err := ndjson.ElementsText(value, func(value string) error {
		text, ok := ndjson.Unquote(value)
		if !ok {
			return invalid(fmt.Sprintf("%s[%d]", key, len(list)), "the %s of a capability set must be texts", key)
		}
		list = append(list, text)
		return nil
	})
	return list, err
}

// ValidTool reports whether name can be a tool's: what holds for every entry, and no
// white space or backtick, since prompts show tools as code spans.
func ValidTool(name string) bool {
	return ValidName(name) && !strings.ContainsFunc(name, func(r rune) bool { return r == '`' || unicode.IsSpace(r) })
}

// ValidName reports whether name can stand in a set: it has 1 to MaxName code points,
// shows all of them, and holds no "*", which could be taken for a pattern.
func ValidName(name string) bool {
	if strings.IndexByte(name, '*') >= 0 || len(name) > MaxName && utf8.RuneCountInString(name) > MaxName {
		return false
	}
	return fault.Printable(name) == name && strings.TrimSpace(name) != ""
}

func badName(field string, i int, name string) *fault.Error {
	e := invalid(fmt.Sprintf("%s[%d]", field, i), "the capability set holds %s, which cannot stand in %s", fault.Quote(name), field)
	if strings.Contains(name, "*") {
		return e.WithHint("nothing in a capability set means \"all\": name each entry")
	}
	return e
}

func invalid(field, format string, args ...any) *fault.Error {
	return fault.New(fault.CapabilityInvalid, format, args...).On(field)
}

package state

import (
	"maps"
	"slices"
	"strings"

	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/ndjson"
)

// Command is a verb with its flags, as a batch and the verbs' standard input name
// them. Which fields a verb has is in commandFields.
type Command struct {
	Verb       Type
	Key        string
	Summary    string
	Authority  item.Authority
	Confidence item.Confidence
	Evidence   []string
	ProposedBy string
	Proposal   string
	Expect     []string // nil: what is current
	Why        string
	Category   string
	Severity   string
	Area       string
	Run        string
	Stage      string
	Entry      string
	To         Verdict
	Entries    []string
	Outcome    string
	As         string      // the actor's label; "" leaves the writer's
	Origin     item.Origin // who signs; "": as the verb does by itself
	Redact     bool
}

// ExpectNone is what Expect says to replace no value.
const ExpectNone = "none"

// commandFields are the fields of each verb, besides those that all have.
var commandFields = map[Type][]string{
	TypePropose:  {"key", "summary", "authority", "confidence", "evidence", "evidenceRefs", "proposedBy"},
	TypePromote:  {"proposal", "evidence", "evidenceRefs", "expect"},
	TypeReject:   {"proposal", "why"},
	TypeWithdraw: {"proposal", "why"},
	TypeJournal:  {"category", "summary", "severity", "area", "run", "runId", "stage", "stageId", "evidence"},
	TypeReview:   {"entry", "to", "why", "evidence", "evidenceRefs"},
	TypeEpisode:  {"run", "runId", "summary", "entries", "outcome"},
}

// commonFields are those that every command has.
var commonFields = []string{"type", "as", "origin", "redact"}

// ParseCommand reads a command from one JSON object, which package ndjson has
// validated. verb is what the caller was asked to do: then the object is the data of
// that verb alone, unknown fields are passed over, and neither who acts nor who signs
// is for the data to say. With "" the object names its verb ("type") and holds the
// verb's flags: a field that the verb does not have is refused, since a misspelled
// flag would be left out in silence. The error is an InvalidStateEvent that names the
// field.
func ParseCommand(raw []byte, verb Type) (Command, error) {
	values := map[string]string{}
	if ndjson.Kind(raw) != '{' {
		return Command{}, fault.New(fault.InvalidStateEvent, "a command must be an object")
	}
	if err := ndjson.Fields(raw, func(key string, value []byte) error {
		if string(value) != "null" {
			values[key] = string(value)
		}
		return nil
	}); err != nil {
		return Command{}, err
	}
	if verb != "" {
		maps.DeleteFunc(values, func(name, _ string) bool { return name != "type" && !slices.Contains(commandFields[verb], name) })
	}
	d := commandDecoder{values: values}
	if named := Type(d.text("type")); named != "" {
		if verb != "" && named != verb {
			d.fail("type", "is %s, not %s", fault.Quote(string(named)), verb)
		}
		verb = named
	}
	known, ok := commandFields[verb]
	if d.err == nil && !ok {
		d.fail("type", "names no verb: %s", fault.Quote(masked(string(verb))))
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if d.err == nil && !slices.Contains(known, name) && !slices.Contains(commonFields, name) {
			d.fail(masked(fault.Printable(name)), "is no field of %s", verb)
		}
	}
	c := Command{
		Verb:       verb,
		Key:        d.text("key"),
		Summary:    d.text("summary"),
		Authority:  item.Authority(d.text("authority")),
		Confidence: item.Confidence(d.text("confidence")),
		Evidence:   append(d.list("evidence"), d.list("evidenceRefs")...),
		ProposedBy: d.text("proposedBy"),
		Proposal:   d.text("proposal"),
		Why:        d.text("why"),
		Category:   d.text("category"),
		Severity:   d.text("severity"),
		Area:       d.text("area"),
		Run:        d.either("run", "runId"),
		Stage:      d.either("stage", "stageId"),
		Entry:      d.text("entry"),
		To:         Verdict(d.text("to")),
		Entries:    d.list("entries"),
		Outcome:    d.text("outcome"),
		As:         d.text("as"),
		Origin:     item.Origin(d.text("origin")),
		Redact:     d.boolean("redact"),
	}
	if _, ok := values["expect"]; ok {
		if c.Expect = d.list("expect"); c.Expect == nil {
			c.Expect = []string{}
		}
	}
	return c, d.err
}

type commandDecoder struct {
	values map[string]string
	checker
}

func (d *commandDecoder) text(name string) string {
	value, ok := d.values[name]
	if !ok {
		return ""
	}
	s, ok := ndjson.Unquote(value)
	if !ok {
		d.fail(name, "is not a string")
	}
	return s
}

func (d *commandDecoder) either(name, other string) string {
	a, b := d.text(name), d.text(other)
	if a != "" && b != "" && a != b {
		d.fail(name, "and %s say different things", other)
	}
	if a == "" {
		return b
	}
	return a
}

// list reads a list of texts, or one text for a list of one.
func (d *commandDecoder) list(name string) []string {
	value, ok := d.values[name]
	if !ok {
		return nil
	}
	if strings.HasPrefix(value, `"`) {
		return []string{d.text(name)}
	}
	if !strings.HasPrefix(value, "[") {
		d.fail(name, "is not a list")
		return nil
	}
	var list []string
	_ = ndjson.ElementsText(value, func(value string) error { // a valid array
		s, ok := ndjson.Unquote(value)
		if !ok {
			d.fail(name, "holds what is not a string")
		}
		list = append(list, s)
		return nil
	})
	return list
}

func (d *commandDecoder) boolean(name string) bool {
	switch d.values[name] {
	case "true":
		return true
	case "", "false":
	default:
		d.fail(name, "is neither true nor false")
	}
	return false
}

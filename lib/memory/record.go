package memory

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"kxm/lib/fault"
	"kxm/lib/frontmatter"
	"kxm/lib/item"
	"kxm/lib/redact"
)

// Schema names the front matter of a memory file.
const Schema = "kxm.memory.v1"

// MaxIDLength bounds a record's id, in characters (all ASCII).
const MaxIDLength = 100

// Authority is what a record claims for itself. It is not an item's authority:
// see [Record.Item].
type Authority string

// The authorities of a record. A promoted one is an instruction that was once a
// candidate.
const (
	AuthorityInstruction Authority = "instruction"
	AuthorityEvidence    Authority = "evidence"
	AuthorityPromoted    Authority = "promoted"
)

// Lifecycle says whether a record still holds. Only active ones are served.
type Lifecycle string

// The lifecycles.
const (
	LifecycleActive     Lifecycle = "active"
	LifecycleDeprecated Lifecycle = "deprecated"
	LifecycleSuperseded Lifecycle = "superseded"
)

// The closed sets, in the order in which messages list them.
var (
	scopes      = []item.Scope{item.ScopeAgent, item.ScopeProject, item.ScopeRun, item.ScopeOperator}
	authorities = []Authority{AuthorityInstruction, AuthorityEvidence, AuthorityPromoted}
	confidences = []item.Confidence{item.ConfidenceVerified, item.ConfidenceProbable, item.ConfidenceUncertain}
	lifecycles  = []Lifecycle{LifecycleActive, LifecycleDeprecated, LifecycleSuperseded}
)

// Provenance says where a record comes from. Only SourceType and SourceRef are
// used; other keys of a file's provenance are left alone.
type Provenance struct {
	SourceType string // as given; [Record.Origin] reads it
	SourceRef  string
	Timestamp  string
	RunID      string
}

// Record is one memory file. Texts are as written: they are redacted only where
// they leave as an item or a fact.
type Record struct {
	ID              string
	Scope           item.Scope
	Kind            string
	Summary         string
	Provenance      Provenance
	Authority       Authority
	Confidence      item.Confidence
	Lifecycle       Lifecycle
	LifecycleReason string
	EvidenceRefs    []string
	ReviewBy        string // a date or an RFC 3339 time, or ""
	Supersedes      []string
	AppliesTo       []string // globs
	Tags            []string
	Body            string // trimmed

	File    string       // the file's name in its folder
	Data    []byte       // the file's bytes
	Unknown []UnknownKey // keys that nothing reads, in the order of the file

	root *frontmatter.Node
}

// UnknownKey is a key of the front matter that nothing reads. It is kept when the
// file is rewritten.
type UnknownKey struct {
	Key  string
	Line int
}

// noFrontMatter is how a file without front matter is refused.
const noFrontMatter = "memory file must contain YAML frontmatter enclosed in '---'"

// ParseRecord parses a memory file; file is its name in its folder. The error is a
// *fault.Error with the file as its source and, where known, line, column and
// field: InvalidMemoryFile, or ContextAuthorityViolation for a control-plane field.
// That the file's name is its id is not checked here: see [RuleFileName].
func ParseRecord(file string, data []byte) (*Record, error) {
	doc, err := frontmatter.Parse(file, data)
	if err != nil {
		return nil, frontMatterError(file, data, err)
	}
	if key, path := controlPlane(doc.Root); key != nil {
		return nil, fault.New(fault.ContextAuthorityViolation, "memory record %s may not carry control-plane field '%s'",
			echo(file), echo(key.Value)).At(redacted(file), key.Line, key.Column).On(echo(path))
	}
	r := &Record{File: file, Data: data, Body: strings.TrimSpace(doc.Body), root: doc.Root}
	p := parser{file: file, root: doc.Root}
	if schema := p.text("schema"); p.err == nil && schema != Schema {
		if schema == "" {
			schema = "none"
		}
		p.fail("schema", "has unsupported schema: expected %s, got %s", Schema, echo(schema))
	}
	r.ID = p.id("id")
	r.Scope = enum(&p, "scope", scopes)
	r.Kind = p.required("kind")
	r.Summary = p.required("summary")
	p.provenance(&r.Provenance)
	r.Authority = enum(&p, "authority", authorities)
	r.Confidence = enum(&p, "confidence", confidences)
	r.Lifecycle = enum(&p, "lifecycle", lifecycles)
	r.EvidenceRefs = p.list("evidenceRefs")
	r.ReviewBy = p.text("reviewBy")
	if r.ReviewBy != "" && p.err == nil {
		if _, err := item.ParseTime(r.ReviewBy); err != nil {
			p.fail("reviewBy", "has invalid reviewBy: %s is neither a date nor an RFC 3339 time", echo(r.ReviewBy))
		}
	}
	r.Supersedes = p.list("supersedes")
	r.AppliesTo = p.list("appliesTo")
	r.Tags = p.list("tags")
	r.LifecycleReason = p.text("lifecycleReason")
	if p.err != nil {
		return nil, p.err
	}
	for _, key := range doc.Root.Keys {
		if !slices.Contains(knownKeys, key.Value) {
			r.Unknown = append(r.Unknown, UnknownKey{key.Value, key.Line})
		}
	}
	return r, nil
}

// knownKeys are the keys of the front matter in their declared order.
var knownKeys = []string{"schema", "id", "scope", "kind", "summary", "provenance", "authority", "confidence",
	"lifecycle", "evidenceRefs", "reviewBy", "supersedes", "appliesTo", "tags", "lifecycleReason"}

// frontMatterError says in the words of memory files why the front matter of one
// was refused.
func frontMatterError(file string, data []byte, err error) error {
	var f *fault.Error
	if !errors.As(err, &f) {
		f = fault.Wrap(err, fault.InvalidMemoryFile, "front matter")
	}
	if errors.Is(err, frontmatter.ErrMissing) {
		e := fault.New(fault.InvalidMemoryFile, noFrontMatter).At(redacted(file), max(f.Line, 1), f.Column)
		e.Hint = f.Hint
		return e
	}
	format := "YAML"
	if bytes.HasPrefix(data, []byte("+++")) {
		format = "TOML"
	}
	e := fault.New(fault.InvalidMemoryFile, "invalid %s frontmatter in %s: %s", format, echo(file), redacted(f.Message)).
		At(redacted(file), f.Line, f.Column)
	e.Hint = f.Hint
	return e
}

// controlPlane returns the first key, at any depth, that would grant something,
// with the dotted path to it.
func controlPlane(n *frontmatter.Node) (key *frontmatter.Node, path string) {
	for i, v := range n.Values {
		if n.Kind == frontmatter.Mapping && item.ControlPlaneField(n.Keys[i].Value) {
			return n.Keys[i], n.Keys[i].Value
		}
		if key, path = controlPlane(v); key != nil {
			if n.Kind == frontmatter.Mapping {
				path = n.Keys[i].Value + "." + path
			}
			return key, path
		}
	}
	return nil, ""
}

// parser reads the fields of a record; after the first error it reads nothing.
type parser struct {
	file string
	root *frontmatter.Node
	err  error
}

// fail refuses the record because of a field, at the field's place.
func (p *parser) fail(field, format string, args ...any) {
	if p.err != nil {
		return
	}
	line, column := 1, 0
	n, top := p.root, field
	if i := strings.IndexByte(field, '.'); i >= 0 {
		top = field[:i]
	}
	if v, ok := n.Get(top); ok {
		if top != field && v.Kind == frontmatter.Mapping {
			if inner, ok := v.Get(field[len(top)+1:]); ok {
				v = inner
			}
		}
		line, column = v.Line, v.Column
	}
	p.err = fault.New(fault.InvalidMemoryFile, "memory record %s %s", echo(p.file), fmt.Sprintf(format, args...)).
		At(redacted(p.file), line, column).On(field)
}

// text returns a scalar text; "" for null and for a key that is absent. A date
// stays the text it was written as; numbers and booleans are no texts, so that
// what a reader of the file sees and what is read are the same.
func (p *parser) text(field string) string {
	n, ok := p.root.Get(field)
	if !ok {
		return ""
	}
	return p.scalar(field, n)
}

func (p *parser) scalar(field string, n *frontmatter.Node) string {
	if n.Kind != frontmatter.Scalar {
		p.fail(field, "has invalid %s: must be a text", field)
		return ""
	}
	switch n.Tag {
	case frontmatter.TagString, frontmatter.TagTimestamp:
		return n.Value
	case frontmatter.TagNull:
		return ""
	}
	p.fail(field, "has invalid %s: %s is not a text (put it in quotes)", field, echo(n.Value))
	return ""
}

func (p *parser) required(field string) string {
	s := p.text(field)
	if strings.TrimSpace(s) == "" {
		p.fail(field, "is missing %s", field)
	}
	return s
}

func (p *parser) id(field string) string {
	n, ok := p.root.Get(field)
	switch {
	case !ok || n.Kind == frontmatter.Scalar && n.Tag == frontmatter.TagNull:
		p.fail(field, "is missing %s", field)
	case n.Kind != frontmatter.Scalar || n.Tag != frontmatter.TagString || !validID(n.Value):
		p.fail(field, "has invalid %s: %s", field, echo(n.Value))
	default:
		return n.Value
	}
	return ""
}

func enum[T ~string](p *parser, field string, allowed []T) T {
	s := T(p.required(field))
	if p.err == nil && !slices.Contains(allowed, s) {
		list := make([]string, len(allowed))
		for i, a := range allowed {
			list[i] = string(a)
		}
		if field == "scope" { // published so: the others repeat the value first
			p.fail(field, "has invalid scope: must be one of %s, got %s", strings.Join(list, ", "), echo(string(s)))
		} else {
			p.fail(field, "has invalid %s: %s (must be one of %s)", field, echo(string(s)), strings.Join(list, ", "))
		}
	}
	return s
}

func (p *parser) list(field string) []string {
	n, ok := p.root.Get(field)
	if !ok || n.Kind == frontmatter.Scalar && n.Tag == frontmatter.TagNull {
		return nil
	}
	if n.Kind != frontmatter.Sequence {
		p.fail(field, "has invalid %s: must be a list of texts", field)
		return nil
	}
	list := make([]string, 0, len(n.Values))
	for _, v := range n.Values {
		list = append(list, p.scalar(field, v))
	}
	return list
}

func (p *parser) provenance(to *Provenance) {
	n, ok := p.root.Get("provenance")
	if !ok || n.Kind == frontmatter.Scalar && n.Tag == frontmatter.TagNull {
		return
	}
	if n.Kind != frontmatter.Mapping {
		p.fail("provenance", "has invalid provenance: must be a mapping")
		return
	}
	for i, key := range n.Keys {
		var field *string
		switch key.Value {
		case "sourceType":
			field = &to.SourceType
		case "sourceRef":
			field = &to.SourceRef
		case "timestamp":
			field = &to.Timestamp
		case "runId":
			field = &to.RunID
		default:
			continue
		}
		*field = p.scalar("provenance."+key.Value, n.Values[i])
	}
}

// validID reports whether s is [A-Za-z][A-Za-z0-9]*([-_][A-Za-z0-9]+)* of at most
// MaxIDLength characters. Written out: a regular expression takes longer to
// compile than a folder of facts takes to check.
func validID(s string) bool {
	if s == "" || len(s) > MaxIDLength {
		return false
	}
	separated := true // a separator, or the start, stands before the character
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c|0x20 && c|0x20 <= 'z':
			separated = false
		case '0' <= c && c <= '9':
			if i == 0 {
				return false
			}
			separated = false
		case c == '-' || c == '_':
			if separated {
				return false
			}
			separated = true
		default:
			return false
		}
	}
	return !separated
}

// CheckID refuses an id that no record may have.
func CheckID(id string) error {
	if validID(id) {
		return nil
	}
	return fault.New(fault.Usage, "invalid id %s", fault.Quote(redacted(id))).
		WithHint("an id is letters and digits in parts joined by - or _, begins with a letter and has at most %d characters", MaxIDLength)
}

// echoLimit bounds how much of a refused value a message repeats, in characters.
const echoLimit = 100

// echo makes a value from a file fit for a message: without secrets, control
// characters or great length.
func echo(s string) string {
	s = fault.Printable(redacted(s))
	if utf8.RuneCountInString(s) > echoLimit {
		s = string([]rune(s)[:echoLimit]) + "…"
	}
	return s
}

func redacted(s string) string {
	s, _ = redact.Redact(s)
	return s
}

// Line returns the line of a field in the file, from 1; 1 where it has none. A
// dotted name is a field of provenance.
func (r *Record) Line(field string) int {
	top, inner, nested := strings.Cut(field, ".")
	n, ok := r.root.Get(top)
	if !ok {
		return 1
	}
	if nested && n.Kind == frontmatter.Mapping {
		if v, ok := n.Get(inner); ok {
			n = v
		}
	}
	return n.Line
}

// Origin returns where the record's content comes from: what provenance says if
// it is one of the seven origins, else git.
func (r *Record) Origin() item.Origin {
	if o := item.Origin(r.Provenance.SourceType); o.Valid() {
		return o
	}
	return item.OriginGit
}

// Active reports whether the record still holds.
func (r *Record) Active() bool { return r.Lifecycle == LifecycleActive }

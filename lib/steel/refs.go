package steel

import (
	"encoding/json"
	"strconv"
	"strings"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
	"kxm/lib/redact"
)

// ReferencesSchema names the form of the file of a session's references.
const ReferencesSchema = "kxm.steel-refs.v1"

// References are what e1, e2, … stand for.
type References struct {
	Schema string               `json:"schema"`
	Refs   map[string]Reference `json:"refs"`
}

// Reference is the node that a number stands for. It says which document of which
// frame the node is in, since a node's id outlives its page.
type Reference struct {
	Tab      string `json:"tab"`
	TargetID string `json:"targetId"` // of the frame: a cross-site frame is a target of its own
	FrameID  string `json:"frameId"`
	LoaderID string `json:"loaderId"`
	Node     int64  `json:"node"` // backend id
	Role     string `json:"role"` // as printed
	Name     string `json:"name"` // as printed, without what redact knows as a secret
}

// Matches reports whether a node still has the role and name that the reference was
// given for; both are the browser's.
func (r Reference) Matches(role, name string) bool {
	return r.Role == printedRole(role) && r.Name == storedName(PrintedName(name))
}

// storedName is a printed name as it stands in the file.
func storedName(name string) string {
	masked, _ := redact.Redact(name)
	return PrintedName(masked) // a mask may be longer than what it masks
}

// nameLimit is how much of a name is printed, in code points.
const nameLimit = 200

const noLimit = -1

// PrintedName returns an accessible name as it is printed: on one line, white space
// folded, control and format characters masked, at most 200 code points.
func PrintedName(name string) string { return fault.Printable(fold(name, nameLimit)) }

// fold puts one space in place of each run of white space, and none at the ends. With a
// limit it cuts.
func fold(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); limit >= 0 && len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}

// printedRole returns a role as it is printed: in small letters, and nothing but letters
// and hyphens.
func printedRole(role string) string {
	plain := strings.TrimLeft(strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c == '-' {
			return c
		}
		return -1
	}, strings.ToLower(role)), "-")
	if plain == "" {
		return "unknown"
	}
	return plain
}

// refNumber returns the number of a reference's name, such as 12 of "e12", or 0.
func refNumber(name string) int {
	digits, ok := strings.CutPrefix(name, "e")
	if !ok || len(digits) > 9 || digits == "" || digits[0] == '0' {
		return 0
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil {
		return 0
	}
	return int(n)
}

// Encode returns the file's bytes.
func (r *References) Encode() ([]byte, error) {
	raw, err := ndjson.Marshal(r)
	if err != nil {
		return nil, err
	}
	return append(raw, '\n'), nil
}

// ParseReferences reads the file of a session's references. The error says what is
// wrong and not where; it is SteelStateCorrupt.
func ParseReferences(data []byte) (*References, error) {
	corrupt := func(what string) (*References, error) { return nil, fault.New(fault.SteelStateCorrupt, "%s", what) }
	if err := ndjson.Validate(data); err != nil {
		return corrupt("not JSON")
	}
	r := &References{}
	if err := json.Unmarshal(data, r); err != nil {
		return corrupt("a field has the wrong type")
	}
	switch {
	case r.Schema != ReferencesSchema:
		return corrupt("the schema is not " + ReferencesSchema)
	case r.Refs == nil:
		return corrupt("the references are missing")
	}
	for name, ref := range r.Refs {
		switch {
		case refNumber(name) == 0:
			return corrupt("the name of a reference is none")
		case ref.Tab == "" || ref.TargetID == "" || ref.FrameID == "" || ref.LoaderID == "":
			return corrupt("a reference does not say where it is")
		case ref.Node <= 0:
			return corrupt("the node of a reference is none")
		case ref.Role == "" || ref.Role != printedRole(ref.Role):
			return corrupt("the role of a reference is none")
		}
	}
	return r, nil
}

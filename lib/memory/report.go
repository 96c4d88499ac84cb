package memory

import (
	"errors"
	"strconv"
	"strings"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

// FindingSchema names the JSON form of a finding.
const FindingSchema = "kxm.memory-finding.v1"

// Finding is one thing that a check found. It never holds the value of a secret.
type Finding struct {
	Rule     string
	Severity Severity
	File     string // from the top of the repository
	Line     int    // from 1
	Column   int    // from 1; 0: not known
	Message  string
	Fix      string
}

// AppendJSON appends the finding as one JSON object.
func (f *Finding) AppendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("schema", FindingSchema)
	o.Text("rule", f.Rule)
	o.Text("severity", string(f.Severity))
	o.Text("file", f.File)
	o.Name("line")
	o.Bytes = strconv.AppendInt(o.Bytes, int64(f.Line), 10)
	if f.Column > 0 {
		o.Name("column")
		o.Bytes = strconv.AppendInt(o.Bytes, int64(f.Column), 10)
	}
	o.Text("message", f.Message)
	o.Text("fix", f.Fix)
	return o.End()
}

// MarshalJSON returns what AppendJSON appends.
func (f Finding) MarshalJSON() ([]byte, error) { return f.AppendJSON(nil), nil }

// Text returns the finding as two lines for people: the place, as compilers write
// it, with what is wrong, and the fix.
func (f *Finding) Text() string {
	where := fault.Printable(f.File) + ":" + strconv.Itoa(f.Line)
	if f.Column > 0 {
		where += ":" + strconv.Itoa(f.Column)
	}
	return where + ": " + string(f.Severity) + ": " + f.Message + " [" + f.Rule + "]\n    " + f.Fix + "\n"
}

// GitHub returns the finding as a workflow command, a line that GitHub Actions
// shows beside the code.
func (f *Finding) GitHub() string {
	var b strings.Builder
	b.WriteString("::" + string(f.Severity) + " file=" + gitHubProperty.Replace(f.File) + ",line=" + strconv.Itoa(f.Line))
	if f.Column > 0 {
		b.WriteString(",col=" + strconv.Itoa(f.Column))
	}
	b.WriteString(",title=" + gitHubProperty.Replace(f.Rule) + "::" + gitHubData.Replace(f.Message+" ("+f.Fix+")") + "\n")
	return b.String()
}

// The escapes of workflow commands. A property must not hold the characters that
// end it either.
var (
	gitHubData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	gitHubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// placeOf returns the line and column that an error names, or 0.
func placeOf(err error) (line, column int) {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Line, f.Column
	}
	return 0, 0
}

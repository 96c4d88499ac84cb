package wiki

import (
	"net/url"
	"strconv"
	"strings"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

// FindingSchema names the JSON form of a finding.
const FindingSchema = "kxm.wiki-finding.v1"

// Finding is one thing that a lint found.
type Finding struct {
	Rule     string
	Severity Severity
	Path     string // of the page, from the top of the repository
	Line     int    // from 1
	Message  string
	Fix      string
}

// AppendJSON appends the finding as one JSON object.
func (f *Finding) AppendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("schema", FindingSchema)
	o.Text("rule", f.Rule)
	o.Text("severity", string(f.Severity))
	o.Text("path", f.Path)
	o.Name("line")
	o.Bytes = strconv.AppendInt(o.Bytes, int64(f.Line), 10)
	o.Text("message", f.Message)
	o.Text("fix", f.Fix)
	return o.End()
}

// MarshalJSON returns what AppendJSON appends.
func (f Finding) MarshalJSON() ([]byte, error) { return f.AppendJSON(nil), nil }

// Text returns the finding as two lines for people: the place, as compilers write it,
// with what is wrong, and the fix.
func (f *Finding) Text() string {
	return fault.Printable(f.Path) + ":" + strconv.Itoa(f.Line) + ": " + string(f.Severity) + ": " + f.Message + " [" + f.Rule + "]\n    " + f.Fix + "\n"
}

// GitHub returns the finding as a workflow command, a line that GitHub Actions shows
// beside the code.
func (f *Finding) GitHub() string {
	return "::" + string(f.Severity) + " file=" + property(f.Path) + ",line=" + strconv.Itoa(f.Line) +
		",title=" + property(f.Rule) + "::" + data(f.Message+" ("+f.Fix+")") + "\n"
}

// data and property escape what stands in a workflow command. A property must not hold
// the characters that end it either.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func property(s string) string { return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(s)) }

// The SARIF form of findings: 2.1.0, what code scanning reads.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID                   string    `json:"id"`
		ShortDescription     sarifText `json:"shortDescription"`
		Help                 sarifText `json:"help"`
		DefaultConfiguration struct {
			Level Severity `json:"level"`
		} `json:"defaultConfiguration"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     Severity        `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		PhysicalLocation struct {
			ArtifactLocation struct {
				URI string `json:"uri"`
			} `json:"artifactLocation"`
			Region struct {
				StartLine int `json:"startLine"`
			} `json:"region"`
		} `json:"physicalLocation"`
	}
)

// SARIF returns the findings as one SARIF 2.1.0 log. The version is the program's.
func SARIF(findings []Finding, version string) ([]byte, error) {
	run := sarifRun{Tool: sarifTool{sarifDriver{Name: "kxm-wiki", Version: version}}, ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	for _, r := range rules {
		rule := sarifRule{ID: r.ID, ShortDescription: sarifText{r.Meaning}, Help: sarifText{r.Fix}}
		rule.DefaultConfiguration.Level = r.Severity
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, rule)
	}
	for _, f := range findings {
		var at sarifLocation
		at.PhysicalLocation.ArtifactLocation.URI = (&url.URL{Path: f.Path}).EscapedPath()
		at.PhysicalLocation.Region.StartLine = f.Line
		run.Results = append(run.Results, sarifResult{f.Rule, ruleIndex(f.Rule), f.Severity, sarifText{f.Message}, []sarifLocation{at}})
	}
	return ndjson.Marshal(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

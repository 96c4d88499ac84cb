// Package skill owns governed skills: folders with a SKILL.md that agents load,
// and the record beside it of where a skill comes from, how it was evaluated and
// who decided on it.
//
// Start with [Store] to change skills and [Promoted] to read those that count.
// A skill is one of four folders below .kxm/skills, by its status:
// candidates/<id>, promoted/<id>, quarantined/<id>, rejected/<id>. The folder is
// the status; metadata.json in it is the record; history/<id>.jsonl lists what
// happened. The id ends in the digest of the files, so a skill never changes: an
// edit makes a new candidate.
//
// The package runs no evaluation, commits nothing and installs no skill. It is
// given the time and the actor. A digest proves that files are what was promoted
// only as far as the commit that holds both was reviewed.
package skill

import (
	"path"
	"slices"
	"strings"

	"kxm/lib/treehash"
)

// Names on disk, below the .kxm folder.
const (
	folder       = "skills"
	historyPath  = folder + "/history"
	documentName = "SKILL.md"
	metadataName = "metadata.json"
)

// Schema names the form of metadata.json; EventSchema that of a history line.
const (
	Schema      = "kxm.skill.v1"
	EventSchema = "kxm.skill-event.v1"
)

// Status is where a skill stands.
type Status string

// The statuses. A failed functional or safety evaluation quarantines a candidate
// or a promoted skill, and there is no way back: the mended skill has another id.
const (
	StatusCandidate   Status = "candidate"
	StatusPromoted    Status = "promoted"
	StatusQuarantined Status = "quarantined"
	StatusRejected    Status = "rejected"
)

var statuses = []Status{StatusCandidate, StatusPromoted, StatusQuarantined, StatusRejected}

// folder returns the path of the folder of the skills of a status.
func (s Status) folder() string {
	if s == StatusCandidate {
		return folder + "/candidates"
	}
	return folder + "/" + string(s)
}

// path returns the path of a skill's folder; the id must be valid.
func (s Status) path(id string) string { return path.Join(s.folder(), id) }

// EvaluationKind says what an evaluation looked at.
type EvaluationKind string

// The kinds of evaluations.
const (
	StaticReview EvaluationKind = "static-review" // a reading of every file
	Sandbox      EvaluationKind = "sandbox"       // a run where nothing can be harmed
	Functional   EvaluationKind = "functional"    // does it do what it says
	Safety       EvaluationKind = "safety"        // does it do nothing else
	Optimization EvaluationKind = "optimization"  // is it better than what it replaces; never required
)

// required are the kinds whose latest evaluation must have passed before a skill
// is promoted.
var required = []EvaluationKind{StaticReview, Sandbox, Functional, Safety}

// Valid reports whether k is one of the five kinds.
func (k EvaluationKind) Valid() bool { return k == Optimization || slices.Contains(required, k) }

// quarantines reports whether a failed evaluation of the kind takes the skill out
// of use.
func (k EvaluationKind) quarantines() bool { return k == Functional || k == Safety }

// Evaluation is one recorded result.
type Evaluation struct {
	Kind     EvaluationKind
	Passed   bool
	By       string   // who or what evaluated
	At       string   // RFC 3339, UTC
	Evidence []string // references: runs, reports, commits
	Notes    string
}

// Sources say what a skill was made from; at least one list is not empty.
type Sources struct {
	RunIDs     []string
	JournalIDs []string
	Receipts   []string
}

func (s Sources) empty() bool { return len(s.RunIDs)+len(s.JournalIDs)+len(s.Receipts) == 0 }

// Decision is the last decision on a skill: its promotion or its rejection.
type Decision struct {
	By       string
	At       string // RFC 3339, UTC
	Evidence []string
	Reason   string
}

// Skill is what metadata.json says, in the folder that Status names.
type Skill struct {
	ID          string
	Name        string
	Description string
	Digest      string // of the folder without metadata.json: "kxt1:" and 64 hex digits
	Author      string
	Models      []string // that it was made with or for
	Sources     Sources
	Status      Status // by the folder, whatever the metadata says
	CreatedAt   string // RFC 3339, UTC
	Evaluations []Evaluation
	Decided     *Decision

	recorded Status // what the metadata says
	fields   record // the metadata itself, with what this package does not know
}

// Path returns the path of the skill's SKILL.md from the .kxm folder.
func (s *Skill) Path() string { return s.path() + "/" + documentName }

func (s *Skill) path() string { return s.Status.path(s.ID) }

// Missing returns the kinds of evaluations that promotion still needs: those never
// recorded, and those that failed when last recorded.
func (s *Skill) Missing() []EvaluationKind {
	missing := []EvaluationKind{}
	for _, kind := range required {
		passed := false
		for _, e := range s.Evaluations {
			if e.Kind == kind {
				passed = e.Passed
			}
		}
		if !passed {
			missing = append(missing, kind)
		}
	}
	return missing
}

const (
	maxSlug   = 40
	digestHex = 12 // digits of the digest in an id
)

// newID makes the id of a skill from its name, which is valid, and its digest.
func newID(name, digest string) string {
	slug := name[:min(len(name), maxSlug)] // a valid name is ASCII
	return strings.TrimRight(slug, "-") + "." + strings.TrimPrefix(digest, treehash.Prefix)[:digestHex]
}

// validID reports whether s has the form of an id. Nothing else is ever joined
// into a path.
func validID(s string) bool {
	slug, hex, ok := strings.Cut(s, ".")
	return ok && len(slug) <= maxSlug && validName(slug) && len(hex) == digestHex && isHex(hex)
}

// validDigest reports whether s has the form of a digest.
func validDigest(s string) bool {
	hex, ok := strings.CutPrefix(s, treehash.Prefix)
	return ok && len(hex) == 64 && isHex(hex)
}

func isHex(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'f') })
}

package memory

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/redact"
)

// LongSummary is the length, in characters, above which a summary is called long.
const LongSummary = 500

// CheckInput is what a check looks at. All of it is of one state: the worktree,
// the index or a commit.
type CheckInput struct {
	Facts      *Set // nil: none
	Candidates *Set // nil: none

	// Dir is the folder that holds .kxm, from the top of the repository, "." for the
	// top itself. Findings name files from there.
	Dir string
	// Root is the file system from the top of the repository, for the instruction
	// files; nil leaves them out.
	Root fs.FS
	// Exists reports whether a path that a record refers to exists, as the record
	// writes it; nil leaves references out.
	Exists func(path string) bool

	Now           time.Time
	CandidateDays int // 0: candidates do not age
	Allow         []redact.Allow
	// Only limits the findings to files, given from the top of the repository; nil is
	// all. A finding about two files is kept if either is wanted.
	Only func(path string) bool
}

// Report is the outcome of a check.
type Report struct {
	Findings []Finding // by file, line and rule
	Allowed  int       // secrets that a reviewer let through
}

// Errors returns the number of findings that make the check fail.
func (r *Report) Errors() int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == SeverityError {
			n++
		}
	}
	return n
}

// Check looks for everything that [Rules] lists.
func Check(in CheckInput) Report {
	if in.Facts == nil {
		in.Facts = &Set{}
	}
	if in.Candidates == nil {
		in.Candidates = &Set{}
	}
	in.Dir = path.Clean(in.Dir)
	c := checker{CheckInput: in}
	c.folder(in.Facts, path.Join(in.Dir, ".kxm", Folder), false)
	c.folder(in.Candidates, path.Join(in.Dir, ".kxm", CandidatesFolder), true)
	c.nearDuplicates()
	c.instructionFiles()
	slices.SortFunc(c.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.Message, b.Message))
	})
	c.Findings = slices.Compact(c.Findings)
	return c.Report
}

type checker struct {
	CheckInput
	Report
}

// add reports a finding of a rule about file, and perhaps about others.
func (c *checker) add(id, file string, line int, others []string, format string, args ...any) {
	if !c.wanted(file) && !slices.ContainsFunc(others, c.wanted) {
		return
	}
	c.Findings = append(c.Findings, newFinding(id, file, line, format, args...))
}

func (c *checker) wanted(file string) bool { return c.Only == nil || c.Only(file) }

func newFinding(id, file string, line int, format string, args ...any) Finding {
	r := rule(id)
	return Finding{Rule: r.ID, Severity: r.Severity, File: redacted(file), Line: max(line, 1),
		Message: fault.Printable(fmt.Sprintf(format, args...)), Fix: r.Fix}
}

// folder checks the records of a folder one by one, in parallel, and their ids.
func (c *checker) folder(s *Set, folder string, candidates bool) {
	records := slices.Clone(s.Records)
	for _, d := range s.Duplicates {
		records = append(records, d.Records...)
		for i, r := range d.Records {
			others := make([]string, 0, len(d.Records))
			for _, o := range d.Records {
				others = append(others, path.Join(folder, o.File))
			}
			c.add(RuleDuplicateID, others[i], r.Line("id"), others, "id %s is claimed by %s", fault.Quote(r.ID), fileNames(d.Records))
		}
	}
	results := make([]result, len(records)+len(s.Problems))
	known := c.ids()
	parallel(len(results), func(i int) {
		r := &results[i]
		if i < len(records) {
			rec := records[i]
			r.file = path.Join(folder, rec.File)
			if c.wanted(r.file) {
				r.record(&c.CheckInput, rec, known, candidates)
				r.secrets(rec.File, rec.Data, rec, c.Allow)
			}
			return
		}
		p := s.Problems[i-len(records)]
		r.file = path.Join(folder, p.File)
		if c.wanted(r.file) {
			r.problem(p)
			r.secrets(p.File, p.Data, nil, c.Allow)
		}
	})
	for _, r := range results {
		c.Findings = append(c.Findings, r.findings...)
		c.Allowed += r.allowed
	}
}

// ids returns the ids that supersedes may name: those of the facts, and of files
// that are no readable record just now.
func (c *checker) ids() map[string]bool {
	known := make(map[string]bool, len(c.Facts.Records))
	for _, r := range c.Facts.Records {
		known[r.ID] = true
	}
	for _, d := range c.Facts.Duplicates {
		known[d.ID] = true
	}
	for _, p := range c.Facts.Problems {
		known[strings.TrimSuffix(p.File, ".md")] = true
	}
	return known
}

// result is what the check of one file gives.
type result struct {
	file     string // from the top of the repository
	findings []Finding
	allowed  int
}

func (r *result) add(id string, line int, format string, args ...any) {
	r.findings = append(r.findings, newFinding(id, r.file, line, format, args...))
}

func (r *result) problem(p Problem) {
	id := RuleInvalid
	switch fault.CodeOf(p.Err) {
	case fault.ContextAuthorityViolation:
		id = RuleControlPlane
	case fault.InvalidMemoryFile:
	default:
		id = RuleUnreadable
	}
	line, column := placeOf(p.Err)
	r.add(id, line, "%s", reason(p.Err))
	r.findings[len(r.findings)-1].Column = column
}

// record checks what one record alone shows.
func (r *result) record(in *CheckInput, rec *Record, known map[string]bool, candidate bool) {
	if rec.File != rec.ID+".md" {
		r.add(RuleFileName, rec.Line("id"), "the file of record %s is named %s", fault.Quote(rec.ID), fault.Quote(redacted(rec.File)))
	}
	for _, u := range rec.Unknown {
		r.add(RuleUnknownKey, u.Line, "nothing reads the key %s", fault.Quote(redacted(u.Key)))
	}
	for _, marker := range []string{StartMarker, EndMarker} {
		if strings.Contains(rec.Summary, marker) {
			r.add(RuleSummaryMarker, rec.Line("summary"), "the summary holds %s", marker)
		}
	}
	if strings.ContainsFunc(rec.Summary, lineBreak) {
		r.add(RuleSummaryNewline, rec.Line("summary"), "the summary has more than one line")
	}
	if n := utf8.RuneCountInString(rec.Summary); n > LongSummary {
		r.add(RuleSummaryLong, rec.Line("summary"), "the summary has %d characters; over %d it crowds out other facts", n, LongSummary)
	}
	if _, err := rec.Item(item.SharedProject, "", ""); err != nil {
		id := RuleItemLimits
		if fault.Is(err, fault.ContextAuthorityViolation) {
			id = RuleAuthorityCeiling
		}
		line, _ := placeOf(err)
		r.add(id, line, "%s", reason(err))
	}
	r.references(in, rec)
	for i, id := range rec.Supersedes {
		if !known[id] {
			r.add(RuleSupersedesUnknown, rec.elementLine("supersedes", i), "no record has the id %s", fault.Quote(redacted(id)))
		}
	}
	if due, ok := rec.reviewDue(); ok && in.Now.After(due) {
		r.add(RuleReviewDue, rec.Line("reviewBy"), "the fact was to be reviewed by %s", rec.ReviewBy)
	}
	if candidate && in.CandidateDays > 0 {
		if at, ok := rec.Time(); ok {
			if days := int(in.Now.Sub(at) / (24 * time.Hour)); days > in.CandidateDays {
				r.add(RuleCandidateOld, rec.Line("provenance.timestamp"), "the candidate is %d days old; %d are allowed", days, in.CandidateDays)
			}
		}
	}
}

// reviewDue returns the last moment before the review is late: a date includes its
// day.
func (r *Record) reviewDue() (due time.Time, ok bool) {
	due, err := item.ParseTime(r.ReviewBy)
	if err != nil || r.ReviewBy == "" {
		return due, false
	}
	if len(r.ReviewBy) == len(time.DateOnly) {
		due = due.Add(24*time.Hour - time.Nanosecond)
	}
	return due, true
}

// elementLine returns the line of an element of a list.
func (r *Record) elementLine(field string, i int) int {
	if n, ok := r.root.Get(field); ok && i < len(n.Values) {
		return n.Values[i].Line
	}
	return r.Line(field)
}

func (r *result) references(in *CheckInput, rec *Record) {
	if in.Exists == nil {
		return
	}
	check := func(ref string, line int) {
		if p, ok := ReferencedPath(ref); ok && !in.Exists(p) {
			r.add(RuleReferenceMissing, line, "no file %s exists", fault.Quote(redacted(p)))
		}
	}
	check(rec.Provenance.SourceRef, rec.Line("provenance.sourceRef"))
	for i, ref := range rec.EvidenceRefs {
		check(ref, rec.elementLine("evidenceRefs", i))
	}
}

// ReferencedPath returns the path that a reference names, without a "#fragment" or
// ":line" behind it; ok is false for references of other kinds: with a scheme or
// prefix ("https:", "pr:12", "journal:…"), with white space, "owner/name#12", and
// words that have neither a slash nor an extension.
func ReferencedPath(ref string) (p string, ok bool) {
	p, fragment, _ := strings.Cut(ref, "#")
	if fragment != "" && strings.Trim(fragment, "0123456789") == "" {
		return "", false // an issue of a repository
	}
	if before, after, found := strings.Cut(p, ":"); found {
		if strings.Trim(after, "0123456789:-") != "" {
			return "", false
		}
		p = before // a line, or lines, of a file; or a number with a prefix, which has neither slash nor dot
	}
	if p == "" || strings.ContainsAny(p, " \t\r\n@*?\\") {
		return "", false
	}
	if !strings.Contains(p, "/") {
		ext := path.Ext(p)
		if len(ext) < 2 || strings.Trim(ext[1:2], "0123456789") == "" {
			return "", false
		}
	}
	return path.Clean(p), true
}

// secrets scans a file, its name and, where YAML writes them otherwise than they
// read (escapes, folded lines), its texts.
func (r *result) secrets(name string, data []byte, rec *Record, allow []redact.Allow) {
	for _, f := range redact.FindPath(name) {
		r.add(RuleSecret, 1, "the file's name holds a secret (%s)", f.Rule)
	}
	found, allowed := redact.ScanFile(r.file, data, allow)
	r.allowed += allowed
	for _, f := range found {
		r.add(RuleSecret, f.Line, "line holds a secret (%s)", f.Rule)
		r.findings[len(r.findings)-1].Column = f.Column
	}
	if rec == nil {
		return
	}
	text := func(field, s string, line int) {
		if bytes.Contains(data, []byte(s)) {
			return
		}
		for _, f := range redact.Find(s) {
			if letThrough(r.file, data, line, f.Rule, allow) {
				r.allowed++
			} else {
				r.add(RuleSecret, line, "%s holds a secret (%s)", field, f.Rule)
			}
		}
	}
	text("kind", rec.Kind, rec.Line("kind"))
	text("summary", rec.Summary, rec.Line("summary"))
	text("source reference", rec.Provenance.SourceRef, rec.Line("provenance.sourceRef"))
	text("reason", rec.LifecycleReason, rec.Line("lifecycleReason"))
	for i, ref := range rec.EvidenceRefs {
		text("reference", ref, rec.elementLine("evidenceRefs", i))
	}
}

// letThrough reports whether a reviewer let a secret of a rule pass in the file, or
// on the line where its text begins.
func letThrough(file string, data []byte, line int, rule string, allow []redact.Allow) bool {
	start := offsetOf(data, line, 1)
	end, _ := lineEnd(data, start)
	return bytes.Contains(data[start:end], []byte("gitleaks:allow")) || slices.Contains(allow, redact.Allow{Path: file, Rule: rule})
}

func (c *checker) nearDuplicates() {
	var facts []*Record
	var texts []string
	for _, r := range c.Facts.Records {
		if r.Active() {
			facts = append(facts, r)
			texts = append(texts, r.Summary)
		}
	}
	for _, pair := range similarPairs(texts) {
		a, b := facts[pair[0]], facts[pair[1]]
		folder := path.Join(c.Dir, ".kxm", Folder)
		c.add(RuleNearDuplicate, path.Join(folder, b.File), b.Line("summary"), []string{path.Join(folder, a.File)},
			"facts %s and %s say nearly the same", fault.Quote(a.ID), fault.Quote(b.ID))
	}
}

// instructionFiles checks the blocks, and whether the readers of the files see all
// of them. Whether a block is out of date can be told only of a whole set of
// facts; what is missing in it is a finding of its own.
func (c *checker) instructionFiles() {
	if c.Root == nil {
		return
	}
	whole := c.Facts.Err() == nil
	files := planFiles(c.Root, c.Dir, c.Facts.Facts(ProjectedScopes()...))
	for i := range files {
		f := &files[i]
		named := path.Join(c.Dir, f.Name)
		if f.fault != "" {
			c.add(RuleBlockMalformed, named, 1, nil, "%s %s", f.Name, f.fault)
			continue
		}
		if whole && f.Stale() {
			line := 1
			if start, _, ok := f.markers.block(); ok {
				line += bytes.Count(f.Before[:start], []byte("\n"))
			}
			c.add(RuleBlockStale, named, line, nil, "the memory block of %s is out of date", f.Name)
		}
	}
	c.reach(files)
}

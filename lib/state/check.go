package state

import (
	"bytes"
	"cmp"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"kxm/lib/fault"
	"kxm/lib/item"
)

// Record is an event as it is stored: what [Check] reads.
type Record struct {
	ID         string
	Path       string // in the store's tree; "" where there is none
	Event      []byte
	Signatures []SignatureFile
	Err        error // why the store could not read it; Event is then not looked at
}

// SignatureFile is a signature as it is stored.
type SignatureFile struct {
	Name string
	Data []byte
	Err  error // why the store could not read it; Data is then not looked at
}

// Checked is an event with what its signatures prove.
type Checked struct {
	Event
	ID          string
	Path        string
	Digest      string       // the SHA-256 of the event's file
	Credentials []Credential // signatures that hold, strongest first
	Origin      item.Origin  // of the strongest credential; peer without one
	Problem     *Finding     // why the event is left out; nil if it counts
}

// Verified reports whether any signature of the event counts.
func (c *Checked) Verified() bool { return len(c.Credentials) > 0 && c.Credentials[0].Origin != "" }

// Signer returns the principal of the strongest credential, or "".
func (c *Checked) Signer() string {
	if c.Verified() {
		return c.Credentials[0].Name
	}
	return ""
}

// Set is what a set of records came to.
type Set struct {
	Project string
	Events  []Checked // the project's events of known types, by id
	Foreign int       // events of other projects: left out and counted
	Unknown int       // events of types that this program does not know
	// Findings are of the records that are no events, and warnings about those that are.
	// Why an event of Events is left out stands in its Problem.
	Findings []Finding
}

// Check reads records: parses each event, compares it with its id, verifies its
// signatures and holds it against the ceiling of its origin. The result is a function
// of the set of records: their order does not matter, and neither does it whether an
// event's signatures come in one record or in several.
//
// What concerns two events, such as that no author promotes, is [FoldKey]'s and
// [FoldJournal]'s to say.
func Check(records []Record, t *Trust, project string) Set {
	records = unite(records)
	events := make([]Checked, len(records))
	results := make([]result, len(records))
	parallel(len(records), func(i int) { results[i] = t.check(&records[i], project, &events[i]) })
	s := Set{Project: project, Events: events[:0]}
	for i := range results {
		r := &results[i]
		s.Findings = append(s.Findings, r.findings...)
		switch r.kind {
		case known:
			s.Events = append(s.Events, events[i]) // at i or before it
		case foreign:
			s.Foreign++
		case unknown:
			s.Unknown++
		}
	}
	return s
}

// unite sorts records by id and makes one of those that share an event. The
// signatures of each are in one order, each once.
func unite(records []Record) []Record {
	records = slices.Clone(records)
	slices.SortStableFunc(records, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), bytes.Compare(a.Event, b.Event), cmp.Compare(a.Path, b.Path), cmp.Compare(errorText(a.Err), errorText(b.Err)))
	})
	united := records[:0]
	for _, r := range records {
		if n := len(united); n > 0 && r.Err == nil && united[n-1].Err == nil && r.ID == united[n-1].ID && bytes.Equal(r.Event, united[n-1].Event) {
			last := &united[n-1]
			last.Signatures = append(slices.Clip(last.Signatures), r.Signatures...)
			continue
		}
		united = append(united, r)
	}
	for i := range united {
		if r := &united[i]; len(r.Signatures) > 1 {
			byData := func(a, b SignatureFile) int {
				return cmp.Or(bytes.Compare(a.Data, b.Data), cmp.Compare(errorText(a.Err), errorText(b.Err)))
			}
			r.Signatures = slices.SortedFunc(slices.Values(r.Signatures), byData)
			r.Signatures = slices.CompactFunc(r.Signatures, func(a, b SignatureFile) bool { return byData(a, b) == 0 })
		}
	}
	return united
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

type result struct {
	kind     int
	findings []Finding
}

const (
	broken = iota
	foreign
	unknown
	known
)

// check reads a record; c is set where the result's kind is known.
func (t *Trust) check(r *Record, project string, c *Checked) result {
	refuse := func(rule Rule, message string) result {
		return result{findings: []Finding{newFinding(rule, r.ID, r.Path, "", message)}}
	}
	if r.Err != nil {
		rule := RuleUnreadable
		if fault.Is(r.Err, fault.InvalidStateEvent) {
			rule = RuleMisplaced
		}
		return refuse(rule, reason(r.Err))
	}
	e, err := Parse(r.Event)
	if err != nil {
		return refuse(RuleMalformed, reason(err))
	}
	digest := digestOf(r.Event)
	if id := idOf(digest, e.Clock); id != r.ID {
		return refuse(RuleMisplaced, "the event's content gives the id "+id)
	}
	switch {
	case e.Project != project:
		return result{kind: foreign}
	case !e.Type().Keyed() && !e.Type().journal():
		return result{kind: unknown}
	}
	*c = Checked{Event: e, ID: r.ID, Path: r.Path, Digest: digest, Origin: item.OriginPeer}
	var problems []string
	c.Credentials, problems = t.verify(r.Event, e.Clock, r.Signatures)
	if c.Verified() {
		c.Origin = c.Credentials[0].Origin
	}
	res := result{kind: known}
	add := func(rule Rule, message string) {
		res.findings = append(res.findings, newFinding(rule, c.ID, c.Path, c.Key, message))
	}
	if rule, message := t.leavesOut(c); rule != "" {
		c.Problem = new(Finding)
		*c.Problem = newFinding(rule, c.ID, c.Path, c.Key, message)
	}
	for _, p := range problems {
		add(RuleSignature, p)
	}
	if skew := c.Skew(); skew != 0 {
		add(RuleSkew, "its clock and its writer's wall clock lie "+skew.Abs().String()+" apart")
	}
	if !c.Verified() && t.Signers.PersonNamed(c.Actor) != 0 {
		add(RuleImpersonation, "it is unsigned, and its actor "+fault.Quote(masked(c.Actor))+" is an allowed signer's name")
	}
	return res
}

// leavesOut returns why an event by itself does not count, or "".
func (t *Trust) leavesOut(c *Checked) (Rule, string) {
	switch {
	case t.RequireSigned && !c.Verified():
		return RuleUnsigned, "it has no signature that counts, and [state] requireSigned asks for one"
	case needsDecider(c.Type()) && !decides(c.Origin):
		return RuleUncredentialed, "a " + string(c.Type()) + " counts only with a human or workflow signature"
	}
	if p, ok := c.Body.(*Proposal); ok && p.Authority.Rank() > c.Origin.Ceiling().Rank() {
		return RuleCeiling, "it claims " + string(p.Authority) + " authority, and its origin " + string(c.Origin) + " allows at most " + string(c.Origin.Ceiling())
	}
	return "", ""
}

// needsDecider reports whether events of the type count only with a human or workflow
// signature.
func needsDecider(t Type) bool { return t == TypePromote || t == TypeReject || t == TypeReview }

// signedBy reports whether the person who holds a credential wrote or signed an event.
func (t *Trust) signedBy(c *Checked, by Credential) bool {
	who := t.Signers.PersonOf(by.Key)
	if who == 0 {
		return false
	}
	if t.Signers.PersonNamed(c.Actor) == who {
		return true
	}
	return slices.ContainsFunc(c.Credentials, func(other Credential) bool { return t.Signers.PersonOf(other.Key) == who })
}

// reason returns an error's message without its place and code.
func reason(err error) string {
	var e *fault.Error
	if errors.As(err, &e) {
		return masked(e.Message)
	}
	return masked(fault.Printable(err.Error()))
}

// parallel calls do for 0 to n-1 on all cores.
func parallel(n int, do func(i int)) {
	const chunk = 16 // an event takes about 5 µs, with a signature 100
	workers := min(runtime.GOMAXPROCS(0), (n+chunk-1)/chunk)
	if workers <= 1 {
		for i := range n {
			do(i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				from := int(next.Add(chunk)) - chunk
				if from >= n {
					return
				}
				for i := from; i < min(from+chunk, n); i++ {
					do(i)
				}
			}
		})
	}
	wg.Wait()
}

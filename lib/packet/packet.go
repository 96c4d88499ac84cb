package packet

import (
	"encoding/json"
	"slices"

	"kxm/lib/item"
	"kxm/lib/ndjson"
	"kxm/lib/rank"
)

// Schema is the packet's form.
const Schema = "kxm.context-packet.v1"

const (
	packetIDPrefix = "ctxpkt_"
	idDigits       = 16 // hexadecimal, of an id that is a digest
)

// Packet is the answer to a request. Every selected item stands in exactly one
// section, in the order of selection.
type Packet struct {
	Schema            string          `json:"schema"`
	PacketID          string          `json:"packetId"` // "ctxpkt_" and 16 hex digits of the digest of the rest
	WorkingState      json.RawMessage `json:"workingState"`
	CurrentState      []item.Item     `json:"currentState"`
	Knowledge         []item.Item     `json:"knowledge"`
	Evidence          []item.Item     `json:"evidence"`
	Episodes          []item.Item     `json:"episodes"`
	Skills            []item.Item     `json:"skills"`
	Contradictions    []item.Item     `json:"contradictions"`
	UnresolvedGaps    []string        `json:"unresolvedGaps"`
	ProvenanceSummary map[string]int  `json:"provenanceSummary"` // selected items by origin
	EstimatedTokens   int             `json:"estimatedTokens"`
}

// Audit says how the packet came about, in ids and numbers; only the request may
// hold the caller's own text.
type Audit struct {
	Request            AuditRequest   `json:"request"`
	SelectedIDs        []string       `json:"selectedIds"`
	ProvenanceSummary  map[string]int `json:"provenanceSummary"`
	EstimatedTokens    int            `json:"estimatedTokens"`
	BudgetTokens       int            `json:"budgetTokens"`
	CandidateCount     int            `json:"candidateCount"`
	ExcludedSuperseded int            `json:"excludedSuperseded"`
	UnresolvedGaps     []string       `json:"unresolvedGaps"`
	Relevance          Relevance      `json:"relevance"`
	Candidates         []Candidate    `json:"candidates,omitzero"` // nil: not asked for
}

// AuditRequest is what was asked for, without defaults.
type AuditRequest struct {
	Project       string      `json:"project,omitempty"`
	Role          string      `json:"role"`
	Task          string      `json:"task,omitempty"`
	BudgetTokens  int         `json:"budgetTokens,omitempty"`
	IncludeKinds  []item.Kind `json:"includeKinds,omitempty"`
	WorkflowRunID string      `json:"workflowRunId,omitempty"`
	StageID       string      `json:"stageId,omitempty"`
}

// Relevance holds numbers only.
type Relevance struct {
	TaskTokens        int       `json:"taskTokens"`        // distinct words of the task
	MatchedCandidates int       `json:"matchedCandidates"` // eligible items that share one
	Selected          []float64 `json:"selected"`          // scores of selectedIds, rounded
}

// Candidate is a live item with its nine keys, for --why. Place is 0 where the item
// was not eligible; it then has no score.
type Candidate struct {
	ID      string  `json:"id"`
	Place   int     `json:"place"`
	Outcome Outcome `json:"outcome"`
	Keys    Keys    `json:"keys"`
	Terms   []Term  `json:"terms"`
}

// Term is a word of the task that an item holds and what it adds to the score;
// numbers are rounded as scores are.
type Term struct {
	Term  string  `json:"term"`
	IDF   float64 `json:"idf"` // inverse document frequency among the eligible items
	TF    int     `json:"tf"`  // how often the item holds it
	Score float64 `json:"score"`
}

// Keys are what items are ordered by, in this order; the ninth is the id.
type Keys struct {
	Contradiction bool            `json:"contradiction"`
	Shared        bool            `json:"shared"`
	Matched       bool            `json:"matched"`
	KindOrder     int             `json:"kindOrder"`
	Score         float64         `json:"score"`
	Confidence    item.Confidence `json:"confidence"`
	Authority     item.Authority  `json:"authority"`
	Newest        string          `json:"newest,omitempty"`
	ID            string          `json:"id"`
}

// Packet builds the packet. The working state is the caller's JSON object, already
// masked; nil is an empty one.
func (s *Selection) Packet(workingState json.RawMessage) (Packet, error) {
	if workingState == nil {
		workingState = json.RawMessage("{}")
	}
	p := Packet{
		Schema: Schema, WorkingState: workingState,
		CurrentState: []item.Item{}, Knowledge: []item.Item{}, Evidence: []item.Item{},
		Episodes: []item.Item{}, Skills: []item.Item{}, Contradictions: []item.Item{},
		UnresolvedGaps: s.gapList(), ProvenanceSummary: s.provenance(), EstimatedTokens: item.Tokens(s.size),
	}
	for _, c := range s.chosen {
		section := p.section(c.item.Kind)
		if c.candidate.contradiction {
			section = &p.Contradictions
		}
		*section = append(*section, c.item)
	}
	raw, err := ndjson.Marshal(p)
	if err != nil {
		return Packet{}, err
	}
	digest, err := ndjson.Digest(raw, "packetId")
	if err != nil {
		return Packet{}, err
	}
	p.PacketID = packetIDPrefix + digest[:idDigits]
	return p, nil
}

func (p *Packet) section(k item.Kind) *[]item.Item {
	switch k {
	case item.KindState:
		return &p.CurrentState
	case item.KindEvidence:
		return &p.Evidence
	case item.KindEpisode:
		return &p.Episodes
	case item.KindSkill:
		return &p.Skills
	}
	return &p.Knowledge
}

// Audit builds the audit; why adds every live item. The mask is applied to the
// request's text and to the ids of items that were not selected.
func (s *Selection) Audit(asked AuditRequest, why bool, mask func(string) string) Audit {
	a := Audit{
		Request: asked, SelectedIDs: []string{}, ProvenanceSummary: s.provenance(),
		EstimatedTokens: item.Tokens(s.size), BudgetTokens: s.request.Budget,
		CandidateCount: s.considered, ExcludedSuperseded: s.superseded, UnresolvedGaps: s.gapList(),
		Relevance: Relevance{TaskTokens: len(s.query.Terms()), Selected: []float64{}},
	}
	for _, text := range []*string{&a.Request.Project, &a.Request.Role, &a.Request.Task, &a.Request.WorkflowRunID, &a.Request.StageID} {
		*text = mask(*text)
	}
	for _, c := range s.eligible {
		if c.score > 0 {
			a.Relevance.MatchedCandidates++
		}
	}
	for _, c := range s.chosen {
		a.SelectedIDs = append(a.SelectedIDs, c.item.ID)
		a.Relevance.Selected = append(a.Relevance.Selected, rank.Round(c.candidate.score))
	}
	if why {
		a.Candidates = s.candidates(mask)
	}
	return a
}

func (s *Selection) candidates(mask func(string) string) []Candidate {
	all := make([]Candidate, 0, len(s.eligible)+len(s.others))
	for _, c := range slices.Concat(s.eligible, s.others) {
		id := mask(c.item.ID)
		row := Candidate{ID: id, Place: c.place, Outcome: c.outcome, Terms: []Term{}, Keys: Keys{
			Contradiction: c.contradiction, Shared: c.shared, Matched: c.score > 0, KindOrder: c.kindOrder, Score: rank.Round(c.score),
			Confidence: c.item.Confidence, Authority: c.item.Authority, ID: id,
		}}
		if c.item.ObservedAt != "" {
			row.Keys.Newest = c.item.ObservedAt
		} else {
			row.Keys.Newest = c.item.ValidFrom
		}
		if c.place > 0 && c.score > 0 {
			for _, t := range s.collection.Explain(c.tally) {
				row.Terms = append(row.Terms, Term{t.Term, rank.Round(t.IDF), t.TF, rank.Round(t.Score)})
			}
		}
		all = append(all, row)
	}
	return all
}

func (s *Selection) gapList() []string { return append([]string{}, s.gaps...) }

func (s *Selection) provenance() map[string]int {
	counts := map[string]int{}
	for _, c := range s.chosen {
		counts[string(c.item.Provenance.SourceType)]++
	}
	return counts
}

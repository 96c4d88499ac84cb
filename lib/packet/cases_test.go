package packet

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/kxmtest"
)

func same(it item.Item) item.Item { return it }

func plain(s string) string { return s }

func poolOf(t *testing.T, raw []json.RawMessage) (item.Pool, error) {
	t.Helper()
	var text strings.Builder
	for _, r := range raw {
		text.Write(r)
		text.WriteByte('\n')
	}
	return item.ReadPool(strings.NewReader(text.String()), "stdin")
}

func ids(items []item.Item) []string {
	out := []string{}
	for i := range items {
		out = append(out, items[i].ID)
	}
	return out
}

type wantError struct{ Code fault.Code }

func TestArbiterCases(t *testing.T) {
	type request struct {
		Project, Role, Task string
		BudgetTokens        int
		IncludeKinds        []item.Kind
		WorkflowRunID       string `json:"workflowRunId"`
		StageID             string `json:"stageId"`
	}
	kxmtest.Cases(t, "arbiter", func(t *testing.T, line int, c struct {
		Name           string
		Request        request
		Pool           []json.RawMessage
		Contradictions []string
		Want           *struct {
			Sections           map[string][]string
			UnresolvedGaps     []string
			ProvenanceSummary  map[string]int
			EstimatedTokens    int
			SelectedIDs        []string `json:"selectedIds"`
			CandidateCount     int
			ExcludedSuperseded int
			BudgetTokens       int
			Relevance          Relevance
		}
		WantError *wantError
	}) {
		t.Run(c.Name, func(t *testing.T) {
			pool, err := poolOf(t, c.Pool)
			if err != nil {
				t.Fatal(err)
			}
			slices.Reverse(pool.Items) // the order of the stream decides nothing
			r := Request{
				Project: c.Request.Project, Role: FindRole(Roles(nil), c.Request.Role), Task: c.Request.Task, Budget: c.Request.BudgetTokens,
				Kinds: c.Request.IncludeKinds, RunID: c.Request.WorkflowRunID, StageID: c.Request.StageID,
				Contradictions: c.Contradictions, Share: DefaultShare,
			}
			s, err := Select(pool, r, same)
			if c.WantError != nil {
				if !fault.Is(err, c.WantError.Code) {
					t.Fatalf("got %v, want %s", err, c.WantError.Code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			p, err := s.Packet(nil)
			if err != nil {
				t.Fatal(err)
			}
			a := s.Audit(AuditRequest{}, true, plain)
			got := map[string][]string{
				"currentState": ids(p.CurrentState), "knowledge": ids(p.Knowledge), "evidence": ids(p.Evidence),
				"episodes": ids(p.Episodes), "skills": ids(p.Skills), "contradictions": ids(p.Contradictions),
			}
			for _, d := range []struct {
				what      string
				got, want any
			}{
				{"sections", got, c.Want.Sections},
				{"gaps", p.UnresolvedGaps, c.Want.UnresolvedGaps},
				{"provenance", p.ProvenanceSummary, c.Want.ProvenanceSummary},
				{"tokens", p.EstimatedTokens, c.Want.EstimatedTokens},
				{"selected", a.SelectedIDs, c.Want.SelectedIDs},
				{"candidates", a.CandidateCount, c.Want.CandidateCount},
				{"superseded", a.ExcludedSuperseded, c.Want.ExcludedSuperseded},
				{"budget", a.BudgetTokens, c.Want.BudgetTokens},
				{"relevance", a.Relevance, c.Want.Relevance},
			} {
				if !reflect.DeepEqual(d.got, d.want) {
					t.Errorf("%s:\n got %v\nwant %v", d.what, d.got, d.want)
				}
			}
		})
	})
}

func TestRecallCases(t *testing.T) {
	kxmtest.Cases(t, "recall", func(t *testing.T, line int, c struct {
		Query     string
		Limit     *int
		Kinds     []item.Kind
		Pool      []json.RawMessage
		Want      *Recall
		WantError *wantError
	}) {
		pool, err := poolOf(t, c.Pool)
		if err != nil {
			t.Fatal(err)
		}
		limit := DefaultRecallLimit
		if c.Limit != nil {
			limit = *c.Limit
		}
		got, err := Search(pool, RecallRequest{Project: "demo", Query: c.Query, Kinds: c.Kinds, Limit: limit}, plain)
		if c.WantError != nil {
			if !fault.Is(err, c.WantError.Code) {
				t.Fatalf("recall:%d: got %v, want %s", line, err, c.WantError.Code)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, *c.Want) {
			t.Errorf("recall:%d: %q\n got %+v\nwant %+v", line, c.Query, got, *c.Want)
		}
	})
}

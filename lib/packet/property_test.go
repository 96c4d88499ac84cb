package packet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/ndjson"
)

// build selects and builds a packet and its full audit.
func build(t testing.TB, pool item.Pool, r Request, mask Mask, workingState json.RawMessage) (Packet, Audit) {
	t.Helper()
	s, err := Select(pool, r, mask)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Packet(workingState)
	if err != nil {
		t.Fatal(err)
	}
	return p, s.Audit(AuditRequest{Project: r.Project, Role: r.Role.Name, Task: r.Task}, true, plain)
}

// sections returns the packet's items under their section's name.
func sections(p *Packet) map[string][]item.Item {
	return map[string][]item.Item{
		"contradictions": p.Contradictions, "state": p.CurrentState, "knowledge": p.Knowledge,
		"evidence": p.Evidence, "episode": p.Episodes, "skill": p.Skills,
	}
}

func size(items ...item.Item) int {
	n := 0
	for _, it := range items {
		n += it.Size()
	}
	return n
}

// percent is a share as the whole number that the generator's shares are.
func percent(share float64) int { return int(math.Round(100 * share)) }

func eachMask(t *testing.T, pool item.Pool, r Request, check func(name string, mask Mask, p Packet, a Audit)) {
	t.Helper()
	for _, name := range []string{"as it is", "longer", "shorter"} {
		p, a := build(t, pool, r, masks[name], nil)
		check(name, masks[name], p, a)
	}
}

func TestPacketNeverExceedsBudgetOrShare(t *testing.T) {
	eachPool(t, func(t *testing.T, g generator, pool item.Pool, r Request) {
		eachMask(t, pool, r, func(name string, mask Mask, p Packet, a Audit) {
			budget := r.Budget
			if budget == 0 {
				budget = r.Role.Budget
			}
			total, count := 0, 0
			for _, items := range sections(&p) {
				total += size(items...)
				count += len(items)
			}
			if tokens := (total + 3) / 4; tokens > budget || p.EstimatedTokens != tokens || a.EstimatedTokens != tokens || a.BudgetTokens != budget {
				t.Errorf("%s: %d tokens, told as %d and %d, in a budget of %d, told as %d", name, tokens, p.EstimatedTokens, a.EstimatedTokens, budget, a.BudgetTokens)
			}
			if tokens := (size(p.Contradictions...) + 3) / 4; 100*tokens > percent(r.Share)*budget {
				t.Errorf("%s: contradictions take %d tokens of %d, their share is %v", name, tokens, budget, r.Share)
			}
			if count > MaxItems {
				t.Errorf("%s: %d items", name, count)
			}
		})
	})
}

func TestSelectionIsThatOfTheRules(t *testing.T) {
	reached := map[string]int{}
	eachPool(t, func(t *testing.T, g generator, pool item.Pool, r Request) {
		eachMask(t, pool, r, func(name string, mask Mask, p Packet, a Audit) {
			want := expect(pool, r, mask)
			byID := map[string]item.Item{}
			for _, it := range pool.Items {
				byID[it.ID] = it
			}
			selected, bySection := []string{}, map[string][]string{}
			for _, id := range want.selected {
				printed := mask(byID[id]).ID
				selected = append(selected, printed)
				section := string(byID[id].Kind)
				if want.contradiction[id] {
					section = "contradictions"
				}
				bySection[section] = append(bySection[section], printed)
			}
			if !slices.Equal(a.SelectedIDs, selected) {
				t.Errorf("%s: selected\n %v\nwant\n %v", name, a.SelectedIDs, selected)
			}
			for section, items := range sections(&p) {
				if got := ids(items); !slices.Equal(got, bySection[section]) {
					t.Errorf("%s: section %s holds %v, want %v", name, section, got, bySection[section])
				}
			}
			if !slices.Equal(p.UnresolvedGaps, want.gaps) || !slices.Equal(a.UnresolvedGaps, want.gaps) {
				t.Errorf("%s: gaps\n %q\n %q\nwant\n %q", name, p.UnresolvedGaps, a.UnresolvedGaps, want.gaps)
			}
			if a.CandidateCount != want.considered || a.ExcludedSuperseded != want.superseded {
				t.Errorf("%s: %d candidates and %d superseded, want %d and %d", name, a.CandidateCount, a.ExcludedSuperseded, want.considered, want.superseded)
			}
			got := map[string]Outcome{}
			for _, c := range a.Candidates {
				if _, twice := got[c.ID]; twice {
					t.Errorf("%s: --why names %s twice", name, c.ID)
				}
				got[c.ID] = c.Outcome
				if score := want.scores[c.ID]; math.Abs(score-c.Keys.Score) > 0.0006 {
					t.Errorf("%s: %s has score %v, want %v", name, c.ID, c.Keys.Score, score)
				}
				reached[string(c.Outcome)]++
			}
			if !reflect.DeepEqual(got, want.outcomes) {
				t.Errorf("%s: outcomes\n %v\nwant\n %v", name, got, want.outcomes)
			}
			for _, gap := range want.gaps {
				reached[strings.Trim(strings.Map(func(r rune) rune {
					if '0' <= r && r <= '9' {
						return -1
					}
					return r
				}, gap), " ")]++
			}
		})
	})
	// What no pool leads to is not tested.
	for _, what := range []string{
		"selected", "deferred-budget", "deferred-limit", "inert", "kind", "category", "run",
		"context item limit reached; refine the task or kinds", "budget of  tokens cannot fit any selected context",
		"budget of  tokens reached;  candidates deferred", "contradictions deferred", "no context records exist for this project yet",
	} {
		if reached[what] == 0 {
			t.Errorf("no pool led to %q: %v", what, reached)
		}
	}
}

func TestEveryItemOfThePacketIsInOneSection(t *testing.T) {
	eachPool(t, func(t *testing.T, g generator, pool item.Pool, r Request) {
		p, a := build(t, pool, r, same, nil)
		where := map[string]string{}
		origins := map[string]int{}
		for section, items := range sections(&p) {
			for i := range items {
				if other, twice := where[items[i].ID]; twice {
					t.Errorf("%s is in %s and in %s", items[i].ID, other, section)
				}
				where[items[i].ID] = section
				origins[string(items[i].Provenance.SourceType)]++
				if section != "contradictions" && section != string(items[i].Kind) {
					t.Errorf("%s of kind %s is in %s", items[i].ID, items[i].Kind, section)
				}
				original := slices.IndexFunc(pool.Items, func(it item.Item) bool { return it.ID == items[i].ID })
				if !item.Equal(&items[i], &pool.Items[original]) {
					t.Errorf("%s is not as it was", items[i].ID)
				}
			}
		}
		if len(where) != len(a.SelectedIDs) || len(where) != len(a.Relevance.Selected) {
			t.Errorf("%d items in sections, %d ids, %d scores", len(where), len(a.SelectedIDs), len(a.Relevance.Selected))
		}
		if !reflect.DeepEqual(origins, p.ProvenanceSummary) || !reflect.DeepEqual(origins, a.ProvenanceSummary) {
			t.Errorf("origins %v, told as %v and %v", origins, p.ProvenanceSummary, a.ProvenanceSummary)
		}
	})
}

func TestWhyAgreesWithThePacket(t *testing.T) {
	eachPool(t, func(t *testing.T, g generator, pool item.Pool, r Request) {
		_, a := build(t, pool, r, same, nil)
		var selected []string
		eligible, matched := 0, 0
		for i, c := range a.Candidates {
			switch c.Outcome {
			case Selected, DeferredBudget, DeferredLimit:
				eligible++
				if c.Place != i+1 || c.Place != eligible {
					t.Errorf("%s, number %d, has place %d", c.ID, i+1, c.Place)
				}
			default:
				if c.Place != 0 || c.Keys.Score != 0 || len(c.Terms) != 0 {
					t.Errorf("%s is not eligible but has place %d, score %v, terms %v", c.ID, c.Place, c.Keys.Score, c.Terms)
				}
				if i > eligible && a.Candidates[i-1].ID >= c.ID {
					t.Errorf("%s stands behind %s", c.ID, a.Candidates[i-1].ID)
				}
			}
			if c.Outcome == Selected {
				selected = append(selected, c.ID)
				if score := a.Relevance.Selected[len(selected)-1]; score != c.Keys.Score {
					t.Errorf("%s: scores %v and %v", c.ID, score, c.Keys.Score)
				}
			}
			sum := 0.0
			for _, term := range c.Terms {
				sum += term.Score
				if term.TF < 1 || term.IDF <= 0 || term.Score <= 0 {
					t.Errorf("%s: term %+v", c.ID, term)
				}
			}
			// Each number is rounded to a thousandth.
			if math.Abs(sum-c.Keys.Score) > 0.0005*float64(len(c.Terms)+1)+1e-9 || c.Keys.Matched != (len(c.Terms) > 0) {
				t.Errorf("%s: score %v, matched %v, terms %+v", c.ID, c.Keys.Score, c.Keys.Matched, c.Terms)
			}
			if c.Keys.Matched {
				matched++
			}
			if c.Keys.ID != c.ID {
				t.Errorf("%s has %s for its ninth key", c.ID, c.Keys.ID)
			}
		}
		if !slices.Equal(selected, a.SelectedIDs) && len(selected)+len(a.SelectedIDs) > 0 {
			t.Errorf("why selects %v, the audit %v", selected, a.SelectedIDs)
		}
		if matched != a.Relevance.MatchedCandidates {
			t.Errorf("%d matched, told as %d", matched, a.Relevance.MatchedCandidates)
		}
		for _, it := range pool.Items {
			alive := it.Status != item.StatusSuperseded && it.Status != item.StatusRejected
			if named := slices.ContainsFunc(a.Candidates, func(c Candidate) bool { return c.ID == it.ID }); named != alive {
				t.Errorf("%s: live %v, named %v", it.ID, alive, named)
			}
		}
	})
}

func TestWhyIsAListOnlyWhereItIsAskedFor(t *testing.T) {
	s, err := Select(item.Pool{}, Request{Project: "demo", Role: FindRole(Roles(nil), "planner")}, same)
	if err != nil {
		t.Fatal(err)
	}
	for why, want := range map[bool]string{true: `"candidates":[]`, false: ""} {
		raw, err := ndjson.Marshal(s.Audit(AuditRequest{}, why, plain))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), `"candidates":`) != why || !strings.Contains(string(raw), want) {
			t.Errorf("why %v: %s", why, raw)
		}
	}
}

func TestOrderOfThePoolDecidesNothing(t *testing.T) {
	answer := func(pool item.Pool, r Request, mask Mask) string {
		p, a := build(t, pool, r, mask, json.RawMessage(`{"step":1}`))
		raw, err := ndjson.Marshal(struct {
			Packet Packet
			Audit  Audit
		}{p, a})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw) + "\n" + string(p.Markdown())
	}
	eachPool(t, func(t *testing.T, g generator, pool item.Pool, r Request) {
		mask := masks[pick(g, "as it is", "longer", "shorter")]
		first := answer(pool, r, mask)
		for range 3 {
			g.Shuffle(len(pool.Items), func(i, j int) { pool.Items[i], pool.Items[j] = pool.Items[j], pool.Items[i] })
			g.Shuffle(len(pool.Gaps), func(i, j int) { pool.Gaps[i], pool.Gaps[j] = pool.Gaps[j], pool.Gaps[i] })
			g.Shuffle(len(r.Contradictions), func(i, j int) {
				r.Contradictions[i], r.Contradictions[j] = r.Contradictions[j], r.Contradictions[i]
			})
			if again := answer(pool, r, mask); again != first {
				t.Errorf("shuffled, the answer is\n%s\nwas\n%s", again, first)
			}
		}
	})
}

// A large pool is worked on by all processors.
func TestOrderOfALargePoolDecidesNothing(t *testing.T) {
	g := newGenerator(1)
	var pool item.Pool
	for i := range parallelFrom + 777 {
		pool.Items = append(pool.Items, g.item(i, parallelFrom))
	}
	r := Request{Project: "demo", Role: FindRole(Roles(nil), "implementer"), Task: "release branch database", Share: DefaultShare}
	first, _ := build(t, pool, r, same, nil)
	want := expect(pool, r, same)
	if len(want.selected) < 50 {
		t.Fatalf("only %d selected", len(want.selected))
	}
	g.Shuffle(len(pool.Items), func(i, j int) { pool.Items[i], pool.Items[j] = pool.Items[j], pool.Items[i] })
	again, a := build(t, pool, r, same, nil)
	if !reflect.DeepEqual(first, again) || !slices.Equal(a.SelectedIDs, want.selected) {
		t.Error("the order of a large pool decides something")
	}
}

func TestMaskingMayPushOutButNeverOverfill(t *testing.T) {
	make := func(id string, length int) item.Item {
		return item.Item{
			ID: id, Kind: item.KindKnowledge, Project: "demo", Summary: strings.Repeat("x", length), Authority: item.AuthorityEvidence,
			Confidence: item.ConfidenceVerified, Provenance: item.Provenance{SourceType: item.OriginGit},
		}
	}
	const overhead = len("a") + len("knowledge")
	longer := func(by int) Mask {
		return func(it item.Item) item.Item {
			if it.ID == "a" {
				it.Summary += strings.Repeat("y", by)
			}
			return it
		}
	}
	r := Request{Project: "demo", Role: FindRole(Roles(nil), "critic"), Budget: 512, Share: DefaultShare}
	pool := item.Pool{Items: []item.Item{make("a", 4*512-overhead-8), make("b", 4)}}
	for _, c := range []struct {
		by   int
		want []string
		gap  string
	}{
		{0, []string{"a"}, "budget of 512 tokens reached; 1 candidates deferred"},
		{8, []string{"a"}, "budget of 512 tokens reached; 1 candidates deferred"},
		{9, []string{"b"}, "budget of 512 tokens reached; 1 candidates deferred"},
		{4000, []string{"b"}, "budget of 512 tokens reached; 1 candidates deferred"},
	} {
		p, a := build(t, pool, r, longer(c.by), nil)
		if !slices.Equal(a.SelectedIDs, c.want) || !slices.Equal(p.UnresolvedGaps, []string{c.gap}) || p.EstimatedTokens > 512 {
			t.Errorf("%d longer: %v, %q, %d tokens; want %v, %q", c.by, a.SelectedIDs, p.UnresolvedGaps, p.EstimatedTokens, c.want, c.gap)
		}
	}
	// The same for the share of contradictions: here masking alone pushes the item over.
	r.Contradictions = []string{"a"}
	pool.Items[0] = make("a", 4*256-overhead)
	for by, want := range map[int][]string{0: {"a", "b"}, 1: {"b"}} {
		p, a := build(t, pool, r, longer(by), nil)
		if !slices.Equal(a.SelectedIDs, want) || (len(p.UnresolvedGaps) > 0) != (by > 0) {
			t.Errorf("%d longer: %v, %q; want %v", by, a.SelectedIDs, p.UnresolvedGaps, want)
		}
		if by > 0 && !slices.Equal(p.UnresolvedGaps, []string{"1 contradictions deferred"}) {
			t.Errorf("gaps %q", p.UnresolvedGaps)
		}
	}
}

// The share is a decimal fraction: 0.29 of 8,000 is 2,320, whatever binary fractions
// make of it.
func TestShareIsExact(t *testing.T) {
	for _, c := range []struct {
		budget, tokens int
		share          float64
	}{{8000, 2320, 0.29}, {1000, 290, 0.29}, {1000, 570, 0.57}, {512, 256, 0.5}, {513, 256, 0.5}, {512, 512, 1}, {700, 490, 0.7}, {100_000, 58_000, 0.58}} {
		for _, length := range []int{0, 1} {
			it := item.Item{
				ID: "a", Kind: item.KindKnowledge, Project: "demo", Authority: item.AuthorityEvidence, Confidence: item.ConfidenceVerified,
				Provenance: item.Provenance{SourceType: item.OriginGit}, Summary: strings.Repeat("x", 4*c.tokens-len("aknowledge")+length),
			}
			r := Request{Project: "demo", Role: FindRole(Roles(nil), "critic"), Budget: c.budget, Share: c.share, Contradictions: []string{"a"}}
			p, _ := build(t, item.Pool{Items: []item.Item{it}}, r, same, nil)
			if (len(p.Contradictions) == 1) != (length == 0) {
				t.Errorf("a contradiction of %d tokens and %d characters in %v of %d: %d taken", c.tokens, length, c.share, c.budget, len(p.Contradictions))
			}
		}
	}
}

func TestPacketIDIsTheDigestOfTheRest(t *testing.T) {
	states := []string{
		`{}`, `{"b":[1,2,{"x":null}],"a":"é\u2028<&>","\ud83d\ude00":true,"\uffff":false,"":"\u0007\"\\"}`,
		`{"n":[1.50,-0,1e3,123456789]}`,
	}
	seen := map[string]string{}
	eachPool(t, func(t *testing.T, g generator, pool item.Pool, r Request) {
		p, _ := build(t, pool, r, same, json.RawMessage(pick(g, states...)))
		raw, err := ndjson.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if err := json.Unmarshal(raw, &object); err != nil {
			t.Fatal(err)
		}
		delete(object, "packetId")
		text := canonical(object)
		if want := "ctxpkt_" + digestOf(text); p.PacketID != want {
			t.Errorf("packet id %s, want %s of %s", p.PacketID, want, text)
		}
		if other, ok := seen[p.PacketID]; ok && other != text {
			t.Errorf("two packets share the id %s", p.PacketID)
		}
		seen[p.PacketID] = text
	})
	if len(seen) < 100 {
		t.Errorf("only %d different packets", len(seen))
	}
}

// digestOf is as much of a text's digest as ids hold.
func digestOf(text string) string {
	digest := sha256.Sum256([]byte(text))
	return hex.EncodeToString(digest[:8])
}

// canonical is RFC 8785 for the values above, written from the RFC: keys by UTF-16
// code units, the shortest escapes, numbers as ECMAScript prints them.
func canonical(v any) string {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.SortFunc(keys, func(a, b string) int { return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b))) })
		parts := []string{}
		for _, k := range keys {
			parts = append(parts, canonical(k)+":"+canonical(v[k]))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		parts := []string{}
		for _, e := range v {
			parts = append(parts, canonical(e))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case string:
		var b strings.Builder
		for _, r := range v {
			switch {
			case r == '"' || r == '\\':
				b.WriteString(`\` + string(r))
			case r < ' ':
				short := strings.IndexRune("\b\t\n\f\r", r)
				if short >= 0 {
					b.WriteString(`\` + "btnfr"[short:short+1])
				} else {
					fmt.Fprintf(&b, `\u%04x`, r)
				}
			default:
				b.WriteRune(r)
			}
		}
		return `"` + b.String() + `"`
	case float64:
		if v == 0 {
			return "0" // also of -0
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return fmt.Sprint(v)
	}
	return "null"
}

func TestForeignItemRefusesEveryRequest(t *testing.T) {
	eachPool(t, func(t *testing.T, g generator, pool item.Pool, r Request) {
		if len(pool.Items) == 0 {
			return
		}
		at := g.IntN(len(pool.Items))
		pool.Items[at].Project = pick(g, "other", "Demo", "demo ", "_Shared")
		_, selected := Select(pool, r, same)
		_, found := Search(pool, RecallRequest{Project: r.Project, Limit: 5}, plain)
		_, explained := Explain(pool, r.Project, pool.Items[0].ID, plain)
		for _, err := range []error{selected, found, explained} {
			if !fault.Is(err, fault.ContextIsolationViolation) || !strings.Contains(err.Error(), `"`+pool.Items[at].ID+`"`) {
				t.Errorf("%v", err)
			}
		}
	})
}

package item_test

import (
	"encoding/json"
	"testing"
	"time"

	"kxm/lib/fault"
	"kxm/lib/item"
)

func TestRanksAndCeilings(t *testing.T) {
	order := []item.Authority{"", item.AuthorityHypothesis, item.AuthorityEvidence, item.AuthorityInstruction, item.AuthorityPolicy}
	for i, a := range order {
		if a.Rank() != i || a.Valid() != (i > 0) {
			t.Errorf("authority %q: rank %d, valid %v", a, a.Rank(), a.Valid())
		}
	}
	for i, c := range []item.Confidence{"sure", item.ConfidenceUncertain, item.ConfidenceProbable, item.ConfidenceVerified} {
		if c.Rank() != i || c.Valid() != (i > 0) {
			t.Errorf("confidence %q: rank %d, valid %v", c, c.Rank(), c.Valid())
		}
	}
	for origin, want := range map[item.Origin]item.Authority{
		item.OriginHuman: item.AuthorityPolicy, item.OriginWorkflow: item.AuthorityPolicy, item.OriginGit: item.AuthorityInstruction,
		item.OriginPeer: item.AuthorityEvidence, item.OriginTool: item.AuthorityEvidence, item.OriginExternal: item.AuthorityEvidence,
		item.OriginDerived: item.AuthorityEvidence, "robot": item.AuthorityHypothesis,
	} {
		if got := origin.Ceiling(); got != want {
			t.Errorf("ceiling of %s is %s", origin, got)
		}
	}
	for _, authority := range order[1:] {
		for _, origin := range []item.Origin{item.OriginHuman, item.OriginGit, item.OriginWorkflow, item.OriginTool, item.OriginPeer, item.OriginExternal, item.OriginDerived} {
			it := item.Item{ID: "a", Kind: item.KindEvidence, Project: "p", Summary: "s", Provenance: item.Provenance{SourceType: origin},
				Authority: authority, Confidence: item.ConfidenceProbable}
			err := it.Check()
			if refused := authority.Rank() > origin.Ceiling().Rank(); refused != fault.Is(err, fault.ContextAuthorityViolation) || refused != (err != nil) {
				t.Errorf("%s claims %s: %v", origin, authority, err)
			}
		}
	}
}

func TestTheListsOfValuesAreTheCallers(t *testing.T) {
	item.Kinds()[0] = "x"
	item.JournalCategories()[0] = "x"
	if kinds := item.Kinds(); len(kinds) != 5 || !kinds[0].Valid() {
		t.Errorf("kinds: %q", kinds)
	}
	if categories := item.JournalCategories(); len(categories) != 10 || categories[0] != "plan" {
		t.Errorf("categories: %q", categories)
	}
}

func TestDerivedAuthorityNeverRises(t *testing.T) {
	of := func(a item.Authority, s item.Status) item.Item { return item.Item{Authority: a, Status: s} }
	for _, c := range []struct {
		claim     item.Authority
		ancestors []item.Item
		want      item.Authority
	}{
		{item.AuthorityPolicy, nil, item.AuthorityHypothesis},
		{item.AuthorityPolicy, []item.Item{of("policy", "")}, item.AuthorityEvidence},
		{item.AuthorityHypothesis, []item.Item{of("policy", "current")}, item.AuthorityHypothesis},
		{item.AuthorityEvidence, []item.Item{of("hypothesis", "")}, item.AuthorityHypothesis},
		{item.AuthorityInstruction, []item.Item{of("hypothesis", ""), of("evidence", "proposed")}, item.AuthorityEvidence},
		{item.AuthorityEvidence, []item.Item{of("policy", "superseded"), of("policy", "rejected")}, item.AuthorityHypothesis},
		{item.AuthorityEvidence, []item.Item{of("policy", "superseded"), of("hypothesis", "")}, item.AuthorityHypothesis},
		{"", []item.Item{of("policy", "")}, item.AuthorityHypothesis},
		{"root", []item.Item{of("policy", "")}, item.AuthorityHypothesis},
		{item.AuthorityEvidence, []item.Item{of("root", "")}, item.AuthorityHypothesis},
	} {
		got, confidence := item.Derive(c.claim, c.ancestors)
		if got != c.want || confidence != item.ConfidenceProbable {
			t.Errorf("claim %q from %v: got %s, %s; want %s", c.claim, c.ancestors, got, confidence, c.want)
		}
	}
}

func TestTokensAreRoundedOnceOverTheSum(t *testing.T) {
	it := item.Item{ID: "é1", Kind: item.KindState, Summary: "a😀c", Provenance: item.Provenance{SourceRef: "ref", Path: "no"}, StateKey: "no", Project: "no"}
	if got := it.Size(); got != 2+5+3+3 {
		t.Errorf("size %d", got)
	}
	for size, want := range map[int]int{0: 0, 1: 1, 4: 1, 5: 2, 13: 4, 26: 7} {
		if got := item.Tokens(size); got != want {
			t.Errorf("tokens of %d: %d", size, got)
		}
	}
}

func TestAnItemsTimeIsWhenItWasObservedElseSinceWhenItIsValid(t *testing.T) {
	at := func(day int) time.Time { return time.Date(2026, 9, day, 0, 0, 0, 0, time.UTC) }
	for _, c := range []struct {
		it   item.Item
		want time.Time
		ok   bool
	}{
		{item.Item{}, time.Time{}, false},
		{item.Item{ValidUntil: "2026-09-03"}, time.Time{}, false},
		{item.Item{ValidFrom: "2026-09-02"}, at(2), true},
		{item.Item{ObservedAt: "2026-09-01T02:00:00+02:00", ValidFrom: "2026-09-02"}, at(1), true},
	} {
		if got, ok := c.it.Time(); !got.Equal(c.want) || ok != c.ok {
			t.Errorf("%+v: got %v, %v", c.it, got, ok)
		}
	}
}

func TestParseTimeIsStrict(t *testing.T) {
	for s, want := range map[string]time.Time{
		"2026-09-01":                     time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC),
		"2024-02-29":                     time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC),
		"2000-02-29T23:59:59Z":           time.Date(2000, 2, 29, 23, 59, 59, 0, time.UTC),
		"2026-09-01T00:30:00+01:00":      time.Date(2026, 8, 31, 23, 30, 0, 0, time.UTC),
		"2026-09-01T00:30:00.25-00:30":   time.Date(2026, 9, 1, 1, 0, 0, 250_000_000, time.UTC),
		"2026-09-01T00:00:00.123456789Z": time.Date(2026, 9, 1, 0, 0, 0, 123_456_789, time.UTC),
	} {
		if got, err := item.ParseTime(s); err != nil || !got.Equal(want) {
			t.Errorf("%s: got %v, %v", s, got, err)
		}
	}
	for _, s := range []string{
		"", "2026", "2026-09", "2026-9-1", "2026/09/01", "2026-00-01", "2026-13-01", "2026-09-00", "2026-09-31", "2026-02-29", "1900-02-29",
		"2026-09-01T", "2026-09-01 12:00:00Z", "2026-09-01t12:00:00z", "2026-09-01T12:00:00", "2026-09-01T12:00Z", "2026-09-01T1:00:00Z",
		"2026-09-01T24:00:00Z", "2026-09-01T12:60:00Z", "2026-09-01T12:00:60Z", "2026-09-01T12:00:00,5Z", "2026-09-01T12:00:00.Z",
		"2026-09-01T12:00:00+0200", "2026-09-01T12:00:00+24:00", "2026-09-01T12:00:00+02:60", "2026-09-01T12:00:00 02:00", "2026-09-01T12:00:00Zx", " 2026-09-01", "2026-09-01Z",
	} {
		if got, err := item.ParseTime(s); !fault.Is(err, fault.InvalidContextField) {
			t.Errorf("%q: got %v, %v", s, got, err)
		}
	}
}

func FuzzParseTime(f *testing.F) {
	f.Add("2026-09-01T12:00:00.5+02:00")
	f.Add("2026-09-01")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := item.ParseTime(s)
		if err != nil {
			return
		}
		layout := time.RFC3339
		if len(s) == len(time.DateOnly) {
			layout = time.DateOnly
		}
		if want, err := time.Parse(layout, s); err != nil || !got.Equal(want) {
			t.Fatalf("%s: got %v, time.Parse says %v, %v", s, got, want, err)
		}
	})
}

func TestGapRecordsAreWrittenWithTheirSchema(t *testing.T) {
	for _, c := range []struct {
		gap  item.Gap
		want string
	}{
		{item.Gap{Gap: "a\nb"}, `{"schema":"kxm.gap.v1","gap":"a\nb"}`},
		{item.Gap{Gap: "a", Detail: "d"}, `{"schema":"kxm.gap.v1","gap":"a","detail":"d"}`},
	} {
		if got := string(c.gap.AppendJSON([]byte("x"))); got != "x"+c.want {
			t.Errorf("got %s", got)
		}
		if got, err := json.Marshal(c.gap); err != nil || string(got) != c.want {
			t.Errorf("got %s, %v", got, err)
		}
	}
}

package rank

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"kxm/lib/kxmtest"
)

func tallies(q *Query, documents []string) []Tally {
	docs := make([]Tally, len(documents))
	for i, text := range documents {
		docs[i] = q.Tally(text)
	}
	return docs
}

func TestScoreCases(t *testing.T) {
	type scoreCase struct {
		Query     string
		Documents []string
		Want      []float64
	}
	kxmtest.Cases(t, "scores", func(t *testing.T, line int, c scoreCase) {
		q := NewQuery(c.Query)
		got := scoresOf(q, tallies(q, c.Documents))
		if len(got) != len(c.Want) {
			t.Fatalf("line %d: %d scores, want %d", line, len(got), len(c.Want))
		}
		for i := range got {
			if math.Abs(got[i]-c.Want[i]) > 1e-12 {
				t.Errorf("line %d: document %d scores %v, want %v", line, i, got[i], c.Want[i])
			}
		}
	})
}

func TestOneDocumentAlone(t *testing.T) {
	q := NewQuery("Which branch do we release from?")
	if want := []string{"branch", "release"}; !slices.Equal(q.Terms(), want) {
		t.Errorf("terms %q, want %q", q.Terms(), want)
	}
	docs := []Tally{q.Tally("Releases are cut from the main branch", "release.branch")}
	if got := Round(scoresOf(q, docs)[0]); got != 0.791 {
		t.Errorf("score %v, want 0.791", got)
	}
	if docs[0].Length() != 6 || !docs[0].Matches() {
		t.Errorf("length %d, matches %v", docs[0].Length(), docs[0].Matches())
	}
}

func TestNothingToScore(t *testing.T) {
	q := NewQuery("the of")
	if q.Terms() == nil || len(q.Terms()) != 0 {
		t.Errorf("terms %#v, want an empty list", q.Terms())
	}
	if got := scoresOf(q, nil); got == nil || len(got) != 0 {
		t.Errorf("scores of no documents: %#v", got)
	}
	q = NewQuery("branch")
	empty := []Tally{q.Tally(), q.Tally(""), q.Tally("the", "of")}
	if got := scoresOf(q, empty); !slices.Equal(got, []float64{0, 0, 0}) {
		t.Errorf("scores of empty documents: %v", got)
	}
	if got := q.Collect(empty).Explain(empty[1]); got == nil || len(got) != 0 {
		t.Errorf("reasons of an empty document: %#v", got)
	}
}

// Tally must count what Tokenize finds in the joined texts.
func checkTally(t *testing.T, query string, texts ...string) {
	q := NewQuery(query)
	tokens := Tokenize(strings.Join(texts, " "))
	counts := map[string]int{}
	for _, token := range tokens {
		counts[token]++
	}
	tally := q.Tally(texts...)
	if tally.Length() != len(tokens) {
		t.Fatalf("query %q, texts %q: length %d, want %d", query, texts, tally.Length(), len(tokens))
	}
	var want []count
	for i, term := range q.Terms() {
		if counts[term] > 0 {
			want = append(want, count{int32(i), int32(counts[term])})
		}
	}
	if !slices.Equal(tally.counts, want) {
		t.Fatalf("query %q, texts %q: counts %v, want %v", query, texts, tally.counts, want)
	}
}

func TestTallyCountsWhatTokenizeFinds(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 10_000 {
		from := pieces
		if r.IntN(2) == 0 {
			from = asciiPieces()
		}
		checkTally(t, randomText(r, from, 12), randomText(r, from, 30), randomText(r, from, 10))
	}
}

func FuzzTally(f *testing.F) {
	f.Add("Which branch?", "the main branch", "release.branch")
	f.Add("日本 releaseBranch", "日本語 ReleaseBranch", "\u0301é")
	f.Fuzz(func(t *testing.T, query, text, more string) { checkTally(t, query, text, more) })
}

func TestCountingDoesNotAllocateWithoutAMatch(t *testing.T) {
	// Not through Tally: under the race detector a sync.Pool forgets at random.
	c := newCounter(NewQuery("branch release deploy rollback database"))
	if n := testing.AllocsPerRun(100, func() {
		c.scan("Use pnpm, not npm, in every gitHub policies classes HTTPServer")
		c.scan("日本語のテスト – naïveÉtat")
		c.take()
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// collectionOf makes documents that share words with the query in all proportions.
func collectionOf(seed uint64, n int) (q *Query, docs []Tally) {
	words := make([]string, 200)
	for i := range words {
		words[i] = fmt.Sprintf("w%03dx", i)
	}
	r := rand.New(rand.NewPCG(seed, seed))
	q = NewQuery(strings.Join(words[:40], " "))
	for range n {
		var text []string
		for range r.IntN(60) {
			// The square makes low words frequent.
			text = append(text, words[r.IntN(len(words))*r.IntN(len(words))/len(words)])
		}
		docs = append(docs, q.Tally(text...))
	}
	return q, docs
}

func TestExplainSumsExactly(t *testing.T) {
	q, docs := collectionOf(1, 500)
	scores := scoresOf(q, docs)
	matched := 0
	for i := range docs {
		sum := 0.0
		last := -1
		for _, term := range q.Collect(docs).Explain(docs[i]) {
			sum += term.Score
			at := slices.Index(q.Terms(), term.Term)
			if at <= last || term.TF < 1 || term.IDF <= 0 || term.Score <= 0 {
				t.Fatalf("document %d: reason %+v out of order or empty", i, term)
			}
			last = at
		}
		if sum != scores[i] {
			t.Fatalf("document %d: reasons sum to %v, score %v", i, sum, scores[i])
		}
		if docs[i].Matches() != (scores[i] > 0) {
			t.Fatalf("document %d: matches %v, score %v", i, docs[i].Matches(), scores[i])
		}
		if docs[i].Matches() {
			matched++
		}
	}
	if matched < 100 {
		t.Errorf("only %d documents match: the test says little", matched)
	}
}

func TestQueryServesManyGoroutines(t *testing.T) {
	q := NewQuery("release branch npm test")
	texts := []string{"npm test before release", "the main branch", "Rollback", "npm npm é npm"}
	want := tallies(q, texts)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				j := (i + g) % len(texts)
				if got := q.Tally(texts[j]); got.length != want[j].length || !slices.Equal(got.counts, want[j].counts) {
					t.Errorf("%q: %v, want %v", texts[j], got, want[j])
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestScoreBits holds the bits of many scores, so that a processor, compiler or
// edit that changes one of them shows. TestScoresDoNotDependOnTheProcessor runs it
// again under other settings.
func TestScoreBits(t *testing.T) {
	const want = "d909d5e1241577d4d11a70d375d981db2a7c51f32b6acfcf9541643227bdc703"
	hash := sha256.New()
	for seed := range uint64(20) {
		q, docs := collectionOf(seed, 300)
		for _, score := range scoresOf(q, docs) {
			binary.Write(hash, binary.LittleEndian, math.Float64bits(score))
			binary.Write(hash, binary.LittleEndian, math.Float64bits(Round(score)))
		}
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != want {
		t.Errorf("bits %s, want %s", got, want)
	}
}

func BenchmarkTally100kDocuments(b *testing.B) {
	q := NewQuery("Which release branch does the production database rollback deploy test need before a commit?")
	r := rand.New(rand.NewPCG(7, 8))
	words := strings.Fields("Releases are cut from the main branch after tests pass; use pnpm, not npm: the rollback procedure " +
		"for a production database needs two approvals and one backup that somebody has restored within the last month")
	documents := make([]string, 100_000)
	size := 0
	for i := range documents {
		var text []string
		for n := 0; n < 100; n += len(text[len(text)-1]) + 1 {
			text = append(text, words[r.IntN(len(words))])
		}
		documents[i] = strings.Join(text, " ")
		size += len(documents[i])
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for _, text := range documents {
			q.Tally(text, "release.branch")
		}
	}
}

func BenchmarkScores100kDocuments(b *testing.B) {
	q, docs := collectionOf(9, 100_000)
	b.ReportAllocs()
	for b.Loop() {
		scoresOf(q, docs)
	}
}

// scoresOf scores all documents of a collection.
func scoresOf(q *Query, docs []Tally) []float64 {
	c := q.Collect(docs)
	scores := make([]float64, len(docs))
	for i, doc := range docs {
		scores[i] = c.Score(doc)
	}
	return scores
}

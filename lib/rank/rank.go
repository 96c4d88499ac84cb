// Package rank owns relevance: how a text becomes tokens, and how well documents
// match a query by BM25, with the reason of each score.
//
// Start with [NewQuery]; [Query.Tally] counts the query's terms in a document,
// [Query.Collect] makes a collection of the documents, and [Collection.Score] scores
// each of them in it. The package knows nothing of items, reads nothing and keeps
// nothing. It does not sort: what breaks a tie is its caller's to say. Equal input
// gives equal bits on every processor.
package rank

import (
	"slices"
	"sync"
)

// Query is a text that documents are compared with. It may be used by several
// goroutines at once.
type Query struct {
	terms []string
	index map[string]int32
	known [256]bool // by mark: false says that no term has it
	pool  sync.Pool // of *counter
}

// NewQuery returns the query that a text makes.
func NewQuery(text string) *Query {
	q := &Query{terms: []string{}, index: map[string]int32{}}
	for _, term := range Tokenize(text) {
		if _, repeated := q.index[term]; repeated {
			continue
		}
		q.index[term] = int32(len(q.terms))
		q.known[mark(term)] = true
		q.terms = append(q.terms, term)
	}
	q.pool.New = func() any { return newCounter(q) }
	return q
}

// Terms returns the distinct tokens of the query in the order of their first
// occurrence. The caller must not change them.
func (q *Query) Terms() []string { return q.terms }

// Tally is what scoring needs to know of a document: how often it holds each term
// of one query, and how long it is. It means something only to the query that made
// it.
type Tally struct {
	length int
	counts []count // of terms that occur, by term
}

type count struct {
	term, n int32
}

// Length returns how many tokens the document has.
func (t Tally) Length() int { return t.length }

// Matches reports whether the document holds a term of the query, which is whether
// its score is above 0.
func (t Tally) Matches() bool { return len(t.counts) > 0 }

// Tally counts the query's terms in the document that the texts make, joined by
// spaces.
func (q *Query) Tally(texts ...string) Tally {
	c := q.pool.Get().(*counter)
	defer q.pool.Put(c)
	for _, text := range texts {
		c.scan(text) // a space would part them: no token and no composition spans one
	}
	return c.take()
}

// counter is the work space of one Tally call.
type counter struct {
	scanner
	length int
	counts []int32 // by term
	found  []int32 // terms whose count is not 0
}

func newCounter(q *Query) *counter {
	c := &counter{counts: make([]int32, len(q.terms))}
	c.emit = func(term []byte) {
		c.length++
		if !q.known[mark(term)] {
			return
		}
		i, ok := q.index[string(term)]
		if !ok {
			return
		}
		if c.counts[i] == 0 {
			c.found = append(c.found, i)
		}
		c.counts[i]++
	}
	return c
}

// take returns what was counted and makes the counter ready for the next document.
func (c *counter) take() Tally {
	t := Tally{length: c.length}
	if len(c.found) > 0 {
		slices.Sort(c.found)
		t.counts = make([]count, len(c.found))
		for i, term := range c.found {
			t.counts[i] = count{term, c.counts[term]}
			c.counts[term] = 0
		}
	}
	c.length, c.found = 0, c.found[:0]
	return t
}

// mark is a cheap hash. Most words of a document are in no query, and it tells so
// for most of them.
func mark[T string | []byte](term T) byte {
	return term[0]*7 + term[len(term)/2]*31 + term[len(term)-1] + byte(len(term))*61
}

// Collection is what the scores of all documents of one collection share. It may be
// used by several goroutines at once.
type Collection struct {
	query         *Query
	idf           []float64 // by term
	averageLength float64
}

// Collect prepares the scores of the collection that the documents form.
func (q *Query) Collect(docs []Tally) *Collection {
	df := make([]int, len(q.terms))
	length := 0
	for _, doc := range docs {
		length += doc.length
		for _, c := range doc.counts {
			df[c.term]++
		}
	}
	idf := make([]float64, len(q.terms))
	for i, n := range df {
		idf[i] = inverseFrequency(len(docs), n)
	}
	return &Collection{q, idf, float64(length) / float64(max(len(docs), 1))}
}

// weight is what one counted term adds to the document's score.
func (c *Collection) weight(doc Tally, n count) float64 {
	return weight(c.idf[n.term], int(n.n), doc.length, c.averageLength)
}

// Score returns the BM25 score of a document of the collection: 0 if it holds none
// of the query's terms, else more. Terms are summed in the order of the query.
func (c *Collection) Score(doc Tally) float64 {
	score := 0.0
	for _, n := range doc.counts {
		score += c.weight(doc, n)
	}
	return score
}

// Term says what one term of the query adds to a document's score.
type Term struct {
	Term  string
	IDF   float64 // inverse document frequency in the collection
	TF    int     // how often the document holds it
	Score float64 // what it adds
}

// Explain returns the terms that a document of the collection holds, in the order of
// the query. Their scores, added in this order, are exactly its score.
func (c *Collection) Explain(doc Tally) []Term {
	terms := make([]Term, len(doc.counts))
	for i, n := range doc.counts {
		terms[i] = Term{c.query.terms[n.term], c.idf[n.term], int(n.n), c.weight(doc, n)}
	}
	return terms
}

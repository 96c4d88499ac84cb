package state

import (
	"encoding/binary"
	"iter"

	"kxm/lib/item"
)

// folded is what a folder of events comes to, or all of them: what a cache holds.
type folded struct {
	last    HLC // of the newest event, those that are left out too
	foreign int
	gaps    []foldedGap
	reviews []foldedReview
	rows    []Row

	// encoded are rows as the cache holds them, which are read when they are asked for.
	encoded string
	count   int
}

// foldedGap is a gap with the clock of the event that it is about; 0 stands for a
// record that is no event, and is reported as of any time.
type foldedGap struct {
	clock HLC
	item.Gap
}

// foldedReview is a review that counts if its entry is what it says.
type foldedReview struct {
	id, entry, path string
	digest          string // of the entry, raw
	verdict         Verdict
}

// all yields the rows.
func (f *folded) all() iter.Seq[Row] {
	return func(yield func(Row) bool) {
		for _, row := range f.rows {
			if !yield(row) {
				return
			}
		}
		d := foldedDecoder{rest: f.encoded}
		for range f.count {
			if row := d.row(); d.broken || !yield(row) {
				return
			}
		}
	}
}

// sink takes what is encoded. Errors are its own to keep.
type sink interface {
	WriteByte(c byte) error
	WriteString(s string) (int, error)
}

// counter is a sink that counts bytes.
type counter int

func (n *counter) WriteByte(byte) error { *n++; return nil }

func (n *counter) WriteString(s string) (int, error) { *n += counter(len(s)); return len(s), nil }

// encode writes the form in which a cache holds what is live: numbers as varints, texts
// behind their lengths. [foldVersion] is the version of the form.
func (f *folded) encode(w sink) {
	number := func(n uint64) {
		for ; n >= 0x80; n >>= 7 {
			w.WriteByte(byte(n) | 0x80)
		}
		w.WriteByte(byte(n))
	}
	text := func(s string) {
		number(uint64(len(s)))
		w.WriteString(s)
	}
	number(uint64(f.last))
	number(uint64(f.foreign))
	number(uint64(len(f.gaps)))
	for _, g := range f.gaps {
		number(uint64(g.clock))
		text(g.Gap.Gap)
		text(g.Detail)
	}
	number(uint64(len(f.reviews)))
	for _, r := range f.reviews {
		text(r.id)
		text(r.entry)
		text(r.path)
		text(r.digest)
		text(string(r.verdict))
	}
	rows := 0
	for row := range f.all() {
		if live(row.Status) {
			rows++
		}
	}
	number(uint64(rows))
	for row := range f.all() {
		if !live(row.Status) {
			continue
		}
		text(row.ID)
		text(string(row.Status))
		text(string(row.Kind))
		text(row.Key)
		text(row.Category)
		text(row.RunID)
		text(row.digest)
		text(row.JSON)
		number(uint64(row.clock))
		number(uint64(row.key))
	}
}

// decode reads what encode wrote, and reports whether it was that. The texts are parts
// of data. Rows are not looked at: the cache's checksum and version vouch for them, and
// reading all of them twice would cost as much as printing them.
func (f *folded) decode(data string) bool {
	d := foldedDecoder{rest: data}
	*f = folded{last: HLC(d.number()), foreign: int(d.number())}
	f.gaps = make([]foldedGap, d.count(3))
	for i := range f.gaps {
		f.gaps[i] = foldedGap{HLC(d.number()), item.Gap{Gap: d.text(), Detail: d.text()}}
	}
	f.reviews = make([]foldedReview, d.count(5))
	for i := range f.reviews {
		f.reviews[i] = foldedReview{id: d.text(), entry: d.text(), path: d.text(), digest: d.text(), verdict: Verdict(d.text())}
	}
	f.count = d.count(10)
	f.encoded = d.rest
	return !d.broken
}

// foldedDecoder takes values from the front of a text. Behind the first that is not
// there it gives empty ones.
type foldedDecoder struct {
	rest   string
	broken bool
}

func (d *foldedDecoder) row() Row {
	return Row{
		ID: d.text(), Status: item.Status(d.text()), Kind: item.Kind(d.text()), Key: d.text(), Category: d.text(), RunID: d.text(),
		digest: d.text(), JSON: d.text(), clock: HLC(d.number()), key: int(d.number()),
	}
}

func (d *foldedDecoder) number() uint64 {
	var n uint64
	for i := 0; i < len(d.rest) && i < binary.MaxVarintLen64; i++ {
		b := d.rest[i]
		n |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			d.rest = d.rest[i+1:]
			return n
		}
	}
	d.rest, d.broken = "", true
	return 0
}

// count takes the length of a list whose elements have at least so many bytes, so that
// a damaged one cannot ask for more memory than there is text.
func (d *foldedDecoder) count(least int) int {
	n := d.number()
	if n > uint64(len(d.rest)/least) {
		d.rest, d.broken = "", true
		return 0
	}
	return int(n)
}

func (d *foldedDecoder) text() string {
	n := d.number()
	if n > uint64(len(d.rest)) {
		d.rest, d.broken = "", true
		return ""
	}
	s := d.rest[:n]
	d.rest = d.rest[n:]
	return s
}

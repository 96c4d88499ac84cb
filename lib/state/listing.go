package state

import (
	"bufio"
	"cmp"
	"context"
	"encoding/hex"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"kxm/lib/eventlog"
	"kxm/lib/item"
	"kxm/lib/ndjson"
)

// Row is an item as lists print it, with what they choose by.
type Row struct {
	ID       string // the item's
	Status   item.Status
	Kind     item.Kind
	Key      string // the state key
	Category string // of the journal
	RunID    string
	JSON     string // the item, one compact object

	clock  HLC    // of the event that made it
	key    int    // which key of the folder, or of the listing, it belongs to
	digest string // of the event of an entry or an episode, raw: what a review must name
}

// MarshalJSON returns the item.
func (r Row) MarshalJSON() ([]byte, error) { return []byte(r.JSON), nil }

// Item returns the item.
func (r *Row) Item() (item.Item, error) { return item.Parse([]byte(r.JSON)) }

// event returns the id of the event that made the row's item.
func (r *Row) event() string {
	_, id, _ := strings.Cut(r.ID, "_")
	return id
}

// live reports whether an item of the status has not ended.
func live(s item.Status) bool { return s != item.StatusSuperseded && s != item.StatusRejected }

// compareRows orders by id: behind each prefix, of which no two begin alike, that is
// the order of the clocks, and comparing those costs a fraction of comparing texts.
func compareRows(a, b Row) int {
	if a.ID[0] == b.ID[0] && a.clock != b.clock {
		return cmp.Compare(a.clock, b.clock)
	}
	return cmp.Compare(a.ID, b.ID)
}

// ItemFilter says which items of a log are wanted.
type ItemFilter struct {
	State   bool // values and proposals
	Journal bool // entries and episodes
	Ended   bool // superseded values, and what was rejected or withdrawn
}

// Listing is what a project's log shows to those who list it: items with their gaps.
type Listing struct {
	Gaps    []item.Gap // of the trust point, then the others sorted, each once
	Foreign int        // events of other projects: left out and counted

	parts []folded // of values and proposals, then of the journal
}

// All yields the rows by id.
func (l *Listing) All() iter.Seq[Row] {
	return func(yield func(Row) bool) {
		for i := range l.parts {
			// Every id of the journal comes after those of values and proposals.
			for row := range l.parts[i].all() {
				if !yield(row) {
					return
				}
			}
		}
	}
}

// Listing reads and folds the log folder by folder, on all processors, and reads no
// events of a folder that the cache knows; where nothing has changed at all, it reads
// what was listed then. The cache knows what is live, as nearly every reader wants it,
// and a fraction of what has ended. One that cannot be written costs time only.
func (s *Store) Listing(ctx context.Context, w When, f ItemFilter) (*Listing, error) {
	snapshot, err := s.Log.Snapshot(ctx, w.At)
	if err != nil {
		return nil, err
	}
	l := &Listing{}
	for _, ofJournal := range []bool{false, true} {
		if ofJournal && f.Journal || !ofJournal && f.State {
			part, err := s.part(ctx, snapshot, ofJournal, through(w.AsOf), f.Ended)
			if err != nil {
				return nil, err
			}
			l.parts = append(l.parts, part)
		}
	}
	l.finish(s.Trust)
	return l, nil
}

// finish sums up what the parts say.
func (l *Listing) finish(t *Trust) {
	var gaps []item.Gap
	for i := range l.parts {
		l.Foreign += l.parts[i].foreign
		for _, g := range l.parts[i].gaps {
			gaps = append(gaps, g.Gap)
		}
	}
	slices.SortFunc(gaps, func(a, b item.Gap) int { return cmp.Or(cmp.Compare(a.Gap, b.Gap), cmp.Compare(a.Detail, b.Detail)) })
	l.Gaps = append(t.Gaps(), slices.CompactFunc(gaps, func(a, b item.Gap) bool { return a.Gap == b.Gap })...)
}

// part returns what all folders of keys, or of the journal, come to.
func (s *Store) part(ctx context.Context, snapshot *eventlog.Snapshot, ofJournal bool, limit HLC, ended bool) (folded, error) {
	digest := s.Trust.digestFor(s.Project, s.version)
	usual := limit > maxHLC && !ended
	if usual {
		var whole folded
		if value, ok := snapshot.Whole(digest, ofJournal); ok && whole.decode(value) {
			return whole, nil
		}
	}
	parts, err := s.folders(ctx, snapshot, digest, ofJournal, limit, ended)
	if err != nil {
		return folded{}, err
	}
	whole := unitedFolders(parts, limit)
	if usual && len(whole.rows) >= manyRows {
		var size counter
		whole.encode(&size)
		_ = snapshot.PutWhole(digest, ofJournal, int(size), func(w *bufio.Writer) { whole.encode(w) }) // it is there to save time
	}
	if !ended {
		whole.rows = slices.DeleteFunc(whole.rows, func(r Row) bool { return !live(r.Status) })
	}
	return whole, nil
}

// manyRows is from how many rows on a listing is worth keeping as a whole: looking up
// fewer folders one by one takes less than a process takes to start.
const manyRows = 1000

// folders returns what each folder of keys, or of the journal, comes to.
func (s *Store) folders(ctx context.Context, snapshot *eventlog.Snapshot, digest string, ofJournal bool, limit HLC, ended bool) ([]folded, error) {
	cache := s.Log.OpenCache(digest, ofJournal)
	refs, err := cache.Folders(ctx, snapshot)
	if err != nil {
		return nil, err
	}
	parts := make([]folded, len(refs))
	known := make([]bool, len(refs))
	parallel(len(refs), func(i int) {
		if ended && !ofJournal {
			return
		}
		if value, ok := cache.Get(refs[i]); ok {
			known[i] = parts[i].decode(value) && (ofJournal || parts[i].last < limit)
		}
	})
	var missing []int
	for i := range refs {
		if !known[i] {
			missing = append(missing, i)
		}
	}
	folders := make([]eventlog.FolderRef, len(missing))
	for n, i := range missing {
		folders[n] = refs[i]
	}
	for _, i := range missing {
		parts[i] = folded{}
	}
	err = snapshot.EachRecords(ctx, folders, func(n int, records []eventlog.Record, more bool) error {
		part := &parts[missing[n]]
		part.fold(recordsOf(records), s.Trust, s.Project, ofJournal, limit, ended)
		if !more && (ofJournal || part.last < limit) { // then it is what it will always be
			part.cache(cache, folders[n])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	_ = cache.Save() // its reader may not be allowed to write
	return parts, nil
}

// cache keeps what a folder came to. A very large one is a day on which much still
// happens: what is kept of it would be out of date before it was of use.
func (f *folded) cache(c *eventlog.Cache, folder eventlog.FolderRef) {
	const tooLarge = 4 << 20
	var size counter
	if f.encode(&size); size > tooLarge {
		return
	}
	var value strings.Builder
	value.Grow(int(size))
	f.encode(&value)
	c.Put(folder, value.String())
}

// fold adds the records of a folder: all of a key's, or a piece of a day's. Of keys it
// takes what is earlier than the limit, and rows of what has ended only if they are
// wanted; of the journal everything, since its records can be left out one by one.
func (f *folded) fold(records []Record, t *Trust, project string, ofJournal bool, limit HLC, ended bool) {
	set := Check(records, t, project)
	f.foreign += set.Foreign
	add := func(clock HLC, gaps []item.Gap) {
		for _, g := range gaps {
			f.gaps = append(f.gaps, foldedGap{clock, g})
		}
	}
	add(0, set.Gaps())
	for i := range set.Events {
		f.last = max(f.last, set.Events[i].Clock)
	}
	if ofJournal {
		f.foldDay(set.Events, t, add)
		return
	}
	for n, k := range foldKeys(set.Events, t, limit) {
		items := k.Items()
		for i := range items {
			if it := &items[i]; ended || live(it.Status) {
				row := newRow(it)
				row.key = n
				f.rows = append(f.rows, row)
			}
		}
		add(0, k.Gaps())
	}
}

func (f *folded) foldDay(events []Checked, t *Trust, add func(HLC, []item.Gap)) {
	// A review may be about an entry of another day, so that they meet in unitedFolders.
	entries := make([]Checked, 0, len(events))
	for i := range events {
		e := &events[i]
		review, ok := e.Body.(*Review)
		if !ok || e.Problem != nil {
			entries = append(entries, *e)
			continue
		}
		f.reviews = append(f.reviews, foldedReview{id: e.ID, entry: review.Entry, path: e.Path, digest: rawDigest(review.Digest), verdict: review.To})
	}
	j := FoldJournal(entries, t, time.Time{})
	f.rows = slices.Grow(f.rows, len(j.Records))
	for i := range j.Records {
		row := newRow(&j.Records[i].Item)
		row.digest = rawDigest(j.Records[i].Event.Digest)
		f.rows = append(f.rows, row)
	}
	for i := range j.Findings {
		clock, _ := ParseID(j.Findings[i].ID)
		add(clock, gapsOf(j.Findings[i:i+1]))
	}
}

func rawDigest(digest string) string {
	raw, _ := hex.DecodeString(digest) // events are parsed, so it is one
	return string(raw)
}

// newRow makes a row whose texts do not keep the event in memory that the item's texts
// are parts of.
func newRow(it *item.Item) Row {
	r := Row{
		ID: strings.Clone(it.ID), Status: it.Status, Kind: it.Kind, Key: strings.Clone(it.StateKey), Category: strings.Clone(it.JournalCategory),
		RunID: strings.Clone(it.RunID), JSON: string(it.AppendJSON(nil)),
	}
	r.clock, _ = ParseID(r.event())
	return r
}

// unitedFolders puts the folders of keys, or of the journal, together: what is earlier
// than the limit, with the reviews applied.
func unitedFolders(parts []folded, limit HLC) folded {
	var u folded
	total := 0
	for i := range parts {
		total += len(parts[i].rows)
	}
	u.rows = make([]Row, 0, total)
	if len(parts) == 1 {
		u.rows = parts[0].rows[:0] // each row moves to its place or before it
	}
	keys := 0
	for i := range parts {
		p := &parts[i]
		u.foreign += p.foreign
		for _, g := range p.gaps {
			if g.clock == 0 || g.clock < limit {
				u.gaps = append(u.gaps, g)
			}
		}
		for _, r := range p.reviews {
			if clock, _ := ParseID(r.id); clock < limit {
				u.reviews = append(u.reviews, r)
			}
		}
		before := keys
		for row := range p.all() {
			if row.clock < limit {
				row.key += before
				keys = max(keys, row.key+1)
				u.rows = append(u.rows, row)
			}
		}
		*p = folded{} // its rows may be large
	}
	slices.SortFunc(u.rows, compareRows)
	u.review()
	return u
}

// review gives entries and episodes the status of the latest review that counts, and
// adds gaps for those that do not.
func (f *folded) review() {
	slices.SortFunc(f.reviews, func(a, b foldedReview) int { return cmp.Compare(a.id, b.id) })
	verdicts := map[int]Verdict{}
	leaveOut := func(finding Finding) { f.gaps = append(f.gaps, foldedGap{0, finding.Gap()}) }
	for _, r := range f.reviews {
		entry := f.entry(r.entry)
		switch {
		case entry < 0:
			leaveOut(missingEntry(r.id, r.path, r.entry))
		case f.rows[entry].digest != r.digest:
			leaveOut(otherEntry(r.id, r.path, r.entry))
		default:
			verdicts[entry] = r.verdict
		}
	}
	for entry, verdict := range verdicts {
		f.rows[entry].judge(verdict)
	}
	f.reviews = nil
}

// entry returns the place of an entry or an episode by its event's id, or -1.
func (f *folded) entry(id string) int {
	for _, prefix := range []string{prefixJournal, prefixEpisode} {
		if i, ok := slices.BinarySearchFunc(f.rows, prefix+id, func(r Row, id string) int { return cmp.Compare(r.ID, id) }); ok {
			return i
		}
	}
	return -1
}

// judge sets the status that a verdict gives.
func (r *Row) judge(v Verdict) {
	it, err := r.Item()
	if err != nil {
		return // it was made from one
	}
	it.Status = v.status()
	r.Status = it.Status
	r.JSON = string(it.AppendJSON(nil))
}

// Entry returns the row of an entry or an episode by its event's id.
func (l *Listing) Entry(id string) (row Row, ok bool) {
	for row := range l.All() {
		if row.ID == prefixJournal+id || row.ID == prefixEpisode+id {
			return row, true
		}
	}
	return Row{}, false
}

// OldestFirst yields the rows in the order of their events' ids, whatever is in front
// of those in their own: behind each prefix they are in that order already.
func (l *Listing) OldestFirst() iter.Seq[Row] {
	return func(yield func(Row) bool) {
		type run struct {
			row  Row
			next func() (Row, bool)
		}
		var runs []*run
		for _, prefix := range []string{prefixState, prefixEpisode, prefixJournal} {
			next, stop := iter.Pull(l.withPrefix(prefix))
			defer stop()
			if row, ok := next(); ok {
				runs = append(runs, &run{row, next})
			}
		}
		for len(runs) > 0 {
			first := slices.MinFunc(runs, func(a, b *run) int {
				return cmp.Or(cmp.Compare(a.row.clock, b.row.clock), cmp.Compare(a.row.event(), b.row.event()))
			})
			if !yield(first.row) {
				return
			}
			var ok bool
			if first.row, ok = first.next(); !ok {
				runs = slices.DeleteFunc(runs, func(r *run) bool { return r == first })
			}
		}
	}
}

// withPrefix yields the rows whose ids have a prefix.
func (l *Listing) withPrefix(prefix string) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		for row := range l.All() {
			if strings.HasPrefix(row.ID, prefix) && !yield(row) {
				return
			}
		}
	}
}

// Episodes returns the errors, lessons, observations, experiments and episodes of
// runs, oldest first: of one run, or of all if run is "". Of more than limit the
// newest are returned; what a reviewer rejected is not.
func (l *Listing) Episodes(run string, limit int) []Row {
	rows := []Row{}
	for r := range l.OldestFirst() {
		ofRun := r.RunID != "" && (run == "" || r.RunID == run)
		episode := r.Kind == item.KindEpisode || slices.Contains(episodic, r.Category)
		if ofRun && episode && r.Status != item.StatusRejected {
			rows = append(rows, r)
		}
	}
	return rows[max(0, len(rows)-limit):]
}

// Contradiction is a key that does not say one thing: with several current values, or
// with several open proposals.
type Contradiction struct {
	Key    string
	Status item.Status // current or proposed
	Sides  []Row       // by id
}

// Contradictions returns the contradictions of all keys, by key.
func (l *Listing) Contradictions() []Contradiction {
	type subject struct {
		key    int
		status item.Status
	}
	at := map[subject]int{}
	var all []Contradiction
	for r := range l.All() {
		if r.Kind != item.KindState || r.Status != item.StatusCurrent && r.Status != item.StatusProposed {
			continue
		}
		s := subject{r.key, r.Status}
		n, ok := at[s]
		if !ok {
			n = len(all)
			at[s] = n
			all = append(all, Contradiction{Key: r.Key, Status: r.Status})
		}
		all[n].Sides = append(all[n].Sides, r)
	}
	all = slices.DeleteFunc(all, func(c Contradiction) bool { return len(c.Sides) < 2 })
	slices.SortStableFunc(all, func(a, b Contradiction) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Status, b.Status))
	})
	return all
}

// AppendJSON appends the contradiction as one compact JSON object.
func (c *Contradiction) AppendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("schema", ContradictionSchema)
	o.Text("key", c.Key)
	o.Text("status", string(c.Status))
	o.Name("items")
	o.Bytes = append(o.Bytes, '[')
	for i := range c.Sides {
		if i > 0 {
			o.Bytes = append(o.Bytes, ',')
		}
		o.Bytes = append(o.Bytes, c.Sides[i].JSON...)
	}
	return append(o.Bytes, "]}"...)
}

// MarshalJSON returns what AppendJSON appends.
func (c Contradiction) MarshalJSON() ([]byte, error) { return c.AppendJSON(nil), nil }

// foldVersion is raised whenever the same events come to other items or gaps, or the
// form of what is cached changes.
const foldVersion = 1

// digestFor identifies all that a listing depends on beside the events: what stands at
// the trust point, the project that reads, the program's version and the fold's. A
// cache is valid for one digest.
func (t *Trust) digestFor(project, version string) string {
	return digestOf([]byte(t.digest + strconv.Quote(project) + strconv.Quote(version) + strconv.Itoa(foldVersion)))
}

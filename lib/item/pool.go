package item

import (
	"cmp"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

// Pool is a whole stream: its items and its gap records, each in stream order.
type Pool struct {
	Items []Item
	Gaps  []Gap

	source string
	lines  []int32 // of Items
}

// Placed puts an error about an item into the source and line that it was read
// from. Items of a pool that was not read, or was reordered since, have no place.
func (p *Pool) Placed(i int, e *fault.Error) *fault.Error {
	if i >= len(p.lines) || len(p.lines) != len(p.Items) {
		return e
	}
	return e.At(p.source, int(p.lines[i]), 0)
}

// Isolated refuses a pool that holds an item of another project than the one named and
// the shared one, with context_isolation_violation.
func (p *Pool) Isolated(project string) error {
	for i := range p.Items {
		if err := p.Items[i].Isolated(project); err != nil {
			return p.Placed(i, err)
		}
	}
	return nil
}

// Isolated refuses the item if it belongs to another project, as [Pool.Isolated] does.
func (it *Item) Isolated(project string) *fault.Error {
	if it.Project == project || it.Project == SharedProject {
		return nil
	}
	return fault.New(fault.ContextIsolationViolation, "item %s belongs to project %s, not to %s",
		fault.Quote(it.ID), fault.Quote(it.Project), fault.Quote(project)).On("project")
}

// OnlyProject returns the one project that the items belong to besides the shared one,
// "" if there is none, and a usage error if there are several.
func (p *Pool) OnlyProject() (string, error) {
	only := ""
	for i := range p.Items {
		of := p.Items[i].Project
		if of == SharedProject || of == only {
			continue
		}
		if only != "" {
			names := []string{fault.Quote(only), fault.Quote(of)}
			slices.Sort(names)
			return "", fault.New(fault.Usage, "the pool holds several projects, among them %s and %s", names[0], names[1]).WithHint("--project NAME")
		}
		only = of
	}
	return only, nil
}

// ReadPool reads a stream of items and gap records to its end. Errors name the
// source and the line, and the first in the stream is returned, with an empty
// pool: of JSON (see [ndjson.Decoder.Next]), of an item (see [Parse]), or
// invalid_context_item for a value of another schema and for two items that share
// an id and differ; equal items count once.
//
// The work is split so that memory stays near twice the input: the texts of the
// values are gathered first, and the items, whose number is then known, are
// parsed on all processors into one slice. Their texts are parts of what was
// gathered.
func ReadPool(r io.Reader, source string) (Pool, error) {
	batches, streamErr := gather(r, source)
	items, gaps, badAt, bad := parseBatches(batches)
	duplicateOf := func(i, first int) error {
		return fault.New(fault.InvalidContextItem, "two different context items have the id %s", fault.Quote(items[i].ID)).
			WithHint("the first is on line %d", entryAt(batches, first).line).
			On("id").At(source, entryAt(batches, i).line, 0)
	}
	lines := make([]int32, badAt)
	for i := range lines {
		lines[i] = int32(entryAt(batches, i).line)
	}
	unique, lines, err := dropEqual(items[:badAt], lines, duplicateOf)
	switch {
	case err != nil:
		return Pool{}, err
	case bad != nil:
		var e *fault.Error
		if errors.As(bad, &e) {
			bad = e.At(source, entryAt(batches, badAt).line, 0)
		}
		return Pool{}, bad
	case streamErr != nil:
		return Pool{}, streamErr
	}
	return Pool{Items: unique, Gaps: gaps, source: source, lines: lines}, nil
}

// entry is one value of the stream.
type entry struct {
	text string
	line int
}

// batchSize is how many values a worker takes at once: some 100 KiB of input,
// so that taking them costs nothing. All batches but the last are full.
const batchSize = 256

func entryAt(batches [][]entry, i int) entry { return batches[i/batchSize][i%batchSize] }

// Values are copied together into blocks, since a string for each would cost an
// allocation for each. Blocks grow, so that a small stream takes little.
const (
	firstBlock = 32 << 10
	largeBlock = 256 << 10
)

// gather reads the values of a stream up to its end or its first error.
func gather(r io.Reader, source string) ([][]entry, error) {
	decoder := ndjson.NewDecoder(r, source)
	decoder.Reuse()
	var batches [][]entry
	var batch []entry
	var block strings.Builder
	size := firstBlock
	for {
		value, err := decoder.Next()
		if err != nil {
			if len(batch) > 0 {
				batches = append(batches, batch)
			}
			if err == io.EOF {
				err = nil
			}
			return batches, err
		}
		var text string
		if len(value.Raw) > size/4 {
			text = string(value.Raw)
		} else {
			if block.Cap()-block.Len() < len(value.Raw) {
				// The strings of the last block keep it alive.
				block = strings.Builder{}
				block.Grow(size)
				size = min(2*size, largeBlock)
			}
			start := block.Len()
			block.Write(value.Raw)
			text = block.String()[start:]
		}
		if len(batch) == batchSize {
			batches = append(batches, batch)
			batch = nil
		}
		if batch == nil {
			batch = make([]entry, 0, batchSize)
		}
		batch = append(batch, entry{text, value.Line})
	}
}

// parseBatches parses all values. The item of a gap record stays zero. If values
// are bad, the error of the first in the stream is returned with its index, and
// the items and gaps before it are complete; else the index is their number.
func parseBatches(batches [][]entry) (items []Item, gaps []Gap, badAt int, bad error) {
	if len(batches) == 0 {
		return nil, nil, 0, nil
	}
	total := (len(batches)-1)*batchSize + len(batches[len(batches)-1])
	items = make([]Item, total)

	type placedGap struct {
		at  int
		gap Gap
	}
	var (
		next   atomic.Int64 // the next batch to take
		limit  atomic.Int64 // batches from here on no longer matter
		mu     sync.Mutex   // guards what follows
		placed []placedGap
	)
	badAt = total
	limit.Store(int64(len(batches)))
	work := func() {
		for {
			n := next.Add(1) - 1
			if n >= limit.Load() {
				return
			}
			project := "" // equal names in a row share their memory, and so compare faster
			for i, e := range batches[n] {
				at := int(n)*batchSize + i
				it := &items[at]
				gap, err := parseRecord(e.text, it, true)
				if err != nil {
					mu.Lock()
					if at < badAt {
						badAt, bad = at, err
						limit.Store(min(limit.Load(), n))
					}
					mu.Unlock()
					break
				}
				if gap != nil {
					mu.Lock()
					placed = append(placed, placedGap{at, *gap})
					mu.Unlock()
					continue
				}
				if it.Project == project {
					it.Project = project
				}
				project = it.Project
			}
		}
	}
	workers := min(runtime.GOMAXPROCS(0), len(batches))
	var wg sync.WaitGroup
	for range workers - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()

	slices.SortFunc(placed, func(a, b placedGap) int { return cmp.Compare(a.at, b.at) })
	for _, p := range placed {
		gaps = append(gaps, p.gap)
	}
	return items, gaps, badAt, bad
}

// dropEqual removes, in place and with their lines, the zero items of gap records and every item that
// equals an earlier one; two that share an id and differ are the error that
// conflict makes of their indexes.
func dropEqual(items []Item, lines []int32, conflict func(i, first int) error) ([]Item, []int32, error) {
	first := make(map[string]int32, len(items))
	dropped := false
	for i := range items {
		it := &items[i]
		if it.ID == "" {
			dropped = true
			continue
		}
		if j, known := first[it.ID]; known {
			if !Equal(it, &items[j]) {
				return nil, nil, conflict(i, int(j))
			}
			it.ID = ""
			dropped = true
			continue
		}
		first[it.ID] = int32(i)
	}
	if !dropped {
		return items, lines, nil
	}
	kept := 0
	for i := range items {
		if items[i].ID != "" {
			if i != kept {
				items[kept], lines[kept] = items[i], lines[i]
			}
			kept++
		}
	}
	clear(items[kept:])
	return items[:kept], lines[:kept], nil
}

package wiki

import (
	"cmp"
	"slices"
	"strings"

	"kxm/lib/item"
	"kxm/lib/ndjson"
	"kxm/lib/textdiff"
)

// ChangeSchema names the JSON form of a change.
const ChangeSchema = "kxm.wiki-change.v1"

// ChangeKind says what happened to what a project knows.
type ChangeKind string

// The kinds of changes, in the order in which they are reported.
const (
	ClaimAdded           ChangeKind = "claim_added"
	ClaimChanged         ChangeKind = "claim_changed"
	ClaimSuperseded      ChangeKind = "claim_superseded"
	ClaimRemoved         ChangeKind = "claim_removed" // its record is gone, or is not reviewed any more
	StatePromoted        ChangeKind = "state_promoted"
	StateEnded           ChangeKind = "state_ended" // a value lost its credential
	ContradictionOpened  ChangeKind = "contradiction_opened"
	ContradictionChanged ChangeKind = "contradiction_changed" // other sides
	ContradictionClosed  ChangeKind = "contradiction_closed"
)

var changeOrder = []ChangeKind{ClaimAdded, ClaimChanged, ClaimSuperseded, ClaimRemoved, StatePromoted, StateEnded,
	ContradictionOpened, ContradictionChanged, ContradictionClosed}

// Change is one difference between two pools. Its texts are masked.
type Change struct {
	Kind    ChangeKind
	ID      string // of the record; of a contradiction the journal's entry, "" for a key
	Page    string // of a claim
	Key     string // of state
	Summary string // what holds now; of an end what held
	Before  string // what held, where something else does now
	Words   []textdiff.Part
	Fields  []string // of a changed claim: what changed
	By      []string // ids that superseded the claim, or are the sides of a contradiction
	Signer  string   // of a promotion
	Refs    []string // its evidence
}

// AppendJSON appends the change as one JSON object.
func (c *Change) AppendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("schema", ChangeSchema)
	o.Text("change", string(c.Kind))
	o.Optional("id", c.ID)
	o.Optional("page", c.Page)
	o.Optional("stateKey", c.Key)
	o.Optional("summary", c.Summary)
	o.Optional("before", c.Before)
	if len(c.Words) > 0 {
		o.Name("words")
		o.Bytes = append(o.Bytes, '[')
		for i, p := range c.Words {
			if i > 0 {
				o.Bytes = append(o.Bytes, ',')
			}
			part := ndjson.NewObject(o.Bytes)
			part.Text("op", string(p.Op))
			part.Text("text", p.Text)
			o.Bytes = part.End()
		}
		o.Bytes = append(o.Bytes, ']')
	}
	for _, l := range []struct {
		name   string
		values []string
	}{{"fields", c.Fields}, {c.byName(), c.By}} {
		if len(l.values) > 0 {
			o.List(l.name, l.values)
		}
	}
	o.Optional("promotedBy", c.Signer)
	if len(c.Refs) > 0 {
		o.List("evidenceRefs", c.Refs)
	}
	return o.End()
}

func (c *Change) byName() string {
	if c.Kind == ClaimSuperseded {
		return "replacedBy"
	}
	return "sides"
}

// MarshalJSON returns what AppendJSON appends.
func (c Change) MarshalJSON() ([]byte, error) { return c.AppendJSON(nil), nil }

// Compare returns what changed from one pool to another, both with ended items: reviewed
// claims, values of state and open contradictions; by kind, then key, page and id. The
// items are taken over, as by [Compile].
func Compare(from, to []item.Item, o Options) []Change {
	d := &comparison{from: newCompiler(from, o), to: newCompiler(to, o)}
	d.claims()
	d.values()
	d.contradictions()
	slices.SortStableFunc(d.changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(slices.Index(changeOrder, a.Kind), slices.Index(changeOrder, b.Kind)),
			strings.Compare(a.Key, b.Key), strings.Compare(a.Page, b.Page), strings.Compare(a.ID, b.ID))
	})
	return d.changes
}

type comparison struct {
	from, to *compiler
	changes  []Change
}

func (d *comparison) add(c Change) { d.changes = append(d.changes, c) }

// holds returns the index of a reviewed claim that holds, by id.
func (c *compiler) holds(id string) (int, bool) {
	i, known := c.byID[id]
	return i, known && c.isClaim(i)
}

// isClaim reports whether an item is a reviewed claim that holds and is no state.
func (c *compiler) isClaim(i int) bool {
	it := &c.items[i]
	return it.Kind != item.KindState && it.Live() && reviewed(it)
}

func (d *comparison) claims() {
	for i := range d.to.items {
		if !d.to.isClaim(i) {
			continue
		}
		it := &d.to.items[i]
		change := Change{Kind: ClaimAdded, ID: d.to.anchors[i], Page: d.to.homes[i], Summary: it.Summary}
		if j, held := d.from.holds(d.to.ids[i]); held {
			was := &d.from.items[j]
			if change.Fields = changedFields(was, it); len(change.Fields) == 0 {
				continue
			}
			change.Kind = ClaimChanged
			if was.Summary != it.Summary {
				change.Before, change.Words = was.Summary, textdiff.Words(was.Summary, it.Summary)
			}
		}
		d.add(change)
	}
	for i := range d.from.items {
		id := d.from.ids[i]
		if _, holds := d.to.holds(id); holds || !d.from.isClaim(i) {
			continue
		}
		change := Change{Kind: ClaimRemoved, ID: d.from.anchors[i], Page: d.from.homes[i], Summary: d.from.items[i].Summary}
		if j, known := d.to.byID[id]; known && d.to.items[j].Status == item.StatusSuperseded {
			change.Kind = ClaimSuperseded
			for _, by := range d.to.replacedBy[id] {
				change.By = append(change.By, d.to.anchors[by])
			}
		}
		d.add(change)
	}
}

// changedFields names what a reader would see changed.
func changedFields(a, b *item.Item) []string {
	var names []string
	for _, f := range []struct {
		name string
		same bool
	}{
		{"summary", a.Summary == b.Summary}, {"authority", a.Authority == b.Authority}, {"confidence", a.Confidence == b.Confidence},
		{"scope", a.Scope == b.Scope}, {"memoryKind", a.MemoryKind == b.MemoryKind}, {"sourceRef", a.Provenance.SourceRef == b.Provenance.SourceRef},
		{"derivedFrom", slices.Equal(a.Provenance.DerivedFrom, b.Provenance.DerivedFrom)}, {"evidenceRefs", slices.Equal(a.EvidenceRefs, b.EvidenceRefs)},
	} {
		if !f.same {
			names = append(names, f.name)
		}
	}
	return names
}

// isValue reports whether an item is a value of state, current or superseded.
func isValue(it *item.Item) bool {
	return it.Kind == item.KindState && (it.Status == item.StatusCurrent || it.Status == item.StatusSuperseded)
}

// values reports every value that was promoted in between, also one that was replaced
// since, and values that hold no more though nothing was promoted in their place.
func (d *comparison) values() {
	type key struct{ project, key string }
	held, promoted := map[key][]int{}, map[key]bool{}
	for i := range d.from.items {
		if it := &d.from.items[i]; isValue(it) && it.Status == item.StatusCurrent {
			at := key{it.Project, it.StateKey}
			held[at] = append(held[at], i)
		}
	}
	for i := range d.to.items {
		it := &d.to.items[i]
		if !isValue(it) {
			continue
		}
		if j, known := d.from.byID[d.to.ids[i]]; known && isValue(&d.from.items[j]) {
			continue
		}
		at := key{it.Project, it.StateKey}
		promoted[at] = true
		change := Change{Kind: StatePromoted, ID: d.to.anchors[i], Key: it.StateKey, Summary: it.Summary, Signer: it.Provenance.Signer, Refs: it.EvidenceRefs}
		if before := held[at]; len(before) == 1 {
			change.Before = d.from.items[before[0]].Summary
			change.Words = textdiff.Words(change.Before, it.Summary)
		}
		d.add(change)
	}
	for at, indexes := range held {
		for _, i := range indexes {
			j, known := d.to.byID[d.from.ids[i]]
			if promoted[at] || known && d.to.items[j].Status == item.StatusCurrent {
				continue
			}
			d.add(Change{Kind: StateEnded, ID: d.from.anchors[i], Key: d.from.items[i].StateKey, Summary: d.from.items[i].Summary})
		}
	}
}

func (d *comparison) contradictions() {
	before, after := d.from.openByName(), d.to.openByName()
	for name, c := range after {
		was, open := before[name]
		switch {
		case !open:
			c.Kind = ContradictionOpened
		case !slices.Equal(was.By, c.By):
			c.Kind = ContradictionChanged
		default:
			continue
		}
		d.add(c)
	}
	for name, c := range before {
		if _, open := after[name]; !open {
			c.Kind = ContradictionClosed
			d.add(c)
		}
	}
}

// openByName returns the open contradictions: of a key by its project, itself and what
// its sides are, of the journal by the entry.
func (c *compiler) openByName() map[[4]string]Change {
	open := map[[4]string]Change{}
	for _, contradiction := range c.contradictions {
		change := Change{Key: masked(contradiction.Key)}
		for _, side := range contradiction.Sides {
			change.By = append(change.By, c.anchors[side])
		}
		name := [4]string{contradiction.Project, contradiction.Key, string(contradiction.Status)}
		first := contradiction.Sides[0]
		switch contradiction.Status {
		case "":
			name[3] = c.ids[first]
			change.ID, change.Summary, change.By = c.anchors[first], c.items[first].Summary, nil
		case item.StatusCurrent:
			change.Summary = count(len(contradiction.Sides), "current value")
		default:
			change.Summary = count(len(contradiction.Sides), "proposal")
		}
		open[name] = change
	}
	return open
}

package wiki

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kxm/lib/fault"
	"kxm/lib/item"
)

func folderOf(w *Wiki) map[string][]byte {
	folder := map[string][]byte{}
	for _, p := range w.Pages {
		folder[p.Name] = p.Content
	}
	return folder
}

func TestOwnersOfPages(t *testing.T) {
	ours := seal([]byte("# Page\n\ntext\n\n"))
	for _, c := range []struct {
		data []byte
		want Ownership
	}{
		{ours, Ours}, {bytes.ReplaceAll(ours, []byte("\n"), []byte("\r\n")), Ours}, {seal(nil), Ours},
		{bytes.Replace(ours, []byte("text"), []byte("Text"), 1), Edited},
		{append(bytes.Clone(ours), "more\n"...), Edited}, {bytes.TrimSuffix(ours, []byte("\n")), Edited},
		{bytes.Replace(ours, []byte("\n"), []byte("\r\n"), 1), Edited},
		{[]byte("# Page\n\ntext\n"), NotOurs}, {nil, NotOurs}, {[]byte("see `" + string(ours[len("# Page\n\ntext\n\n"):])), NotOurs},
	} {
		if got := Owner(c.data); got != c.want {
			t.Errorf("%q: %d, want %d", c.data, got, c.want)
		}
	}
}

func TestPlansNeverOverwriteWhatIsNotOurs(t *testing.T) {
	w := compile(t, everything(), Options{})
	old := seal([]byte("# Old\n"))
	for _, c := range []struct {
		name   string
		change func(map[string][]byte)
		force  bool
		want   string // written, removed
		code   fault.Code
	}{
		{"nothing there", func(f map[string][]byte) { clear(f) }, false, "8 []", ""},
		{"nothing changed", func(map[string][]byte) {}, false, "0 []", ""},
		{"line ends of another system", func(f map[string][]byte) {
			f["state.md"] = bytes.ReplaceAll(f["state.md"], []byte("\n"), []byte("\r\n"))
		}, false, "0 []", ""},
		{"an older page", func(f map[string][]byte) { f["state.md"] = old }, false, "1 []", ""},
		{"a page no longer made", func(f map[string][]byte) { f["proposals.md"] = old }, false, "0 [proposals.md]", ""},
		{"a page of another name", func(f map[string][]byte) { f["runbooks.md"] = old }, false, "0 [runbooks.md]", ""},
		{"a file of somebody's", func(f map[string][]byte) { f["notes.md"] = []byte("mine") }, false, "0 []", ""},
		{"a file of somebody's, force", func(f map[string][]byte) { f["notes.md"] = []byte("mine") }, true, "0 []", ""},
		{"somebody's at a page's path", func(f map[string][]byte) { f["state.md"] = []byte("mine") }, false, "", fault.WikiPageNotOurs},
		{"somebody's at a page's path, force", func(f map[string][]byte) { f["state.md"] = []byte("mine") }, true, "1 []", ""},
		{"edited", func(f map[string][]byte) { f["state.md"] = append([]byte("x"), f["state.md"]...) }, false, "", fault.WikiPageEdited},
		{"edited, force", func(f map[string][]byte) { f["state.md"] = append([]byte("x"), f["state.md"]...) }, true, "1 []", ""},
		{"edited and no longer made", func(f map[string][]byte) { f["journal.md"] = append([]byte("x"), old...) }, false, "", fault.WikiPageEdited},
		{"edited and no longer made, force", func(f map[string][]byte) { f["journal.md"] = append([]byte("x"), old...) }, true, "0 [journal.md]", ""},
	} {
		folder := folderOf(w)
		c.change(folder)
		p, err := NewPlan(w.Pages, folder, c.force)
		if fault.CodeOf(err) != c.code {
			t.Errorf("%s: %v", c.name, err)
		}
		if err == nil && fmt.Sprint(len(p.Write), p.Remove) != c.want {
			t.Errorf("%s: writes %d, removes %v", c.name, len(p.Write), p.Remove)
		}
		if err == nil && len(p.Write)+len(p.Unchanged) != len(w.Pages) {
			t.Errorf("%s: %d unchanged", c.name, len(p.Unchanged))
		}
	}
}

func TestChecksKnowWhatIsOnlyBehind(t *testing.T) {
	pool := func(change func(items []item.Item) []item.Item) item.Pool {
		p := everything()
		p.Items = change(p.Items)
		return p
	}
	find := func(items []item.Item, id string) *item.Item {
		return &items[slices.IndexFunc(items, func(it item.Item) bool { return it.ID == id })]
	}
	same := func(items []item.Item) []item.Item { return items }
	for _, c := range []struct {
		name         string
		change       func([]item.Item) []item.Item // of the pool that the pages on disk were made from
		edit         func(map[string][]byte)
		names        string
		behind, diff bool
	}{
		{"equal", same, nil, "[]", false, false},
		{"a new value", func(items []item.Item) []item.Item {
			find(items, "ctx_2").Summary = "older"
			return items
		}, nil, "[index.md state.md]", true, true},
		{"no state at all", func(items []item.Item) []item.Item {
			return slices.DeleteFunc(items, func(it item.Item) bool { return ofState(it.ID) })
		}, nil, "[architecture.md contradictions.md decisions.md incidents.md index.md state.md]", true, true},
		{"an entry that a fact cites", func(items []item.Item) []item.Item {
			find(items, "mem_pnpm").EvidenceRefs = []string{"journal_e"}
			return slices.DeleteFunc(items, func(it item.Item) bool { return it.ID == "journal_e" })
		}, nil, "[contradictions.md incidents.md index.md patterns.md]", false, true},
		{"a fact's words", func(items []item.Item) []item.Item {
			find(items, "mem_arch").Summary = "Arrows point up"
			return items
		}, nil, "[architecture.md index.md]", false, true},
		{"a fact's source alone", func(items []item.Item) []item.Item {
			find(items, "mem_arch").Provenance.SourceRef = "docs"
			return items
		}, nil, "[architecture.md index.md]", false, true},
		{"a fact's file", func(items []item.Item) []item.Item {
			find(items, "mem_arch").Provenance.Path = ".kxm/memory/b.md"
			return items
		}, nil, "[architecture.md index.md]", false, true},
		{"a fact's page", func(items []item.Item) []item.Item {
			find(items, "mem_arch").MemoryKind = "decision"
			return items
		}, nil, "[architecture.md decisions.md index.md]", false, true},
		{"a new fact", func(items []item.Item) []item.Item {
			return slices.DeleteFunc(items, func(it item.Item) bool { return it.ID == "mem_arch" })
		}, nil, "[architecture.md index.md]", false, true},
		{"an edited page", same, func(f map[string][]byte) { f["state.md"] = append([]byte("x"), f["state.md"]...) }, "[state.md]", false, true},
		{"a new value beside an edited page", func(items []item.Item) []item.Item {
			find(items, "ctx_2").Summary = "older"
			return items
		}, func(f map[string][]byte) { f["patterns.md"] = append([]byte("x"), f["patterns.md"]...) }, "[index.md patterns.md state.md]", false, true},
		{"a page of ours that is no longer made", same, func(f map[string][]byte) { f["journal.md"] = seal([]byte("# Journal\n\n")) }, "[journal.md]", true, true},
		{"somebody's page", same, func(f map[string][]byte) { f["notes.md"] = []byte("mine") }, "[]", false, false},
		{"nothing compiled", same, func(f map[string][]byte) { clear(f) },
			"[architecture.md contradictions.md decisions.md history.md incidents.md index.md patterns.md state.md]", false, true},
	} {
		folder := folderOf(compile(t, pool(c.change), Options{}))
		if c.edit != nil {
			c.edit(folder)
		}
		d := Check(compile(t, everything(), Options{}).Pages, folder, Folder)
		if fmt.Sprint(d.Names) != c.names && !(len(d.Names) == 0 && c.names == "[]") || d.Behind != c.behind || (len(d.Diff) > 0) != c.diff {
			t.Errorf("%s: %v, behind %v, %d bytes of difference", c.name, d.Names, d.Behind, len(d.Diff))
		}
	}
	// That a fact cites an entry is the branch's; whether the entry can be shown is not.
	cites := func(items []item.Item) []item.Item {
		find(items, "mem_pnpm").EvidenceRefs = []string{"journal_e"}
		return items
	}
	now := compile(t, pool(cites), Options{})
	then := compile(t, pool(func(items []item.Item) []item.Item {
		return slices.DeleteFunc(cites(items), func(it item.Item) bool { return it.ID == "journal_e" })
	}), Options{})
	if d := Check(now.Pages, folderOf(then), Folder); !d.Behind || !strings.Contains(string(d.Diff), "--- a/.kxm/knowledge/wiki/patterns.md\n+++ b/.kxm/knowledge/wiki/patterns.md\n") {
		t.Errorf("a link to an entry: %v, behind %v\n%s", d.Names, d.Behind, d.Diff)
	}
}

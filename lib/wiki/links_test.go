package wiki

import (
	"bytes"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"testing"

	"kxm/lib/item"
	"kxm/lib/kxmtest"
)

// largePool is a pool of so many items of every kind that has a page, some of them
// superseded, contradictory or cited by others.
func largePool(n int) item.Pool {
	r := rand.New(rand.NewPCG(5, uint64(n)))
	var pool item.Pool
	for i := range n {
		id := fmt.Sprint(i)
		switch i % 5 {
		case 0:
			status := []item.Status{item.StatusCurrent, item.StatusSuperseded, item.StatusCurrent}[r.IntN(3)]
			pool.Items = append(pool.Items, value(id, fmt.Sprintf("part %d/key", r.IntN(n/4)), "value | "+id, status))
		case 1:
			pool.Items = append(pool.Items, entry(id, "lesson", "Lesson *"+id+"*", item.StatusCurrent))
		default:
			pool.Items = append(pool.Items, fact(id, []string{"decision", "convention", "layout"}[i%3], "Fact `"+id+"`", func(it *item.Item) {
				it.Provenance.Path = ".kxm/memory/fact " + id + ".md"
				if other := r.IntN(n); other%5 > 1 && other != i {
					it.Provenance.DerivedFrom = []string{fmt.Sprintf("mem_%d", other)}
				}
			}))
		}
	}
	return pool
}

var (
	href   = regexp.MustCompile(`href="([^"]*)"`)
	anchor = regexp.MustCompile(`(?:id|name)="([^"]*)"`)
)

// TestEveryLinkResolves renders the pages of a large pool with a program that is not
// ours and follows every link to a page, an anchor or a record's file.
func TestEveryLinkResolves(t *testing.T) {
	program := kxmtest.Need(t, "cmark-gfm")
	pool := largePool(10_000)
	files := map[string]bool{}
	for i := range pool.Items {
		if p := pool.Items[i].Provenance.Path; p != "" {
			files[p] = true
		}
	}
	w := compile(t, pool, Options{Journal: true})
	again := compile(t, largePool(10_000), Options{Journal: true})
	if !slices.EqualFunc(w.Pages, again.Pages, func(a, b Page) bool { return a.Name == b.Name && bytes.Equal(a.Content, b.Content) }) {
		t.Error("the same pool gave other pages")
	}
	anchors := map[string]map[string]bool{}
	rendered := map[string][]byte{}
	for _, p := range w.Pages {
		cmd := exec.Command(program, "--unsafe", "-e", "table", "-e", "autolink")
		cmd.Stdin = bytes.NewReader(p.Content)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		rendered[p.Name], anchors[p.Name] = out, map[string]bool{}
		for _, m := range anchor.FindAllSubmatch(out, -1) {
			id := html.UnescapeString(string(m[1]))
			if anchors[p.Name][id] {
				t.Errorf("%s has the anchor %q twice", p.Name, id)
			}
			anchors[p.Name][id] = true
		}
	}
	links := 0
	for name, out := range rendered {
		for _, m := range href.FindAllSubmatch(out, -1) {
			links++
			target, err := url.Parse(html.UnescapeString(string(m[1])))
			if err != nil || target.Scheme != "" || target.Host != "" {
				t.Fatalf("%s links to %s, %v", name, m[1], err)
			}
			page := name
			if target.Path != "" {
				page = target.Path
			}
			if file := path.Join(".kxm/knowledge/wiki", page); files[file] {
				continue
			}
			if anchors[page] == nil || target.Fragment != "" && !anchors[page][target.Fragment] {
				t.Fatalf("%s links to %s, which is not there", name, m[1])
			}
		}
	}
	if links < 10_000 {
		t.Errorf("only %d links", links)
	}
	pages := map[string][]byte{}
	for _, p := range w.Pages {
		pages[p.Name] = p.Content
	}
	exists := func(name string) bool { return files[name] }
	for _, f := range Lint(LintInput{Pages: pages, Folder: ".kxm/knowledge/wiki", Items: largePool(10_000).Items, Project: "demo", Exists: exists}) {
		t.Errorf("%s", f.Text())
	}
}

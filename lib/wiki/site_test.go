package wiki

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kxm/lib/item"
)

// element is a start of an element of HTML, with the text up to the next.
type element struct {
	name       string
	attributes map[string]string
	text       string
}

// elements reads a page as a browser would, near enough: style and script, which are
// ours, are taken out first, and what is not well-formed fails the test.
func elements(t testing.TB, page []byte) []element {
	t.Helper()
	source := string(page)
	for _, own := range []string{siteCSS, siteJS} {
		if strings.Count(source, own) != 1 {
			t.Fatal("the page does not hold its style and script once")
		}
		source = strings.Replace(source, own, "", 1)
	}
	d := xml.NewDecoder(strings.NewReader(source))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var all []element
	for {
		token, err := d.Token()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, page)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := element{name: token.Name.Local, attributes: map[string]string{}}
			for _, a := range token.Attr {
				e.attributes[a.Name.Local] = a.Value
			}
			all = append(all, e)
		case xml.CharData:
			if len(all) > 0 {
				all[len(all)-1].text += string(token)
			}
		}
	}
}

func site(t testing.TB, pool item.Pool, records string) []Page {
	t.Helper()
	pages, err := compile(t, pool, Options{Proposals: true, Journal: true}).Site(records)
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

func TestSitesHaveTheirStructure(t *testing.T) {
	pages := site(t, everything(), "../")
	names := map[string]map[string]bool{} // ids by file
	for _, p := range pages {
		ids := map[string]bool{}
		for _, e := range elements(t, p.Content) {
			if id, ok := e.attributes["id"]; ok {
				if ids[id] {
					t.Errorf("%s has the id %q twice", p.Name, id)
				}
				ids[id] = true
			}
		}
		names[p.Name] = ids
	}
	for _, p := range pages {
		all := elements(t, p.Content)
		count := map[string]int{}
		for _, e := range all {
			count[e.name]++
			for _, a := range []string{"aria-labelledby", "aria-controls", "aria-describedby", "for"} {
				if id, ok := e.attributes[a]; ok && !names[p.Name][id] {
					t.Errorf("%s: %s names %q, which is not there", p.Name, a, id)
				}
			}
			href, ok := e.attributes["href"]
			if !ok {
				continue
			}
			u, err := url.Parse(href)
			if err != nil || u.Scheme != "" || u.Host != "" {
				t.Errorf("%s links to %q", p.Name, href)
				continue
			}
			file := u.Path
			if file == "" {
				file = p.Name
			}
			if ids := names[file]; ids == nil && !strings.HasPrefix(file, "../.kxm/") || ids != nil && u.Fragment != "" && !ids[u.Fragment] {
				t.Errorf("%s links to %q, which is not there", p.Name, href)
			}
		}
		for _, landmark := range []string{"header", "nav", "main", "footer", "h1", "title", "style", "script"} {
			if count[landmark] != 1 {
				t.Errorf("%s has %d of %s", p.Name, count[landmark], landmark)
			}
		}
		first := all[slices.IndexFunc(all, func(e element) bool { return e.name == "body" })+1]
		if first.attributes["href"] != "#content" {
			t.Errorf("%s does not begin with a way to its content", p.Name)
		}
		if Owner(p.Content) != Ours {
			t.Errorf("%s has no mark", p.Name)
		}
	}
	if !slices.EqualFunc(pages, site(t, everything(), "../"), func(a, b Page) bool { return bytes.Equal(a.Content, b.Content) }) {
		t.Error("the same pool gave other pages")
	}
}

func TestSitesSayWhatPagesSay(t *testing.T) {
	w := compile(t, everything(), Options{})
	pages, err := w.Site("")
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) != len(w.Pages) {
		t.Errorf("%d pages, want %d", len(pages), len(w.Pages))
	}
	markdown := homes(w)
	for _, p := range pages {
		var got []string
		for _, e := range elements(t, p.Content) {
			if id, ok := strings.CutPrefix(e.attributes["id"], claimAnchor); ok {
				got = append(got, id)
			}
		}
		if want := markdown[strings.TrimSuffix(p.Name, ".html")+".md"]; !slices.Equal(got, want) {
			t.Errorf("%s holds %v, want %v", p.Name, got, want)
		}
	}
	state := string(pages[slices.IndexFunc(pages, func(p Page) bool { return p.Name == "state.html" })].Content)
	for _, want := range []string{
		`<article class="claim Superseded" id="claim-ctx_3" data-from="1785542400000" data-until="1788264000000">`,
		`<article class="claim Current" id="claim-ctx_2" data-from="1788264000000" data-until="">`,
		"<dt>Promoted by</dt><dd><bdi>ada</bdi></dd>\n<dt>Self-promoted</dt><dd><bdi>yes</bdi></dd>",
	} {
		if !strings.Contains(state, want) {
			t.Errorf("state.html does not say %s", want)
		}
	}
	for _, p := range pages {
		if strings.Contains(string(p.Content), "../.kxm") {
			t.Errorf("%s links to a record that is out of reach", p.Name)
		}
	}
}

func TestLineagesAreFollowed(t *testing.T) {
	from := func(ids ...string) func(*item.Item) {
		return func(it *item.Item) { it.Provenance.DerivedFrom = ids }
	}
	pages := site(t, item.Pool{Items: []item.Item{
		fact("a", "", "A", from("mem_b", "mem_c")), fact("b", "", "B", from("mem_d", "mem_a")), fact("c", "", "C", from("mem_d", "gone")), fact("d", "", "D", from("mem_c")),
	}}, "")
	text := string(pages[1].Content)
	link := func(id string) string { return `<a href="#claim-` + id + `"><bdi>` + id + `</bdi></a>` }
	want := "<dt>Derived from</dt><dd>" + link("mem_b") + ", " + link("mem_c") + "</dd>\n<dt>Lineage</dt><dd>" + link("mem_d") + ", <bdi>gone</bdi></dd>\n"
	if !strings.Contains(text, want) {
		t.Errorf("the lineage is not\n%s\nin\n%s", want, text)
	}
}

// checkSite holds that hostile texts add no element and no attribute to a site.
func checkSite(t testing.TB, s string) {
	t.Helper()
	if oneLine(s) == "" || masked(s) != s {
		return
	}
	of := func(s string) (names []string, text string) {
		_, w := structure(t, s)
		pages, err := w.Site("../")
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pages {
			for _, e := range elements(t, p.Content) {
				keys := []string{}
				for k := range e.attributes {
					keys = append(keys, k)
				}
				slices.Sort(keys)
				names = append(names, p.Name+" "+e.name+" "+strings.Join(keys, " "))
				text += e.text
				for _, a := range []string{"href", "src"} {
					if u, err := url.Parse(e.attributes[a]); err != nil || u.Scheme != "" || u.Host != "" {
						t.Errorf("%q: a link leads to %q", s, e.attributes[a])
					}
				}
			}
		}
		slices.Sort(names) // another id stands in another place
		return names, text
	}
	want, _ := of("harmless")
	got, text := of(s)
	if !slices.Equal(got, want) {
		t.Errorf("%q changes the site", s)
	}
	if !strings.Contains(text, oneLine(s)) {
		t.Errorf("the site does not show %q", oneLine(s))
	}
}

func TestHostileRecordsChangeNoSite(t *testing.T) {
	for _, s := range append(slices.Clone(hostile), `"><script>alert(1)</script>`, "</script><script>alert(1)</script>", "{{.JS}}", "' onclick='x", "claim-x", "theme") {
		checkSite(t, s)
	}
}

func FuzzHostileRecordsChangeNoSite(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkSite(t, short(s)) })
}

// TestColoursHaveContrast holds every pair of text and background to WCAG's 4.5 to 1.
func TestColoursHaveContrast(t *testing.T) {
	luminance := func(hex string) float64 {
		n, err := strconv.ParseUint(hex, 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for i, weight := range []float64{0.0722, 0.7152, 0.2126} {
			c := float64(n>>(8*i)&255) / 255
			if c <= 0.03928 {
				c /= 12.92
			} else {
				c = math.Pow((c+0.055)/1.055, 2.4)
			}
			sum += weight * c
		}
		return sum
	}
	sets := regexp.MustCompile(`--back: .*`).FindAllString(siteCSS, -1)
	if len(sets) != 3 || sets[1] != sets[2] {
		t.Fatalf("the colours are %q; dark ones by choice and by preference must be the same", sets)
	}
	for _, set := range sets {
		colours := map[string]string{}
		for _, m := range regexp.MustCompile(`--(\w+): #(\w{6})`).FindAllStringSubmatch(set, -1) {
			colours[m[1]] = m[2]
		}
		for _, text := range []string{"text", "faint", "link", "mark", "warn"} {
			for _, back := range []string{"back", "panel"} {
				a, b := luminance(colours[text])+0.05, luminance(colours[back])+0.05
				if ratio := max(a, b) / min(a, b); ratio < 4.5 {
					t.Errorf("%s on %s has a contrast of %.2f", text, back, ratio)
				}
			}
		}
	}
}

func TestThePolicyAllowsWhatIsThere(t *testing.T) {
	for _, p := range site(t, everything(), "") {
		text := string(p.Content)
		if !strings.Contains(text, `<meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;; style-src &#39;sha256-`) {
			t.Errorf("%s has no policy", p.Name)
		}
		for _, outside := range []string{"http://", "https://", "//cdn", "url(", "@import", " src=", "fetch(", "XMLHttpRequest"} {
			if strings.Contains(text, outside) {
				t.Errorf("%s holds %q", p.Name, outside)
			}
		}
	}
	if fmt.Sprint(strings.Count(policy(), "sha256-")) != "2" {
		t.Errorf("the policy is %s", policy())
	}
}

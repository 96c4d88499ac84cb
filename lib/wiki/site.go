package wiki

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"kxm/lib/item"
)

// The parts of the site. They stand in every page, so that a page is one file and needs
// no other to be read; the policy of each page lets just these two run and styles apply.
var (
	//go:embed site/page.html
	siteTemplate string
	//go:embed site/site.css
	siteCSS string
	//go:embed site/site.js
	siteJS string
)

var siteParsed = sync.OnceValue(func() *template.Template { return template.Must(template.New("site").Parse(siteTemplate)) })

// policy returns what a page may load and run: nothing but its own style and script.
func policy() string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; style-src " + hash(siteCSS) + "; script-src " + hash(siteJS) + "; base-uri 'none'; form-action 'none'"
}

type (
	sitePage struct {
		Policy, Title, Holds, Project, CompiledFrom string
		CSS                                         template.CSS
		JS                                          template.JS
		Nav                                         []siteLink
		Index, Timeline                             bool
		Empty                                       string
		Claims                                      []siteClaim // of the index: all
		Sections                                    []siteSection
	}
	siteLink struct {
		File, Title, Count string
		Here               bool
	}
	siteSection struct {
		Class, Anchor string
		Title, Rest   string // a text of a record, and ours behind it
		Claims        []siteClaim
	}
	siteClaim struct {
		ID, Anchor, Summary, Key, Home, Label, Authority, Period string
		AtHome, Value                                            bool
		From, Until                                              string // milliseconds since 1970
		Facts                                                    []siteFact
	}
	siteFact struct {
		Name string
		Refs []siteRef
	}
	siteRef struct{ Text, Target string }
)

// Site makes the pages as HTML: files that need no network, each with the mark. records
// leads from their folder to the top of the repository, such as "../", or is "" where
// no link to a record can be made.
func (w *Wiki) Site(records string) ([]Page, error) {
	s := &siteBuilder{compiler: w.compiler, wiki: w, records: records}
	index := s.page(pageIndex, "Knowledge", "What the project's records say, for people to read and review.")
	index.Index = true
	for i := range s.items {
		if s.homes[i] != "" {
			index.Claims = append(index.Claims, siteClaim{ID: oneLine(s.anchors[i]), Summary: oneLine(s.items[i].Summary), Key: oneLine(s.items[i].StateKey), Home: s.home(i, pageIndex)})
		}
	}
	all := []Page{{Name: htmlName(pageIndex), Title: index.Title}}
	data := []sitePage{index}
	for _, d := range described {
		if !slices.ContainsFunc(w.Pages, func(p Page) bool { return p.Name == d.name }) {
			continue
		}
		p := s.page(d.name, d.title, strings.NewReplacer("[State](state.md)", "State").Replace(d.holds))
		s.fill(&p, d.name)
		all = append(all, Page{Name: htmlName(d.name), Title: d.title, Claims: len(s.onPage[d.name])})
		data = append(data, p)
	}
	for i := range all {
		var out bytes.Buffer
		if err := siteParsed().Execute(&out, data[i]); err != nil {
			return nil, fmt.Errorf("writing %s: %w", all[i].Name, err)
		}
		all[i].Content = seal(out.Bytes())
	}
	return all, nil
}

// htmlName returns the name of a page's file in the site.
func htmlName(page string) string { return strings.TrimSuffix(page, ".md") + ".html" }

type siteBuilder struct {
	*compiler
	wiki    *Wiki
	records string
}

// page returns what all pages have in common.
func (s *siteBuilder) page(name, title, holds string) sitePage {
	p := sitePage{Policy: policy(), Title: title, Holds: holds, Project: oneLine(s.project), CompiledFrom: s.wiki.Audit.CompiledFrom,
		CSS: template.CSS(siteCSS), JS: template.JS(siteJS)}
	for _, other := range s.wiki.Pages {
		link := siteLink{File: htmlName(other.Name), Title: other.Title, Count: s.wiki.countOf(&other), Here: other.Name == name}
		p.Nav = append(p.Nav, link)
	}
	return p
}

// fill adds a page's claims, in the order and the sections of its Markdown.
func (s *siteBuilder) fill(p *sitePage, name string) {
	switch name {
	case pageState:
		p.Timeline = len(s.onPage[name]) > 0
		for i, key := range s.keys() {
			section := siteSection{Class: "key", Anchor: "key-" + strconv.Itoa(i+1), Title: oneLine(key.name)}
			for _, i := range key.current {
				section.Claims = append(section.Claims, s.claim(i, name, labelCurrent))
			}
			for _, i := range key.ended {
				section.Claims = append(section.Claims, s.claim(i, name, labelSuperseded))
			}
			p.Sections = append(p.Sections, section)
		}
		if len(p.Sections) == 0 {
			p.Empty = emptyState
		}
	case pageContradictions:
		for i, c := range s.sortedContradictions() {
			before, text, after := s.contradictionTitle(c)
			section := siteSection{Class: "contradiction", Anchor: "contradiction-" + strconv.Itoa(i+1), Title: before + oneLine(text), Rest: after}
			for _, side := range s.sidesOf(c) {
				section.Claims = append(section.Claims, s.claim(side, name, ""))
			}
			p.Sections = append(p.Sections, section)
		}
		if len(p.Sections) == 0 {
			p.Empty = emptyContradictions
		}
	default:
		section := siteSection{Class: "list"}
		for _, i := range s.onPage[name] {
			section.Claims = append(section.Claims, s.claim(i, name, ""))
		}
		p.Sections = []siteSection{section}
	}
}

// claimAnchor stands before an id that is an element's: no record may take the place of
// what the script looks for.
const claimAnchor = "claim-"

// home returns the link to an item's home from a page.
func (s *siteBuilder) home(i int, page string) string {
	switch s.homes[i] {
	case "":
		return ""
	case page:
		return fragment(claimAnchor + s.anchors[i])
	}
	return htmlName(s.homes[i]) + fragment(claimAnchor+s.anchors[i])
}

func (s *siteBuilder) claim(i int, page, label string) siteClaim {
	it := &s.items[i]
	c := siteClaim{ID: oneLine(s.anchors[i]), Anchor: claimAnchor + s.anchors[i], Summary: oneLine(it.Summary), AtHome: s.homes[i] == page, Label: label, Value: isValue(it)}
	if it.Authority == item.AuthorityPolicy || it.Authority == item.AuthorityInstruction {
		c.Authority = string(it.Authority)
	}
	if c.Value {
		c.From, c.Until = milliseconds(it.ValidFrom, it.ObservedAt), milliseconds(it.ValidUntil)
		c.Period = "since " + it.ValidFrom
		if it.ValidUntil != "" {
			c.Period = "from " + it.ValidFrom + " until " + it.ValidUntil
		}
	}
	c.Facts = s.facts(i, page)
	return c
}

// milliseconds returns the first of the times that is given, or "".
func milliseconds(times ...string) string {
	for _, text := range times {
		if t, err := item.ParseTime(text); text != "" && err == nil {
			return strconv.FormatInt(t.Truncate(time.Millisecond).UnixMilli(), 10)
		}
	}
	return ""
}

// facts returns the provenance and lineage of an item.
func (s *siteBuilder) facts(i int, page string) []siteFact {
	it := &s.items[i]
	p := &it.Provenance
	var facts []siteFact
	add := func(name string, refs ...siteRef) {
		refs = slices.DeleteFunc(refs, func(r siteRef) bool { return r.Text == "" })
		if len(refs) > 0 {
			facts = append(facts, siteFact{name, refs})
		}
	}
	text := func(s string) siteRef { return siteRef{Text: oneLine(s)} }
	if s.homes[i] != page {
		add("At home on", siteRef{strings.TrimSuffix(s.homes[i], ".md"), s.home(i, page)})
	}
	record := text(p.Path)
	if s.records != "" && p.Path != "" {
		record.Target = s.records + string(appendTarget(nil, p.Path, true))
	}
	add("Record", record)
	add("Object", text(p.Blob))
	add("Source", text(p.SourceRef))
	add("Origin", text(string(p.SourceType)))
	add("Authority", text(string(it.Authority)))
	add("Confidence", text(string(it.Confidence)))
	add("Promoted by", text(p.Signer))
	if p.SelfPromoted {
		add("Self-promoted", siteRef{Text: "yes"})
	}
	add("Author", text(p.Author))
	add("Observed", text(it.ObservedAt))
	add("Evidence", s.refs(it.EvidenceRefs, page)...)
	add("Derived from", s.refs(p.DerivedFrom, page)...)
	add("Lineage", s.refs(s.lineage(i), page)...)
	add("Replaced by", s.indexes(s.replacedBy[s.ids[i]], page)...)
	return facts
}

// refs returns references of which those that name items are links.
func (s *siteBuilder) refs(ids []string, page string) []siteRef {
	var refs []siteRef
	for _, id := range ids {
		if i, known := s.byID[id]; known {
			refs = append(refs, siteRef{oneLine(s.anchors[i]), s.home(i, page)})
		} else {
			refs = append(refs, siteRef{Text: oneLine(id)})
		}
	}
	return refs
}

func (s *siteBuilder) indexes(items []int, page string) []siteRef {
	var refs []siteRef
	for _, i := range items {
		refs = append(refs, siteRef{oneLine(s.anchors[i]), s.home(i, page)})
	}
	return refs
}

// lineage returns the ancestors behind those that an item names itself, breadth-first,
// each once, at most as many as a lineage may have.
func (s *siteBuilder) lineage(i int) []string {
	seen := map[string]bool{s.ids[i]: true}
	var all []string
	next := s.items[i].Provenance.DerivedFrom
	direct := len(next)
	for len(next) > 0 && len(all) < item.MaxList {
		id := next[0]
		next = next[1:]
		if seen[id] {
			continue
		}
		seen[id] = true
		all = append(all, id)
		if j, known := s.byID[id]; known {
			next = append(slices.Clip(next), s.items[j].Provenance.DerivedFrom...)
		}
	}
	return all[min(direct, len(all)):]
}

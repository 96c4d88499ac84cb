package prompt

import (
	"strings"

	"kxm/lib/prompt/text"
)

// framingID stands for what belongs to no section where sizes and places are told by
// id.
const framingID = "framing"

// layout writes blocks, one blank line apart, and keeps account of whose each
// character is.
type layout struct {
	text    strings.Builder
	silent  bool // only count: the text stays empty
	begun   bool
	sizes   []Size
	framing int
	places  []place
}

// place is where, in bytes, the heading of a section begins.
type place struct {
	id string
	at int
}

// frame adds a block that belongs to no section.
func (l *layout) frame(block string) {
	if l.begun {
		l.write(blank)
		l.framing += len(blank)
	}
	l.begun = true
	l.write(block)
	l.framing += length(block)
}

func (l *layout) write(text string) {
	if !l.silent {
		l.text.WriteString(text)
	}
}

// section adds a section. A fence that its body leaves open is closed, so that
// nothing swallows the headings behind it; that line is framing.
func (l *layout) section(s *Section) {
	l.frame("## " + s.Title)
	l.places = append(l.places, place{s.ID, l.text.Len() - len("## ") - len(s.Title)})
	l.write(blank)
	l.write(s.Body)
	l.framing += len(blank)
	l.sizes = append(l.sizes, Size{s.ID, s.Size})
	if open := openFence(s.Body); open.open() {
		line := "\n" + open.line()
		l.write(line)
		l.framing += len(line)
	}
}

// end returns the text with its newline; of no block it is empty.
func (l *layout) end() string {
	if !l.begun {
		return ""
	}
	l.write("\n")
	l.framing++
	return l.text.String()
}

// grow makes room for a part of the pack, so that the text is built in one piece.
func (l *layout) grow(sections []Section, part func(Part) bool) {
	if l.silent {
		return
	}
	n := 4 << 10
	for i := range sections {
		if part(sections[i].Part) {
			n += len(sections[i].Body) + len(sections[i].Title) + 16
		}
	}
	l.text.Grow(n)
}

func isStable(p Part) bool  { return p == Stable }
func isDynamic(p Part) bool { return p != Stable }

// system lays the system prompt out: the product's name and the stable sections, and,
// unless the text is for a session that takes a single prompt, what updates are.
func (p *Pack) system(l *layout, updates bool) *layout {
	l.grow(p.Sections, isStable)
	l.frame("# " + p.ProductName)
	for i := range p.Sections {
		if p.Sections[i].Part == Stable {
			l.section(&p.Sections[i])
		}
	}
	if updates {
		guidance, _ := text.Fixed("context-updates")
		l.frame("## " + guidance.Title)
		l.places = append(l.places, place{framingID, l.text.Len() - len("## ") - len(guidance.Title)})
		l.frame(guidance.Body)
	}
	return l
}

// update lays out what is sent of the dynamic sections, and the titles of those that
// no longer hold.
func (p *Pack) update(l *layout, send func(*Section) bool, withdrawn []string) *layout {
	l.grow(p.Sections, isDynamic)
	begin := func() {
		if !l.begun {
			l.frame("# Context update")
		}
	}
	for i := range p.Sections {
		if s := &p.Sections[i]; s.Part != Stable && send(s) {
			begin()
			l.section(s)
		}
	}
	if len(withdrawn) > 0 {
		begin()
		l.frame("## Withdrawn")
		l.frame("- " + strings.Join(withdrawn, "\n- "))
	}
	return l
}

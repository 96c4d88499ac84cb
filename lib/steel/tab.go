package steel

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"kxm/lib/cdp"
	"kxm/lib/fault"
)

// TabSchema names the form of a tab in answers.
const TabSchema = "kxm.steel-tab.v1"

// TabLine is a tab, as answers show it. Fields with nothing to say are left out.
type TabLine struct {
	Schema   string    `json:"schema"`
	Tab      string    `json:"tab"`
	Current  bool      `json:"current"`
	URL      string    `json:"url"`
	Title    string    `json:"title"`
	Opener   string    `json:"opener,omitempty"` // the tab whose page opened it
	Loading  bool      `json:"loading,omitempty"`
	Dialogs  []Dialog  `json:"dialogs,omitempty"`
	Download *Download `json:"download,omitempty"`
}

// Browser is a browser with an open connection and without a tab that is attached to,
// so that tabs which do not answer are in nobody's way.
type Browser struct {
	service *Service
	record  *Record
	access  *Access
	conn    *cdp.Conn
	late    context.Context
	pages   []target
}

// OnBrowser is OnPage without a tab.
func (s *Service) OnBrowser(ctx context.Context, a *Access, act func(context.Context, *Browser) error) error {
	return s.during(ctx, a, func(ctx, late context.Context, r *Record) error {
		conn, err := s.connect(ctx, r)
		if err != nil {
			return err
		}
		defer conn.Close()
		b := &Browser{service: s, record: r, access: a, conn: conn, late: late}
		if b.pages, err = listPages(ctx, conn); err == nil && restarted(r, b.pages) {
			err = browserRestarted(r)
		}
		if err == nil {
			r.forgetTabs(b.pages)
			err = act(ctx, b)
			r.LastActiveAt = s.now()
		}
		return s.transport(late, r, err)
	})
}

// forgetTabs forgets the tabs that are not among the pages any more, but for the current
// one, which is then missed.
func (r *Record) forgetTabs(pages []target) {
	for _, t := range slices.Clone(r.Tabs) {
		if t.Tab != r.Tab && !slices.ContainsFunc(pages, func(p target) bool { return p.ID == t.TargetID }) {
			r.dropTab(t.Tab)
		}
	}
}

// Tabs returns the tabs by their numbers. Those without a name get one.
func (b *Browser) Tabs() []TabLine {
	var lines []TabLine
	for _, t := range b.record.named(b.pages) {
		lines = append(lines, b.line(t))
	}
	return lines
}

// line shows a tab, as the browser's list has it.
func (b *Browser) line(tab Tab) TabLine {
	l := TabLine{Schema: TabSchema, Tab: tab.Tab, Current: tab.Tab == b.record.Tab}
	for _, t := range b.pages {
		if t.ID != tab.TargetID {
			continue
		}
		l.URL, l.Title = clean(PrintedURL(t.URL), maxAddress), clean(t.Title, maxMessage)
		for _, known := range b.record.Tabs {
			if known.TargetID == t.Opener {
				l.Opener = known.Tab
			}
		}
	}
	return l
}

// maxAddress is how much of an address is printed in a list, in code points.
const maxAddress = 2000

// find returns a tab that has a name and is there.
func (b *Browser) find(name string) (Tab, error) {
	if t := b.record.tab(name); t != nil && slices.ContainsFunc(b.pages, func(p target) bool { return p.ID == t.TargetID }) {
		return *t, nil
	}
	return Tab{}, noTab(name)
}

// noTab refuses a name that no tab has.
func noTab(name string) error {
	return fault.New(fault.SteelTabNotFound, "the session has no tab %s", fault.Quote(name)).WithHint("kxm-steel tab list")
}

// UseTab makes a tab the current one.
func (b *Browser) UseTab(name string) (*TabLine, error) {
	t, err := b.find(name)
	if err != nil {
		return nil, err
	}
	b.record.Tab = t.Tab
	line := b.line(t)
	return &line, nil
}

// NewTab opens a tab, loads a page in it, and makes it the current one. Where the page
// does not come the tab is closed again.
func (b *Browser) NewTab(ctx context.Context, url string) (*TabLine, error) {
	if err := CheckPageURL(url); err != nil {
		return nil, err
	}
	id, err := openTab(ctx, b.conn, blank)
	if err != nil {
		return nil, err
	}
	tab := b.record.tabOf(id)
	line, err := b.load(ctx, tab, url)
	if err != nil {
		b.record.dropTab(tab.Tab)
		_ = closeTab(b.late, b.conn, id) // the command fails all the same
		return nil, err
	}
	b.record.Tab = tab.Tab
	line.Current = true
	return line, nil
}

// load loads a page in a tab that is empty. Somebody must listen before it comes, since
// a dialog would block the tab for good.
func (b *Browser) load(ctx context.Context, tab Tab, url string) (*TabLine, error) {
	a := *b.access
	a.Tab = tab.Tab
	p := b.service.page(b.record, &a)
	p.conn, p.late = b.conn, b.late
	if err := p.open(ctx); err != nil {
		return nil, err
	}
	done, err := p.Goto(ctx, url, Navigation{Until: UntilLoad})
	b.record.noteDialogs(p.Dialogs())
	if err != nil {
		return nil, err
	}
	return &TabLine{
		Schema: TabSchema, Tab: tab.Tab, URL: clean(done.URL, maxAddress), Title: done.Title, Loading: done.Loading, Dialogs: done.Dialogs, Download: done.Download,
	}, nil
}

// CloseTab closes a tab, also one that does not answer, and returns the current one. If
// that was closed it is the tab that opened it, or the one with the lowest number; after
// the last one a blank one is opened.
func (b *Browser) CloseTab(ctx context.Context, name string) (*TabLine, error) {
	t, err := b.find(name)
	if err != nil {
		return nil, err
	}
	next := b.line(t).Opener
	if err := closeTabs(ctx, b.conn, []string{t.TargetID}); err != nil {
		return nil, err
	}
	b.record.dropTab(name)
	if b.pages, err = listPages(ctx, b.conn); err != nil {
		return nil, err
	}
	if len(b.pages) == 0 {
		first, err := firstPage(ctx, b.conn)
		if err != nil {
			return nil, err
		}
		b.pages = []target{first}
	}
	all := b.record.named(b.pages)
	current := slices.IndexFunc(all, func(t Tab) bool { return t.Tab == b.record.Tab })
	if current < 0 {
		current = max(0, slices.IndexFunc(all, func(t Tab) bool { return t.Tab == next }))
	}
	b.record.Tab = all[current].Tab
	line := b.line(all[current])
	return &line, nil
}

// number is that of a tab's name, by which tabs are ordered.
func number(tab string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(tab, "t"))
	return n
}

// named returns the tabs of pages, in the order of their numbers. Those without a name
// get one.
func (r *Record) named(pages []target) []Tab {
	var all []Tab
	for _, t := range pages {
		all = append(all, r.tabOf(t.ID))
	}
	slices.SortFunc(all, func(a, b Tab) int { return cmp.Compare(number(a.Tab), number(b.Tab)) })
	return all
}

// mostListed is how many tabs a message names.
const mostListed = 10

// listed names pages in a message, as what there is.
func (r *Record) listed(pages []target) string {
	if len(pages) == 0 {
		return "is none"
	}
	at := map[string]string{}
	for _, t := range pages {
		at[t.ID] = clean(PrintedURL(t.URL), maxMessage)
	}
	var all []string
	for _, t := range r.named(pages) {
		if len(all) == mostListed {
			all = append(all, count(len(pages)-mostListed, "other"))
			break
		}
		all = append(all, t.Tab+" at "+at[t.TargetID])
	}
	if len(pages) == 1 {
		return "is " + all[0]
	}
	return "are " + strings.Join(all, ", ")
}

package main

import (
	"bytes"
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/wiki"
)

// compileCmd compiles the pages.
type compileCmd struct {
	source
	Out        string `placeholder:"DIR" help:"Write the pages below .kxm/knowledge/wiki of DIR."`
	HTML       string `name:"html" placeholder:"DIR" help:"Write a site of HTML into DIR, which is read from the disk and needs no network."`
	Include    string `placeholder:"P,P" help:"Pages of what nobody reviewed, too: proposals, journal."`
	Check      bool   `help:"Write nothing; print a unified difference and exit 1 when the pages are not what would be compiled. DIR is . by default."`
	Strict     bool   `help:"With --check: exit 1, too, when only state and journal are newer."`
	Force      bool   `help:"Write over pages that were changed by hand, and over files at a page's path."`
	AllowEmpty bool   `help:"Compile a pool without any item, though there are pages."`
	Format     string `enum:"json,text," default:"" placeholder:"FORM" help:"json, the default but for --check, or text."`
}

// Help says what a person has to know before the first run.
func (*compileCmd) Help() string {
	return `Without --out the pages are printed as one object and nothing is written.

Files that were not generated, and pages that were changed by hand, are never
overwritten without --force. Pages that are no longer made are removed. The state ref
moves without the branch: with --check, pages that no hand touched and that agree in
every fact and skill are only behind, which is no failure unless --strict is given.`
}

// Codes names what the command can end with.
func (*compileCmd) Codes() []fault.Code {
	return append(poolCodes(), fault.ContextIsolationViolation, fault.WikiPoolUnavailable, fault.WikiPageNotOurs, fault.WikiPageEdited,
		fault.WikiStale, fault.FileChanged)
}

// include says which pages of unreviewed records are wanted.
type include struct{ proposals, journal bool }

func parseInclude(text string) (in include, err error) {
	if text == "" {
		return in, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		switch strings.TrimSpace(word) {
		case "proposals":
			in.proposals = true
		case "journal":
			in.journal = true
		default:
			return in, fault.New(fault.Usage, "--include: %s is not one of proposals, journal", fault.Quote(word))
		}
	}
	return in, nil
}

// Run compiles and prints, writes or checks.
func (c *compileCmd) Run(s *cli.Session) error {
	in, err := parseInclude(c.Include)
	if err != nil {
		return err
	}
	if c.Strict && !c.Check {
		return fault.New(fault.Usage, "--strict needs --check")
	}
	if c.Check && c.HTML != "" {
		return fault.New(fault.Usage, "--check compares pages of Markdown, so that --html has no meaning with it")
	}
	if c.Check && c.Force {
		return fault.New(fault.Usage, "--check writes nothing, so that --force has no meaning with it")
	}
	ctx := context.Background()
	pool, err := c.pool(ctx, s, "")
	if err != nil {
		return err
	}
	warnGaps(s, pool.Gaps)
	to, err := c.target(ctx, s, pool)
	if err != nil {
		return err
	}
	site, err := c.site(ctx, s)
	if err != nil {
		return err
	}
	if err := c.refuseMissing(pool, to, site); err != nil {
		return err
	}
	w, err := wiki.Compile(pool.Pool, pool.options(to.dir, in))
	if err != nil {
		return err
	}
	switch {
	case c.Check:
		return c.check(s, w, to)
	case c.Out != "" || c.HTML != "":
		return c.write(s, w, to, site)
	}
	return c.preview(s, w, pool, to)
}

// refuseMissing refuses a pool that is missing rather than empty: a broken pipe must
// not remove what is there.
func (c *compileCmd) refuseMissing(pool *read, targets ...*target) error {
	if gap, missing := wiki.Unavailable(pool.Gaps); missing {
		return fault.New(fault.WikiPoolUnavailable, "the stream says that its pool is missing: %s", fault.Quote(gap))
	}
	if len(pool.Items) > 0 || c.AllowEmpty || !slices.ContainsFunc(targets, (*target).anyOurs) {
		return nil
	}
	return fault.New(fault.WikiPoolUnavailable, "the pool holds no item, but there are pages").
		WithHint("--allow-empty, if it is meant to be empty")
}

// previewed is a page as it is printed.
type previewed struct {
	Path    string `json:"path"`
	SHA256  string `json:"sha256"`
	Claims  int    `json:"claims"`
	Content string `json:"content"`
}

// preview prints the pages, and what a lint of them would find.
func (c *compileCmd) preview(s *cli.Session, w *wiki.Wiki, pool *read, to *target) error {
	if c.Format == "text" {
		for i := range w.Pages {
			if i > 0 {
				s.Print("\n")
			}
			s.Write(w.Pages[i].Content)
		}
		return nil
	}
	out := struct {
		Audit wiki.Audit     `json:"audit"`
		Lint  []wiki.Finding `json:"lint"`
		Pages []previewed    `json:"pages"`
	}{w.Audit, []wiki.Finding{}, []previewed{}}
	in := wiki.LintInput{Pages: map[string][]byte{}, Folder: to.name(), Items: pool.Items, Project: pool.project}
	if pool.repository != nil { // a stream may come from elsewhere
		in.Exists = pool.exists
	}
	for i := range w.Pages {
		p := &w.Pages[i]
		in.Pages[p.Name] = p.Content
		out.Pages = append(out.Pages, previewed{path.Join(wiki.Folder, p.Name), p.SHA256(), p.Claims, string(p.Content)})
	}
	out.Lint = append(out.Lint, wiki.Lint(in)...)
	return s.Emit(out)
}

// check compares and writes nothing.
func (c *compileCmd) check(s *cli.Session, w *wiki.Wiki, to *target) error {
	d := wiki.Check(w.Pages, to.files, to.name())
	if c.Format == "json" {
		if err := s.Emit(struct {
			Audit  wiki.Audit `json:"audit"`
			Stale  []string   `json:"stale"`
			Behind bool       `json:"behind"`
			Diff   string     `json:"diff"`
		}{w.Audit, below(wiki.Folder, d.Names), d.Behind, string(d.Diff)}); err != nil {
			return err
		}
	} else if !d.Behind || c.Strict {
		s.Write(d.Diff)
	}
	switch {
	case len(d.Names) == 0:
		return nil
	case d.Behind && !c.Strict:
		s.Warn("the pages are behind the state: %s", strings.Join(d.Names, ", "))
		return nil
	}
	return fault.New(fault.WikiStale, "%s is not what would be compiled", fault.Quote(path.Join(to.name(), d.Names[0]))).
		WithHint("kxm-wiki compile --repo --out ., then git add")
}

// write brings the folders up to date: both or none.
func (c *compileCmd) write(s *cli.Session, w *wiki.Wiki, to, site *target) error {
	var jobs []*writing
	out := answer{Audit: w.Audit, Written: []string{}, Removed: []string{}, Unchanged: []string{}}
	add := func(t *target, pages []wiki.Page, shown string) error {
		plan, err := wiki.NewPlan(pages, t.files, c.Force)
		if err != nil {
			return err
		}
		jobs = append(jobs, &writing{target: t, plan: plan})
		for _, p := range plan.Write {
			out.Written = append(out.Written, path.Join(shown, p.Name))
		}
		out.Removed = append(out.Removed, below(shown, plan.Remove)...)
		out.Unchanged = append(out.Unchanged, below(shown, plan.Unchanged)...)
		return nil
	}
	if c.Out != "" {
		if err := add(to, w.Pages, wiki.Folder); err != nil {
			return err
		}
	}
	if c.HTML != "" {
		pages, err := w.Site(site.records())
		if err != nil {
			return err
		}
		if err := add(site, pages, filepath.ToSlash(c.HTML)); err != nil {
			return err
		}
	}
	if err := writeAll(jobs); err != nil {
		return err
	}
	return out.print(s, c.Format)
}

// answer says what became of the files.
type answer struct {
	Audit     wiki.Audit `json:"audit"`
	Written   []string   `json:"written"`
	Removed   []string   `json:"removed"`
	Unchanged []string   `json:"unchanged"`
}

func (a *answer) print(s *cli.Session, format string) error {
	if format != "text" {
		return s.Emit(a)
	}
	var out bytes.Buffer
	for _, list := range []struct {
		what  string
		names []string
	}{{"written", a.Written}, {"removed", a.Removed}, {"unchanged", a.Unchanged}} {
		for _, name := range list.names {
			out.WriteString(list.what + " " + name + "\n")
		}
	}
	s.Write(out.Bytes())
	return nil
}

func below(folder string, names []string) []string {
	paths := make([]string, 0, len(names))
	for _, name := range names {
		paths = append(paths, path.Join(folder, name))
	}
	return paths
}

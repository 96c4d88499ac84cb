package main

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/frontmatter"
	"kxm/lib/prompt"
	"kxm/lib/treehash"
)

// variantFiles are the files of a variant that are a section each, as they are.
var variantFiles = [...]struct{ id, name string }{
	{"system", "AGENTS.md"}, {"guardrails", "guardrails.md"}, {"memory", "memory.md"},
}

// readVariant reads a variant's folder without the sections to omit. Its fingerprint is
// that of the whole folder; a link that leads out of it is refused.
func readVariant(s *cli.Session, dir string, omit []string) (prompt.Variant, error) {
	var v prompt.Variant
	for _, id := range omit {
		if !slices.Contains([]string{"system", "guardrails", "memory", "subagents", "scripts"}, id) {
			return v, fault.New(fault.Usage, "--omit: %s is not one of system, guardrails, memory, subagents, scripts", fault.Quote(id))
		}
	}
	root, err := os.OpenRoot(s.Path(dir))
	if err != nil {
		code := fault.IOFailed
		if errors.Is(err, fs.ErrNotExist) {
			code = fault.Usage
		}
		return v, fault.Wrap(pathCause(err), code, "cannot read the variant %s", fault.Quote(dir))
	}
	defer root.Close()
	folder := variantFolder{root.FS(), dir}
	if v.Fingerprint, err = treehash.Folder(folder.fsys, nil); err != nil {
		return v, fault.Place(err, dir)
	}
	add := func(id, body string) {
		if body != "" && !slices.Contains(omit, id) {
			v.Sections = append(v.Sections, prompt.VariantSection{ID: id, Body: body})
		}
	}
	for _, f := range variantFiles {
		body, _, err := folder.read(f.name)
		if err != nil {
			return v, err
		}
		add(f.id, body)
	}
	agents, err := folder.agents()
	if err != nil {
		return v, err
	}
	add("subagents", agents)
	scripts, err := folder.scripts()
	if err != nil {
		return v, err
	}
	add("scripts", scripts)
	v.Skills, err = folder.skills()
	return v, err
}

// variantFolder is a variant on disk.
type variantFolder struct {
	fsys fs.FS
	dir  string // as the user calls it
}

// read reads a file that need not be there.
func (f variantFolder) read(name string) (text string, ok bool, err error) {
	data, err := fs.ReadFile(f.fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fault.Wrap(pathCause(err), fault.IOFailed, "cannot read %s", fault.Quote(path.Join(f.dir, name)))
	}
	return string(data), true, nil
}

// list returns the entries of a folder that need not be there, by name.
func (f variantFolder) list(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(f.fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(pathCause(err), fault.IOFailed, "cannot read %s", fault.Quote(path.Join(f.dir, name)))
	}
	return entries, nil
}

// agents lists the subagent profiles by name, each with its description.
func (f variantFolder) agents() (string, error) {
	entries, err := f.list("agents")
	if err != nil {
		return "", err
	}
	type profile struct{ name, line string }
	var profiles []profile
	for _, e := range entries {
		stem, ok := strings.CutSuffix(e.Name(), ".md")
		if !ok || e.IsDir() {
			continue
		}
		file := path.Join("agents", e.Name())
		text, _, err := f.read(file)
		if err != nil {
			return "", err
		}
		doc, err := frontmatter.Parse(path.Join(f.dir, file), []byte(text))
		if err != nil {
			return "", err
		}
		p := profile{name: prompt.Line(textOf(doc, "name", stem))}
		p.line = "- " + p.name
		if description := prompt.Line(textOf(doc, "description", "")); description != "" {
			p.line += ": " + description
		}
		profiles = append(profiles, p)
	}
	slices.SortStableFunc(profiles, func(a, b profile) int { return strings.Compare(a.name, b.name) })
	lines := make([]string, len(profiles))
	for i, p := range profiles {
		lines[i] = p.line
	}
	return strings.Join(lines, "\n"), nil
}

func textOf(doc *frontmatter.Document, key, otherwise string) string {
	if node, ok := doc.Root.Get(key); ok {
		if text, ok := node.Text(); ok && strings.TrimSpace(text) != "" {
			return text
		}
	}
	return otherwise
}

// scripts lists the names of the scripts.
func (f variantFolder) scripts() (string, error) {
	entries, err := f.list("scripts")
	if err != nil {
		return "", err
	}
	var lines []string
	for _, e := range entries {
		if !e.IsDir() {
			lines = append(lines, "- "+prompt.Line(e.Name()))
		}
	}
	return strings.Join(lines, "\n"), nil
}

// skills reads each SKILL.md.
func (f variantFolder) skills() (map[string]string, error) {
	entries, err := f.list("skills")
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, e := range entries {
		text, ok, err := f.read(path.Join("skills", e.Name(), "SKILL.md"))
		if err != nil {
			return nil, err
		}
		if ok {
			all[e.Name()] = text
		}
	}
	return all, nil
}

// pathCause is an error without the path that the message names already.
func pathCause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

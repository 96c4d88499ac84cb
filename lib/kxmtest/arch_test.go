package kxmtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers of lib/, from the top; cmd/ stands above all of them. A package may import
// packages of lower layers, and its own where sameRow says so.
var layers = []struct {
	name     string
	packages []string
	sameRow  bool
}{
	{"edge", []string{"cli"}, false},
	{"assembly", []string{"pool"}, false},
	{"domain", []string{"memory", "skill", "state", "packet", "prompt", "wiki", "steel", "refine", "variant", "plugin"}, false},
	{"mechanism", []string{"repo", "project", "eventlog", "signature", "config", "textdiff", "archive", "process", "lock", "cdp"}, true},
	{"leaf", []string{"fault", "item", "ndjson", "rank", "redact", "treehash", "frontmatter", "descriptor", "capability"}, true},
}

// owners of outside modules: who may import what. golang.org/x/text and x/sys are
// free.
var owners = map[string][]string{
	"github.com/alecthomas/kong":      {"lib/cli"},
	"github.com/pelletier/go-toml/v2": {"lib/config", "lib/frontmatter", "lib/redact"},
	"github.com/go-git/go-git/v5":     {"lib/repo"},
	"github.com/sergi/go-diff":        {"lib/textdiff"},
	"github.com/yuin/goldmark":        {"lib/wiki"},
	"github.com/klauspost/compress":   {"lib/archive"},
	"go.yaml.in/yaml/v3":              {"lib/frontmatter"},
	"github.com/rogpeppe/go-internal": {"lib/kxmtest"},
	"github.com/zricethezav/gitleaks": {}, // its rules are data; only tests import it
	"github.com/hiddeco/sshsig":       {"lib/signature"},
	"github.com/coder/websocket":      {"lib/cdp"},
	"golang.org/x/crypto":             {"lib/signature"},
	"golang.org/x/text":               nil,
	"golang.org/x/sys":                nil,
}

// processOnly are what only the edge may touch: everything else is given its
// environment, its streams and its clock.
var processOnly = map[string][]string{
	"os":   {"Exit", "Args", "Stdin", "Stdout", "Stderr", "Getenv", "LookupEnv", "Environ"},
	"time": {"Now", "Since", "Until"},
}

type source struct {
	dir  string // slash path from the root, such as lib/repo
	name string
	file *ast.File
	test bool
	tool bool // a program that is run by hand: a generator, the benchmarks
}

func root(t *testing.T) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "..", "..")
}

func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	base := root(t)
	for _, top := range []string{"cmd", "lib"} {
		err := filepath.WalkDir(filepath.Join(base, top), func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && d.Name() == "testdata" {
				if err == nil {
					return fs.SkipDir
				}
				return err
			}
			if d.IsDir() || !strings.HasSuffix(p, ".go") {
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(base, filepath.Dir(p))
			if err != nil {
				return err
			}
			dir := filepath.ToSlash(rel)
			all = append(all, source{dir, d.Name(), file, strings.HasSuffix(d.Name(), "_test.go"), strings.HasSuffix(dir, "/internal/gen") || strings.HasPrefix(dir, "lib/kxmtest/internal/")})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(all) < 20 {
		t.Fatalf("only %d Go files found below %s", len(all), base)
	}
	return all
}

func imports(f *ast.File) []string {
	var all []string
	for _, i := range f.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			panic(err)
		}
		all = append(all, p)
	}
	return all
}

// layerOf returns the place of a directory from the top (0: cmd), or -1.
func layerOf(dir string) (level int, sameRow bool) {
	top, rest, _ := strings.Cut(dir, "/")
	if top == "cmd" {
		return 0, false
	}
	name, _, _ := strings.Cut(rest, "/")
	for i, l := range layers {
		if slices.Contains(l.packages, name) {
			return i + 1, l.sameRow
		}
	}
	return -1, false
}

func TestImportsPointDown(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.dir == "lib/kxmtest" || s.tool {
			continue
		}
		from, sameRow := layerOf(s.dir)
		if from < 0 {
			t.Errorf("%s is in no layer: give it one", s.dir)
			continue
		}
		for _, p := range imports(s.file) {
			target, ours := strings.CutPrefix(p, "kxm/")
			if !ours {
				continue
			}
			to, _ := layerOf(target)
			switch {
			case target == "lib/kxmtest":
				t.Errorf("%s/%s imports kxmtest, which is for tests", s.dir, s.name)
			case to < from || to == from && !sameRow && !strings.HasPrefix(target, s.dir+"/"):
				t.Errorf("%s/%s imports %s: arrows point down", s.dir, s.name, p)
			case s.dir == "lib/rank":
				t.Errorf("lib/rank uses none of ours, but %s imports %s", s.name, p)
			}
		}
	}
}

func TestOutsideModulesHaveOneOwner(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.tool {
			continue
		}
		for _, p := range imports(s.file) {
			if host, _, _ := strings.Cut(p, "/"); !strings.Contains(host, ".") {
				continue
			}
			known := false
			for module, packages := range owners {
				if p == module || strings.HasPrefix(p, module+"/") {
					known = true
					if packages != nil && !slices.Contains(packages, s.dir) {
						t.Errorf("%s/%s imports %s, which is %v's", s.dir, s.name, p, packages)
					}
				}
			}
			if !known {
				t.Errorf("%s/%s imports %s, which has no owner", s.dir, s.name, p)
			}
		}
	}
}

func TestOnlyTheEdgeTouchesTheProcess(t *testing.T) {
	for _, s := range sources(t) {
		edge := strings.HasPrefix(s.dir, "cmd/") || s.dir == "lib/cli" || s.dir == "lib/kxmtest"
		if s.test || s.tool {
			continue
		}
		for _, p := range imports(s.file) {
			if (p == "log" || p == "log/slog") && !edge {
				t.Errorf("%s/%s imports %s", s.dir, s.name, p)
			}
			if p == "os/exec" && !slices.Contains([]string{"lib/repo", "lib/process", "lib/kxmtest"}, s.dir) {
				t.Errorf("%s/%s runs programs", s.dir, s.name)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || edge {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			if !ok || !slices.Contains(processOnly[pkg.Name], sel.Sel.Name) {
				return true
			}
			if s.dir == "lib/repo" && strings.Contains(sel.Sel.Name, "env") || s.dir == "lib/repo" && sel.Sel.Name == "Environ" {
				return true // Git's own environment
			}
			t.Errorf("%s/%s uses %s.%s", s.dir, s.name, pkg.Name, sel.Sel.Name)
			return true
		})
	}
}

// modelText are the packages that hold text addressed to a model, as embedded
// Markdown (INV-PRM-1): the prompt's texts, the missions of refinement, the skills of
// built-in plugins.
var modelText = []string{"lib/prompt", "lib/refine", "lib/descriptor"}

// addressed is how text to a model begins.
var addressed = regexp.MustCompile(`(?i)\byou are (an?|the|now) |\byour (task|job|role|goal) is\b|\bas an? (ai|assistant|agent)\b`)

func TestModelTextStandsInFewPlaces(t *testing.T) {
	embeds := 0
	for _, s := range sources(t) {
		if s.test || s.tool || s.dir == "lib/kxmtest" {
			continue
		}
		if slices.ContainsFunc(modelText, func(dir string) bool { return s.dir == dir || strings.HasPrefix(s.dir, dir+"/") }) {
			embeds += len(embedded(s.file))
			continue
		}
		for _, pattern := range embedded(s.file) {
			if ext := path.Ext(pattern); ext == ".md" || ext == ".txt" || ext == "" || strings.Contains(ext, "*") {
				t.Errorf("%s/%s embeds %s: text for a model belongs to %v", s.dir, s.name, pattern, modelText)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && addressed.MatchString(lit.Value) {
				t.Errorf("%s/%s addresses a model: %s", s.dir, s.name, lit.Value)
			}
			return true
		})
	}
	if embeds == 0 {
		t.Error("no embedded text was found at all")
	}
}

// embedded returns the patterns of a file's embed directives.
func embedded(f *ast.File) []string {
	var all []string
	for _, group := range f.Comments {
		for _, c := range group.List {
			if patterns, ok := strings.CutPrefix(c.Text, "//go:embed "); ok {
				all = append(all, strings.Fields(patterns)...)
			}
		}
	}
	return all
}

func TestEveryDirectoryHasOnePackageComment(t *testing.T) {
	comments := map[string][]string{}
	for _, s := range sources(t) {
		if s.test || s.file.Name.Name == "main" && s.tool {
			continue
		}
		if _, seen := comments[s.dir]; !seen {
			comments[s.dir] = nil
		}
		if s.file.Doc != nil {
			comments[s.dir] = append(comments[s.dir], s.name)
		}
	}
	for dir, files := range comments {
		if len(files) != 1 {
			t.Errorf("%s has package comments in %v, want exactly one", dir, files)
		}
	}
}

func TestNoPackageIsADrawer(t *testing.T) {
	for _, s := range sources(t) {
		switch path.Base(s.dir) {
		case "util", "utils", "common", "helpers", "core", "types", "base", "misc", "models":
			t.Errorf("%s: the name says nothing", s.dir)
		}
	}
}

// TestLinkedPackages compares what each binary links with cmd/*/deps.txt, so that a
// new dependency shows in review. The list is that of one platform, since others
// differ in what the standard library links.
func TestLinkedPackages(t *testing.T) {
	base := root(t)
	mains, err := filepath.Glob(filepath.Join(base, "cmd", "*", "main.go"))
	if err != nil || len(mains) == 0 {
		t.Fatal("no command found", err)
	}
	for _, m := range mains {
		dir := filepath.Dir(m)
		cmd := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}}", ".")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=-mod=mod")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		var deps []string
		for line := range strings.Lines(string(out)) {
			p := strings.TrimSpace(line)
			if strings.HasPrefix(p, "internal/") || strings.Contains(p, "/internal/") && !strings.Contains(p, ".") || strings.HasPrefix(p, "vendor/") {
				continue
			}
			deps = append(deps, p)
		}
		slices.Sort(deps)
		got := strings.Join(deps, "\n") + "\n"
		list := filepath.Join(dir, "deps.txt")
		if *Update {
			if err := os.WriteFile(list, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(list)
		if err != nil {
			t.Error(err)
		}
		if got != string(want) {
			t.Errorf("%s: the binary links other packages than %s lists; after review: go test ./lib/kxmtest -run TestLinkedPackages -update", dir, filepath.Base(list))
		}
		if filepath.Base(dir) == "kxm-steel" {
			for _, p := range deps {
				if strings.HasPrefix(p, "github.com/go-git/") || p == "kxm/lib/repo" {
					t.Errorf("kxm-steel reads no repository but links %s", p)
				}
			}
		} else if slices.Contains(deps, "net/http") {
			t.Errorf("%s links net/http, which is kxm-steel's alone", filepath.Base(dir))
		}
		if filepath.Base(dir) == "kxm-pack" {
			for _, p := range deps {
				if p == "net" || p == "os/exec" || strings.HasPrefix(p, "github.com/go-git/") {
					t.Errorf("kxm-pack is a pure filter but links %s", p)
				}
			}
		}
	}
}

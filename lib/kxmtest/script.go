package kxmtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Update is the -update flag: golden files are written anew.
var Update = flag.Bool("update", false, "write golden output anew")

// Main makes the test binary stand in for the named programs, so that scripts run
// them as processes of their own.
func Main(m *testing.M, programs map[string]func()) {
	// The race detector waits a second before a process ends, and scripts start hundreds.
	os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	testscript.Main(m, programs)
}

// RunScripts runs each .txtar of a folder twice: as it is, and with unknown fields
// added to every object of its .ndjson files and the keys in reverse order, which
// may change no answer (golden files begin with "want").
//
// Besides testscript's own commands there are those of Commands.
func RunScripts(t *testing.T, dir string) {
	t.Run("plain", func(t *testing.T) { runScripts(t, dir, false) })
	if !*Update {
		t.Run("foreign", func(t *testing.T) { runScripts(t, dir, true) })
	}
}

func runScripts(t *testing.T, dir string, foreign bool) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts in ", dir, err)
	}
	if foreign { // the others have nothing to change
		files = slices.DeleteFunc(files, func(name string) bool {
			text, err := os.ReadFile(name)
			return err == nil && !bytes.Contains(text, []byte(".ndjson --"))
		})
		if len(files) == 0 {
			return
		}
	}
	testscript.Run(t, testscript.Params{
		Files:               files,
		UpdateScripts:       *Update && !foreign,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                Commands,
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, ".home")
			if err := os.MkdirAll(home, 0o755); err != nil {
				return err
			}
			for _, kv := range GitEnv(home) {
				if name, _, _ := strings.Cut(kv, "="); name != "PATH" && name != "TMPDIR" {
					env.Vars = append(env.Vars, kv)
				}
			}
			env.Vars = append(env.Vars, "KXM_FSYNC=none", "SOURCE_DATE_EPOCH="+strconv.FormatInt(Now().Unix(), 10), "GIT_CONFIG_COUNT=1",
				"GIT_CONFIG_KEY_0=init.defaultBranch", "GIT_CONFIG_VALUE_0=main", "GIT_CEILING_DIRECTORIES="+filepath.Dir(env.WorkDir))
			if foreign {
				return addForeign(env.WorkDir)
			}
			return nil
		},
	})
}

// Commands are what scripts have besides testscript's own:
//
//	exits N PROGRAM ARGS…       run a program and want exactly that exit status
//	set NAME FIELD              set a variable to a field (a.b.c) of the first object in
//	                            the last standard output
//	signers FILE WHO=NS,NS …    write a list of allowed signers; WHO signs with the key
//	                            $WORK/WHO, made if it is not there, as WHO@example.com
//	project DIR WHO=NS,NS …     make a repository, the project "demo" with these signers
//	                            in one commit; Git's user.email is agent@example.com
var Commands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"exits": exits, "set": set, "signers": signers, "project": project,
}

func set(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: set NAME FIELD")
	}
	var value any
	if err := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout"))).Decode(&value); err != nil {
		ts.Fatalf("set: %v", err)
	}
	for name := range strings.SplitSeq(args[1], ".") {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	text, ok := value.(string)
	if !ok {
		ts.Fatalf("set: the standard output has no text %s", args[1])
	}
	ts.Setenv(args[0], text)
}

func signers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: signers FILE WHO=NAMESPACES…")
	}
	var list strings.Builder
	for _, arg := range args[1:] {
		who, namespaces, ok := strings.Cut(arg, "=")
		if !ok {
			ts.Fatalf("signers: %s is not WHO=NAMESPACES", arg)
		}
		key := filepath.Join(ts.Getenv("WORK"), who)
		if _, err := os.Lstat(key); errors.Is(err, fs.ErrNotExist) {
			ts.Check(ts.Exec("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", who, "-f", key))
		}
		public, err := os.ReadFile(key + ".pub")
		ts.Check(err)
		fmt.Fprintf(&list, "%s@example.com namespaces=\"kxm-%s\" %s", who, strings.ReplaceAll(namespaces, ",", ",kxm-"), public)
	}
	file := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(file), 0o755))
	ts.Check(os.WriteFile(file, []byte(list.String()), 0o644))
}

func project(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: project DIR WHO=NAMESPACES…")
	}
	git := func(args ...string) { ts.Check(ts.Exec("git", args...)) }
	dir := ts.MkAbs(args[0])
	git("init", "-q", dir)
	git("-C", dir, "config", "user.email", "agent@example.com")
	file := filepath.Join(dir, ".kxm", "allowed_signers")
	signers(ts, false, append([]string{file}, args[1:]...))
	ts.Check(os.WriteFile(filepath.Join(dir, ".kxm", "config.toml"), []byte("project = \"demo\"\n"), 0o644))
	git("-C", dir, "add", ".kxm")
	git("-C", dir, "commit", "-q", "-m", "project")
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS PROGRAM [ARGS…]")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("exits: %v", err)
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var status *exec.ExitError
		if !errors.As(err, &status) {
			ts.Fatalf("exits: %v", err)
		}
		got = status.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s ended with status %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// addForeign rewrites the .ndjson inputs below dir.
func addForeign(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".ndjson" || strings.HasPrefix(d.Name(), "want") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var out []byte
		for line := range bytes.Lines(data) {
			out = append(out, foreignLine(line)...)
		}
		return os.WriteFile(path, out, 0o644)
	})
}

// foreignLine adds an unknown field to an object and to the objects in it, and
// reverses the order of its keys. What is no valid object stays as it is, so that
// scripts about broken input keep their point.
func foreignLine(line []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(line))
	first, err := dec.Token()
	if err != nil || first != json.Delim('{') || !json.Valid(line) {
		return line
	}
	type member struct{ key, value []byte }
	members := []member{{[]byte(`"zzUnknown"`), []byte(`{"a":[1,null],"b":"x"}`)}}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return line
		}
		name, _ := token.(string)
		key, err := json.Marshal(name)
		if err != nil {
			return line
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return line
		}
		for _, m := range members {
			if bytes.Equal(m.key, key) {
				return line // a duplicate key is the script's point
			}
		}
		members = append(members, member{key, bytes.TrimSpace(foreignLine(value))})
	}
	slices.Reverse(members)
	out := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, m.key...), ':'), m.value...)
	}
	return append(out, '}', '\n')
}

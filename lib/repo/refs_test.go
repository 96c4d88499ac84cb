package repo

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
)

// TestDamagedRefsAreNotAbsent goes through the states a ref may be in. Both backends
// must tell "there is none" from "it cannot be read".
func TestDamagedRefsAreNotAbsent(t *testing.T) {
	const absent, broken, fine = "absent", "broken", "fine"
	for name, c := range map[string]struct {
		text string // of the ref's file
		want string
	}{
		"empty":                {"", broken},
		"garbage":              {"garbage\n", broken},
		"short id":             {"1234567\n", broken},
		"id and garbage":       {strings.Repeat("a", 40) + "x\n", broken},
		"circle":               {"ref: refs/kxm/state\n", broken},
		"symbolic to nowhere":  {"ref: refs/kxm/none\n", absent},
		"symbolic to a folder": {"ref: refs/kxm\n", absent},
		"symbolic":             {"ref: refs/heads/main\n", fine},
		"symbolic, no space":   {"ref:refs/heads/main", fine},
		"id with blanks":       {"HEAD \t\n", fine},
		"id without newline":   {"HEAD", fine},
		"missing":              {"-", absent},
	} {
		t.Run(name, func(t *testing.T) {
			dir := kxmtest.NewRepo(t, map[string]string{"a": "a\n"})
			head := kxmtest.Git(t, dir, "rev-parse", "HEAD")
			if c.text != "-" {
				writeText(t, filepath.Join(dir, ".git/refs/kxm/state"), strings.Replace(c.text, "HEAD", head, 1))
			}
			for _, backend := range []string{"", "native"} {
				r := open(t, dir, backend)
				id, ok, err := r.Ref(t.Context(), "refs/kxm/state")
				got := absent
				switch {
				case fault.Is(err, fault.RefBroken) && !ok:
					got = broken
				case err != nil:
					got = err.Error()
				case ok && string(id) == head:
					got = fine
				case ok:
					got = string(id)
				}
				if got != c.want {
					t.Errorf("%s: %s (%v), want %s", r.Backend(), got, err, c.want)
				}
			}
		})
	}
}

func TestDamagedPackedRefs(t *testing.T) {
	id := strings.Repeat("a1", 20)
	for name, c := range map[string]struct {
		text string
		code fault.Code
	}{
		"garbage line":    {"# pack-refs with: peeled fully-peeled sorted \ngarbage\n", fault.RefBroken},
		"cut off":         {"# pack-refs with: peeled fully-peeled sorted \n" + id + " refs/heads/a\n" + id + " refs/kxm/st", fault.RefBroken},
		"no header":       {id + " refs/heads/a\n" + id + " refs/kxm/state\n", ""},
		"unsorted":        {"# pack-refs with: peeled \n" + id + " refs/z\n" + id + " refs/kxm/state\n" + id + " refs/b\n", ""},
		"peeled and CRLF": {"# pack-refs with: peeled fully-peeled sorted \r\n" + id + " refs/kxm/state\r\n^" + id + "\r\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := kxmtest.NewRepo(t, nil)
			writeText(t, filepath.Join(dir, ".git/packed-refs"), c.text)
			got, ok, err := open(t, dir, "").Ref(t.Context(), "refs/kxm/state")
			if fault.CodeOf(err) != c.code || ok != (c.code == "") || ok && string(got) != id {
				t.Errorf("%s, %v, %v; want code %q", got, ok, err, c.code)
			}
		})
	}
}

// TestPackedRefsSearch compares the binary search with a walk over the whole file,
// for every name and for the gaps between them.
func TestPackedRefsSearch(t *testing.T) {
	var b strings.Builder
	b.WriteString("# pack-refs with: peeled fully-peeled sorted \n")
	want := map[string]OID{}
	var names []string
	for i := range 3000 {
		name := fmt.Sprintf("refs/r/%05d%s", i, strings.Repeat("x", i*7%200))
		id := OID(fmt.Sprintf("%040x", i))
		fmt.Fprintf(&b, "%s %s\n", id, name)
		if i%3 == 0 {
			fmt.Fprintf(&b, "^%040x\n", i)
		}
		want[name] = id
		names = append(names, name, name+"!", name[:len(name)-1])
	}
	names = append(names, "a", "refs/", "refs/z", "")
	file := strings.NewReader(b.String())
	for _, name := range names {
		id, ok, err := searchPackedRefs(file, file.Size(), name, 40)
		if err != nil || ok != (want[name] != "") || id != want[name] {
			t.Fatalf("%q: %s, %v, %v; want %q", name, id, ok, err, want[name])
		}
	}
}

// TestRefsWhilePackRefsRuns reads refs that others pack and move: they are never
// absent and never damaged.
func TestRefsWhilePackRefsRuns(t *testing.T) {
	dir := kxmtest.NewRepo(t, map[string]string{"a": "a\n"})
	ids := []string{kxmtest.Git(t, dir, "rev-parse", "HEAD"), kxmtest.Git(t, dir, "commit-tree", "-m", "other", "HEAD^{tree}")}
	kxmtest.Git(t, dir, "update-ref", "refs/kxm/state", ids[0])
	r := open(t, dir, "")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	var reads atomic.Int64
	done := make(chan error, 2)
	for range 2 {
		go func() {
			for ctx.Err() == nil {
				id, ok, err := r.Ref(ctx, "refs/kxm/state")
				if err != nil && !errors.Is(err, context.DeadlineExceeded) || err == nil && (!ok || string(id) != ids[0] && string(id) != ids[1]) {
					done <- fmt.Errorf("%s, %v, %v", id, ok, err)
					return
				}
				reads.Add(1)
			}
			done <- nil
		}()
	}
	writes := 0
	for ; ctx.Err() == nil; writes++ {
		kxmtest.Git(t, dir, "update-ref", "refs/kxm/state", ids[writes%2])
		kxmtest.Git(t, dir, "pack-refs", "--all", "--prune")
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if reads.Load() == 0 || writes == 0 {
		t.Errorf("%d reads during %d writes", reads.Load(), writes)
	}
}

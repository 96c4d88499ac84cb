package process

import (
	"os"
	"syscall"
	"testing"
)

func TestProcessesAreFound(t *testing.T) {
	me := os.Getpid()
	all := processes()
	for _, k := range all {
		if k.pid == me {
			if k.group != syscall.Getpgrp() {
				t.Errorf("%+v", k)
			}
			return
		}
	}
	t.Errorf("%d is not among %d processes", me, len(all))
}

func FuzzParseStat(f *testing.F) {
	f.Add("7 (a) b) S 1 6 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 0")
	f.Add("7 (a) Z 1 6 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 0")
	f.Add("7 (a")
	f.Add("")
	f.Fuzz(func(t *testing.T, line string) {
		k, ok := parseStat(line)
		if !ok && k != (kin{}) {
			t.Errorf("%q: %+v", line, k)
		}
	})
}

func TestParseStat(t *testing.T) {
	tail := " 1 6 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 0\n"
	if k, ok := parseStat("7 (a) b) S" + tail); !ok || k != (kin{7, 6}) {
		t.Errorf("%+v, %v", k, ok)
	}
	for _, line := range []string{"7 (a) Z" + tail, "x (a) S" + tail, "7 (a) S 1\n", "7 a S" + tail, "7 (a) S 1 x" + tail, ""} {
		if k, ok := parseStat(line); ok {
			t.Errorf("%q: %+v", line, k)
		}
	}
}

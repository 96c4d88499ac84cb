package main

import (
	"os"
	"testing"

	"kxm/lib/cli"
	"kxm/lib/kxmtest"
)

func TestMain(m *testing.M) {
	audited := kxmtest.Audited(func(p kxmtest.Process) int {
		return cli.Run(program(), p.Args, cli.Streams{In: p.In, Out: p.Out, Err: p.Err, Getenv: os.Getenv, Dir: p.Dir, Now: p.Now})
	})
	kxmtest.Main(m, map[string]func(){"kxm-wiki": audited})
}

func TestScripts(t *testing.T) {
	kxmtest.RunScripts(t, "testdata/script")
}

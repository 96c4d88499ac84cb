package kxmtest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestPrograms runs scripts in which several binaries work together.
func TestPrograms(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *Update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                Commands,
		Setup: func(env *testscript.Env) error {
			for _, kv := range onPath(t, filepath.Join(env.WorkDir, ".home")) {
				if !strings.HasPrefix(kv, "TMPDIR=") {
					env.Vars = append(env.Vars, kv)
				}
			}
			env.Vars = append(env.Vars, "GIT_CEILING_DIRECTORIES="+filepath.Dir(env.WorkDir))
			return nil
		},
	})
}

//go:build !unix

package process

import (
	"os"
	"os/exec"
)

// Without process groups only the program itself is ended.

type members struct{ cmd *exec.Cmd }

func (m *members) lead(cmd *exec.Cmd) { m.cmd = cmd }
func (m *members) term()              { m.kill() }
func (m *members) kill()              { _ = m.cmd.Process.Kill() }
func (m *members) left() bool         { return false }

func verdict(state *os.ProcessState) (int, os.Signal) { return state.ExitCode(), nil }

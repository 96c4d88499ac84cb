//go:build !unix

package process

import (
	"os"
	"os/exec"
)

// Without process groups only the program itself is ended, and what comes from a
// console comes to it as well.

var passed = []os.Signal{os.Interrupt}

type members struct{ cmd *exec.Cmd }

func (m *members) lead(cmd *exec.Cmd, _ bool) { m.cmd = cmd }
func (m *members) pass(os.Signal)             {}
func (m *members) term()                      { m.kill() }
func (m *members) kill()                      { _ = m.cmd.Process.Kill() }
func (m *members) left() bool                 { return false }
func (m *members) finish()                    {}

func verdict(state *os.ProcessState) (int, os.Signal) { return state.ExitCode(), nil }

//go:build !unix

package process

import (
	"os"
	"os/exec"
)

// Without process groups only the program itself is ended.

func lead(*exec.Cmd)          {}
func termGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func verdict(state *os.ProcessState) (int, os.Signal) { return state.ExitCode(), nil }

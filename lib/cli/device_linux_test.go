package cli

import (
	"os"
	"testing"
)

func TestFullDevice(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	cmd := child(t, "answer", "do")
	cmd.Stdout = full
	if status, _, stderr := run(t, cmd); status.ExitStatus() != 3 || stderr != "tool: cannot write standard output: no space left on device [io_failed]\n" {
		t.Errorf("status %d, %q", status.ExitStatus(), stderr)
	}
	cmd = child(t, "answer", "do", "-o", "/dev/full")
	if status, _, stderr := run(t, cmd); status.ExitStatus() != 3 || stderr != "tool: cannot write \"/dev/full\": no space left on device [io_failed]\n" {
		t.Errorf("status %d, %q", status.ExitStatus(), stderr)
	}
}

//go:build !unix

package cli

import "os"

// dieIfInterrupted ends with the status that a shell gives an interrupted
// program, where signals cannot be raised.
func dieIfInterrupted() {
	if interrupted.Load() != nil {
		os.Exit(130)
	}
}

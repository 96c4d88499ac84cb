//go:build !darwin

package repo

import "os"

// syncFile flushes a file. Elsewhere there is one kind of flush only.
func syncFile(f *os.File, _ bool) error { return f.Sync() }

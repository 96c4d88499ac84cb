//go:build !unix

package kxmtest

import "testing"

// Fifo fails where there are no named pipes.
func Fifo(t testing.TB, path string) {
	t.Helper()
	t.Fatal("no named pipes here")
}

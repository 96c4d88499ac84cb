//go:build unix

package process

// kin is one process that lives.
type kin struct {
	pid, group int
}

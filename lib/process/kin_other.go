//go:build unix && !linux && !darwin

package process

// processes returns nil: here they cannot be told, so that of a group that is shared
// only the command itself is ended.
func processes() []kin { return nil }

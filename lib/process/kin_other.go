//go:build unix && !linux && !darwin

package process

// processes returns nil: here they cannot be told.
func processes() []kin { return nil }

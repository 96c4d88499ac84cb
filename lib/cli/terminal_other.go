//go:build !unix

package cli

import "os"

// Terminal reports whether a stream is a terminal: here, any character device.
func Terminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

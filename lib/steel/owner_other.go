//go:build !unix

package steel

import "io/fs"

// Other systems have no such modes: a home folder there is closed by its access list.

func openToOthers(fs.FileInfo) bool { return false }
func owned(fs.FileInfo) bool        { return true }

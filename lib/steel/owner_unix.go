//go:build unix

package steel

import (
	"io/fs"
	"os"
	"syscall"
)

func openToOthers(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }

func owned(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || st.Uid == uint32(os.Geteuid())
}

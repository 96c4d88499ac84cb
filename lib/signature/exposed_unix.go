//go:build unix

package signature

import (
	"os"
	"syscall"
)

// exposed reports whether OpenSSH would refuse the private key in a file as open to
// others: it is our own, and they have some right to it. A file of another owner,
// such as an administrator's that a group may read, is theirs to judge.
func exposed(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return true
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid() && info.Mode().Perm()&0o077 != 0
}

package eventlog

import (
	"math/rand/v2"
	"os"
	"strconv"
)

// replace writes a file of the clone as a whole: a reader sees the old content or the
// new one. It need not survive a power failure, since all such files can be made anew.
func (l *Log) replace(name string, data []byte) error {
	temp := l.path(name + ".tmp" + strconv.FormatUint(rand.Uint64(), 36))
	err := os.WriteFile(temp, data, 0o666)
	if err == nil {
		err = l.r.Share(temp)
	}
	if err == nil {
		err = os.Rename(temp, l.path(name))
	}
	if err != nil {
		_ = os.Remove(temp)
	}
	return err
}

package eventlog

import (
	"bufio"
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
)

// replace writes a file of the clone as a whole: a reader sees the old content or the
// new one. It need not survive a power failure, since all such files can be made anew.
func (l *Log) replace(name string, data []byte) error {
	return l.replaceWith(name, func(w *bufio.Writer) { w.Write(data) })
}

// replaceWith is replace for content that is made piece by piece.
func (l *Log) replaceWith(name string, write func(w *bufio.Writer)) error {
	temp := l.path(name + ".tmp" + strconv.FormatUint(rand.Uint64(), 36))
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		w := bufio.NewWriterSize(f, 64<<10)
		write(w)
		err = errors.Join(w.Flush(), f.Close()) // a writer's error stays
	}
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

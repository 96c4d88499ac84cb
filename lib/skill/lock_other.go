//go:build !unix

package skill

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"kxm/lib/fault"
)

// How long a call waits for another to finish writing, which takes milliseconds.
const (
	lockTries = 100
	lockPause = 50 * time.Millisecond
)

// lock takes the lock on a folder below root: a file that only one can create. A
// process that dies leaves it behind, and a person has to remove it.
func lock(root *os.Root, name string) (unlock func(), err error) {
	file := name + "/.lock"
	for try := 0; ; try++ {
		f, err := root.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err == nil {
			f.Close()
			return func() { _ = root.Remove(file) }, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, fault.Wrap(err, fault.IOFailed, "cannot lock %s", fault.Quote(name))
		}
		if try == lockTries {
			return nil, fault.New(fault.SkillsBusy, "another program is changing %s", fault.Quote(name)).
				WithHint("remove %s if none is", file)
		}
		time.Sleep(lockPause)
	}
}

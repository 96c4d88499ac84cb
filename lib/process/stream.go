package process

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// streams are the pipes between this process and the command. There is none where the
// command has a stream of its own.
type streams struct {
	stdout, stderr sink
	stdin          *os.File   // our end, or nil
	theirs         []*os.File // the command's ends, which are closed here once it has its copies
	heard          chan struct{}
	readers        sync.WaitGroup
}

// sink keeps the first bytes of a stream.
type sink struct {
	pipe    *os.File
	limit   int64
	kept    bytes.Buffer
	dropped int64
	cut     bool
}

// connect makes the pipes. They are our own, and not those of package os/exec, since
// Wait would otherwise wait for whoever holds the other end.
func connect(cmd *exec.Cmd, c *Command) (_ *streams, err error) {
	s := &streams{heard: make(chan struct{}, 1)}
	defer func() {
		if err != nil {
			s.closeTheirs()
			s.closeOurs()
		}
	}()
	if c.StdinFile != nil {
		cmd.Stdin = c.StdinFile
	} else if c.Stdin != nil {
		theirs, ours, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		cmd.Stdin, s.stdin = theirs, ours
		s.theirs = append(s.theirs, theirs)
	}
	for _, p := range []struct {
		sink  *sink
		limit int64
		given *os.File
		to    *io.Writer
	}{{&s.stdout, c.StdoutCap, c.StdoutFile, &cmd.Stdout}, {&s.stderr, c.StderrCap, c.StderrFile, &cmd.Stderr}} {
		if p.given != nil {
			*p.to = p.given
			continue
		}
		ours, theirs, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		p.sink.pipe, p.sink.limit, *p.to = ours, p.limit, theirs
		if p.limit == 0 {
			p.sink.limit = DefaultCap
		}
		s.theirs = append(s.theirs, theirs)
	}
	return s, nil
}

func (s *streams) closeTheirs() {
	for _, f := range s.theirs {
		f.Close()
	}
}

func (s *streams) closeOurs() {
	for _, f := range []*os.File{s.stdin, s.stdout.pipe, s.stderr.pipe} {
		if f != nil {
			f.Close()
		}
	}
}

// begin starts reading and writing.
func (s *streams) begin(stdin []byte) {
	if s.stdin != nil {
		s.readers.Go(func() { feed(s.stdin, stdin) })
	}
	for _, k := range []*sink{&s.stdout, &s.stderr} {
		if k.pipe != nil {
			s.readers.Go(func() { k.read(s.heard) })
		}
	}
}

// read reads to the end of the stream, and says each time that something came.
func (k *sink) read(heard chan<- struct{}) {
	buf := make([]byte, 32<<10)
	for {
		n, err := k.pipe.Read(buf)
		if n > 0 {
			room := min(int64(n), k.limit-int64(k.kept.Len()))
			k.kept.Write(buf[:room])
			k.dropped += int64(n) - room
			select {
			case heard <- struct{}{}:
			default: // it is known already
			}
		}
		if err != nil {
			k.cut = errors.Is(err, os.ErrDeadlineExceeded)
			k.pipe.Close()
			return
		}
	}
}

// drain waits until the streams are at their end, for at most drainTime.
func (s *streams) drain() {
	done := make(chan struct{})
	go func() {
		s.readers.Wait()
		close(done)
	}()
	t := time.NewTimer(drainTime)
	defer t.Stop()
	select {
	case <-done:
		return
	case <-t.C:
	}
	for _, f := range []*os.File{s.stdin, s.stdout.pipe, s.stderr.pipe} {
		if f != nil {
			_ = f.SetDeadline(time.Unix(1, 0)) // long over; a pipe that is closed needs none
		}
	}
	<-done
}

func (k *sink) output() Output {
	return Output{Bytes: k.kept.Bytes(), Dropped: k.dropped, Cut: k.cut}
}

// feed writes a standard input, which its reader may close at any time.
func feed(w *os.File, data []byte) {
	_, _ = w.Write(data) // a program need not read what it is given
	w.Close()
}

package prompt

import (
	"bytes"
	"io"
	"slices"
)

// tailChunk is what is read at a time. A line that is longer has a buffer of its own.
const tailChunk = 256 << 10

// tail reads lines from the end of a file to its beginning. It holds two chunks, or
// one line where that is longer.
type tail struct {
	r     io.ReaderAt
	buf   []byte // what is read and not yet returned
	from  int64  // where in the file buf begins
	ends  []int  // the line ends in buf
	spare []byte // the buffer of the chunk before last
	done  bool   // the first line was returned
}

func newTail(r io.ReaderAt, size int64) *tail { return &tail{r: r, from: size} }

// next returns the line before the one it returned last, without its end, and where
// it begins; io.EOF after the first. The line is valid until the next call.
func (t *tail) next() (line []byte, at int64, err error) {
	if t.done {
		return nil, 0, io.EOF
	}
	for {
		if n := len(t.ends); n > 0 {
			i := t.ends[n-1]
			line, t.buf, t.ends = t.buf[i+1:], t.buf[:i], t.ends[:n-1]
			return line, t.from + int64(i) + 1, nil
		}
		if t.from == 0 {
			t.done = true
			return t.buf, 0, nil
		}
		if len(t.buf) >= tailChunk {
			return t.long()
		}
		if err := t.extend(); err != nil {
			return nil, 0, err
		}
	}
}

// extend reads the chunk before the buffer, which holds the end of one line. Line ends
// are found forwards, which processors do many bytes at a time.
func (t *tail) extend() error {
	n := int(min(t.from, tailChunk))
	buf := slices.Grow(t.spare[:0], n+len(t.buf))[:n]
	buf = append(buf, t.buf...)
	if err := readAt(t.r, buf[:n], t.from-int64(n)); err != nil {
		return err
	}
	t.spare, t.buf, t.from = t.buf[:0], buf, t.from-int64(n)
	for i := 0; ; i++ {
		end := bytes.IndexByte(buf[i:n], '\n')
		if end < 0 {
			return nil
		}
		i += end
		t.ends = append(t.ends, i)
	}
}

// long returns a line that is longer than a chunk: its beginning is looked for first,
// so that its buffer has its size.
func (t *tail) long() (line []byte, at int64, err error) {
	end := t.from + int64(len(t.buf))
	t.buf = nil
	chunk := make([]byte, tailChunk)
	begin := t.from
	for begin > 0 {
		n := min(begin, tailChunk)
		if err := readAt(t.r, chunk[:n], begin-n); err != nil {
			return nil, 0, err
		}
		if i := bytes.LastIndexByte(chunk[:n], '\n'); i >= 0 {
			begin += int64(i) + 1 - n
			break
		}
		begin -= n
	}
	line = make([]byte, end-begin)
	if err := readAt(t.r, line, begin); err != nil {
		return nil, 0, err
	}
	if begin == 0 {
		t.done = true
	}
	t.from = max(0, begin-1) // without the end of the line before
	return line, begin, nil
}

// readAt reads exactly len(p) bytes.
func readAt(r io.ReaderAt, p []byte, at int64) error {
	n, err := r.ReadAt(p, at)
	if n == len(p) {
		return nil // an error at the end of the file is none
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return err
}

package cli

import (
	"bufio"
	"io"
)

// answer is what a command has written so far. Long texts are kept and not copied,
// since a large answer would otherwise be in memory twice, and touching memory for the
// first time costs more than anything else that printing does.
type answer struct {
	parts []string
	tail  []byte // what follows the parts
	size  int
}

// longText is from how many bytes on a text is kept.
const longText = 128

// Write adds bytes, and never fails.
func (a *answer) Write(p []byte) (int, error) {
	a.tail = append(a.tail, p...)
	a.size += len(p)
	return len(p), nil
}

// WriteString adds a text, and never fails.
func (a *answer) WriteString(text string) (int, error) {
	a.size += len(text)
	if len(text) < longText {
		a.tail = append(a.tail, text...)
		return len(text), nil
	}
	if len(a.tail) > 0 {
		a.parts = append(a.parts, string(a.tail))
		a.tail = a.tail[:0]
	}
	a.parts = append(a.parts, text)
	return len(text), nil
}

// sendTo writes the whole answer: a small one in one piece, a large one in pieces of
// what a pipe holds.
func (a *answer) sendTo(w io.Writer) error {
	if len(a.parts) == 0 {
		_, err := w.Write(a.tail)
		return err
	}
	const pipe = 64 << 10 // Linux's capacity, and a size that others take well
	b := bufio.NewWriterSize(w, min(pipe, a.size))
	for _, text := range a.parts {
		if _, err := b.WriteString(text); err != nil {
			return err
		}
	}
	if _, err := b.Write(a.tail); err != nil {
		return err
	}
	return b.Flush()
}

// bytes returns the whole answer.
func (a *answer) bytes() []byte {
	if len(a.parts) == 0 {
		return a.tail
	}
	all := make([]byte, 0, a.size)
	for _, text := range a.parts {
		all = append(all, text...)
	}
	return append(all, a.tail...)
}

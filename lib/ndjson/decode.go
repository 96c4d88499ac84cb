package ndjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"kxm/lib/fault"
)

// Value is one JSON value of a stream.
type Value struct {
	Raw  []byte // one strict value without surrounding space; the caller's to keep, unless [Decoder.Reuse] was called
	Line int    // the line it starts on, from 1
}

// Sizes of the buffer: small for the small inputs that hooks see, then larger, so
// that long inputs take few reads.
const (
	firstChunk = 64 << 10
	largeChunk = 1 << 20
	leastRead  = 4 << 10 // a chunk with less room than this is full
)

// Decoder reads a stream of JSON values: one per line, one after another, or
// spread over lines. A top-level array, or the array of the key "items" of a
// top-level object, is unrolled: its elements are the values. The other members
// of such an object are checked and dropped. Lists are streamed, so what is not
// valid behind an element is found after the element was returned; the members
// before "items" must together stay below [MaxValue].
type Decoder struct {
	r      io.Reader
	source string
	reuse  bool

	buf     []byte // the chunk as far as it is filled
	pos     int    // the next byte of buf to read
	line    int    // the line of pos
	chunk   int    // the size of the next chunk
	readErr error  // why reading ended
	err     error  // what Next returns for ever

	place place
	scan  scanner
	keys  map[string]struct{} // of the object that is being unrolled, else nil
}

// place is where in the stream the decoder stands, between two values.
type place uint8

const (
	top           place = iota
	beforeFirst         // "[" was read
	beforeElement       // "," was read
	behindElement
	behindList // "]" of "items" was read
)

// NewDecoder returns a decoder that reads r; errors name source.
func NewDecoder(r io.Reader, source string) *Decoder {
	return &Decoder{r: r, source: source, line: 1, chunk: firstChunk}
}

// Reuse lets the decoder overwrite the values it returned: each is then valid
// only until the next call of Next, and the memory of a long stream is one buffer.
func (d *Decoder) Reuse() { d.reuse = true }

// Values yields the values of the stream. An error other than io.EOF is yielded
// last, with a zero Value.
func (d *Decoder) Values() iter.Seq2[Value, error] {
	return func(yield func(Value, error) bool) {
		for {
			v, err := d.Next()
			if err == io.EOF || !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// Next returns the next value as soon as it is complete, and io.EOF after the
// last. Any other error is a *fault.Error that names the source: InvalidJSON with
// the line, or IOFailed if reading failed. An error stays.
func (d *Decoder) Next() (Value, error) {
	if d.err != nil {
		return Value{}, d.err
	}
	v, err := d.next()
	if err != nil {
		d.err = err
		d.buf, d.scan, d.keys = nil, scanner{}, nil
		return Value{}, err
	}
	return v, nil
}

func (d *Decoder) next() (Value, error) {
	for {
		c, err := d.peek()
		if err == io.EOF && d.place != top {
			return Value{}, d.invalid(d.line, "the input ends inside a list", "")
		}
		if err != nil {
			return Value{}, err
		}
		switch d.place {
		case top:
			if c == '[' {
				d.pos++
				d.place = beforeFirst
				continue
			}
			v, list, err := d.value(true)
			if err != nil || !list {
				return v, err
			}
			d.place = beforeFirst
			continue
		case beforeFirst, beforeElement:
			if c == ']' && d.place == beforeFirst {
				d.endList()
				continue
			}
			d.place = behindElement
			v, _, err := d.value(false)
			return v, err
		case behindElement:
			switch c {
			case ',':
				d.pos++
				d.place = beforeElement
			case ']':
				d.endList()
			default:
				return Value{}, d.unexpected(`where "," or "]" must follow`)
			}
		case behindList:
			switch c {
			case ',':
				d.pos++
				if err := d.skipMember(); err != nil {
					return Value{}, err
				}
			case '}':
				d.pos++
				d.place, d.keys = top, nil
			default:
				return Value{}, d.unexpected(`where "," or "}" must follow`)
			}
		}
	}
}

// endList goes on behind the "]" of a list.
func (d *Decoder) endList() {
	d.pos++
	d.place = top
	if d.keys != nil {
		d.place = behindList
	}
}

// skipMember checks a member of an unrolled object behind its list.
func (d *Decoder) skipMember() error {
	c, err := d.peekInside()
	if err != nil {
		return err
	}
	if c != '"' {
		return d.unexpected("where a key must stand")
	}
	key, _, err := d.value(false)
	if err != nil {
		return err
	}
	name, _ := Text(key.Raw)
	if _, twice := d.keys[name]; twice {
		return d.invalid(key.Line, "the key "+fault.Quote(name)+" stands twice in one object", "")
	}
	d.keys[name] = struct{}{}
	if c, err = d.peekInside(); err != nil {
		return err
	}
	if c != ':' {
		return d.unexpected("where a colon must follow the key")
	}
	d.pos++
	if _, err = d.peekInside(); err != nil {
		return err
	}
	_, _, err = d.value(false)
	return err
}

// value scans the value that begins at pos. With unroll, the scan of an object
// ends behind the "[" of its "items", and list is true.
func (d *Decoder) value(unroll bool) (v Value, list bool, err error) {
	s := &d.scan
	s.reset(unroll)
	for {
		window := d.buf[d.pos:]
		final := d.readErr == io.EOF
		if len(window) > MaxValue+1 {
			window, final = window[:MaxValue+1], false
		}
		switch s.run(window, final) {
		case done:
			if s.pos > MaxValue {
				return v, false, d.tooLarge()
			}
			v = Value{Raw: window[:s.pos:s.pos], Line: d.line}
			d.advance(s.pos)
			return v, false, nil
		case items:
			d.keys = s.topKeys(window)
			d.advance(s.pos)
			return v, true, nil
		case failed:
			e := s.fault(window)
			return v, false, d.invalid(d.line+e.Line-1, e.Message, e.Hint)
		case more:
			if len(window) > MaxValue {
				return v, false, d.tooLarge()
			}
			if !d.fill() && d.readErr != io.EOF {
				return v, false, d.readFailed()
			}
		}
	}
}

// advance goes on n bytes and counts their lines.
func (d *Decoder) advance(n int) {
	d.line += bytes.Count(d.buf[d.pos:d.pos+n], newline)
	d.pos += n
}

// peek returns the next byte that is not white space, without going past it.
func (d *Decoder) peek() (byte, error) {
	for {
		for ; d.pos < len(d.buf); d.pos++ {
			c := d.buf[d.pos]
			if !isSpace(c) {
				return c, nil
			}
			if c == '\n' {
				d.line++
			}
		}
		if d.fill() {
			continue
		}
		if d.readErr == io.EOF {
			return 0, io.EOF
		}
		return 0, d.readFailed()
	}
}

// peekInside is peek where the input may not end.
func (d *Decoder) peekInside() (byte, error) {
	c, err := d.peek()
	if err == io.EOF {
		return 0, d.invalid(d.line, "the input ends inside a value", "")
	}
	return c, err
}

// fill reads more behind pos and reports whether it got any. Bytes that belong to
// a returned value are overwritten only with reuse.
func (d *Decoder) fill() bool {
	if d.readErr != nil {
		return false
	}
	if cap(d.buf)-len(d.buf) < leastRead {
		rest := d.buf[d.pos:]
		if d.reuse && 2*len(rest) <= cap(d.buf) && cap(d.buf) >= d.chunk {
			d.buf = d.buf[:copy(d.buf[:cap(d.buf)], rest)]
		} else {
			fresh := make([]byte, len(rest), max(d.chunk, 2*len(rest)))
			copy(fresh, rest)
			d.buf = fresh
			d.chunk = min(2*d.chunk, largeChunk)
		}
		d.pos = 0
	}
	// A reader may return nothing for a while, but not for ever.
	for range 100 {
		n, err := d.r.Read(d.buf[len(d.buf):cap(d.buf)])
		d.buf = d.buf[:len(d.buf)+n]
		d.readErr = err
		if n > 0 || err != nil {
			return n > 0
		}
	}
	d.readErr = io.ErrNoProgress
	return false
}

// unexpected is the error of the character at pos.
func (d *Decoder) unexpected(where string) error {
	var s scanner
	for s.unexpected(d.buf[d.pos:], 0, d.readErr != nil, where) == more {
		d.fill()
	}
	return d.invalid(d.line, s.problem.message, s.problem.hint)
}

func (d *Decoder) tooLarge() error {
	return d.invalid(d.line, fmt.Sprintf("a value is larger than %d MiB", MaxValue>>20), "")
}

func (d *Decoder) invalid(line int, message, hint string) error {
	return &fault.Error{Code: fault.InvalidJSON, Message: message, Hint: hint, Source: d.source, Line: line}
}

func (d *Decoder) readFailed() error {
	var e *fault.Error
	if errors.As(d.readErr, &e) {
		return e.At(d.source, 0, 0)
	}
	return fault.Wrap(d.readErr, fault.IOFailed, "cannot read %s", fault.Quote(d.source)).At(d.source, 0, 0)
}

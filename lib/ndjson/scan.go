package ndjson

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode"
	"unicode/utf8"

	"kxm/lib/fault"
)

// scanner checks one value, byte by byte and without recursion, and finds its
// end. It can stop wherever the data ends and go on when there is more, so that
// no byte is scanned twice however small the pieces arrive, and so that what it
// reports never depends on how the stream was cut. All offsets count from the
// first byte of the value, which the caller may move in memory between two runs.
type scanner struct {
	state   state
	pos     int    // the next byte to read
	token   int    // where the current string begins
	escaped bool   // the current string holds an escape
	number  number // how far the current number is
	word    string // what is still to come of true, false or null

	stack []level
	keys  []key // of all open objects, outermost first

	unroll   bool // stop where the array of a top-level key "items" begins
	itemsKey bool // the last key of the top level is "items"

	problem problem
}

// problem is why a scan failed.
type problem struct {
	at            int
	message, hint string
}

// level is an open array or object.
type level struct {
	object bool
	first  int                 // the object's first key in scanner.keys
	many   map[string]struct{} // all keys of an object that has more than fewKeys
}

// fewKeys is how many keys are compared one by one before a map takes over: a
// map costs more than it saves for objects of ordinary size, and without one an
// object of a million keys would take hours.
const fewKeys = 32

// key is where a key stands. Tags differ only if the keys do; text is set if the
// key is written with escapes.
type key struct {
	tag        uint64
	start, end int
	text       string
}

type state uint8

const (
	wantValue state = iota
	wantFirstElement
	wantFirstKey
	wantKey
	wantColon
	wantComma
	inText
	inKey
	inNumber
	inWord
)

type number uint8

const (
	numberSign number = iota
	numberZero
	numberInt
	numberDot
	numberFraction
	numberE
	numberESign
	numberExponent
)

type verdict uint8

const (
	done   verdict = iota // the value ends before pos
	more                  // the data ends inside the value
	items                 // pos is behind the "[" of a top-level "items"
	failed                // problem says why
)

// reset prepares for the next value. With unroll, the scan stops where the array
// of a top-level key "items" begins.
func (s *scanner) reset(unroll bool) {
	clear(s.stack) // a level that was left open holds its keys
	*s = scanner{stack: s.stack[:0], keys: s.keys[:0], unroll: unroll}
}

// run scans on from where the last run stopped. buf holds the value from its
// first byte on; final says that nothing comes after it, and then the verdict is
// never more.
func (s *scanner) run(buf []byte, final bool) verdict {
	for {
		switch s.state {
		case inText, inKey:
			if v := s.text(buf, final); v != done {
				return v
			}
			if s.state == inKey {
				if !s.addKey(buf) {
					return failed
				}
				s.state = wantColon
			} else if s.endValue() {
				return done
			}
			continue
		case inNumber:
			if v := s.scanNumber(buf, final); v != done {
				return v
			}
			if s.endValue() {
				return done
			}
			continue
		case inWord:
			if v := s.scanWord(buf, final); v != done {
				return v
			}
			if s.endValue() {
				return done
			}
			continue
		}

		i := s.pos
		for i < len(buf) && isSpace(buf[i]) {
			i++
		}
		s.pos = i
		if i == len(buf) {
			return s.ended(final, "inside a value")
		}
		c := buf[i]
		switch s.state {
		case wantColon:
			if c != ':' {
				return s.unexpected(buf, i, final, "where a colon must follow the key")
			}
			s.pos++
			s.state = wantValue
			continue

		case wantComma:
			object := s.stack[len(s.stack)-1].object
			switch {
			case c == ',' && object:
				s.state = wantKey
			case c == ',':
				s.state = wantValue
			case c == '}' && object, c == ']' && !object:
				s.pos++
				if s.pop() {
					return done
				}
				continue
			case object:
				return s.unexpected(buf, i, final, `where "," or "}" must follow`)
			default:
				return s.unexpected(buf, i, final, `where "," or "]" must follow`)
			}
			s.pos++
			continue

		case wantFirstKey, wantKey:
			switch {
			case c == '"':
				s.token, s.escaped = i, false
				s.pos++
				s.state = inKey
			case c == '}' && s.state == wantFirstKey:
				s.pos++
				if s.pop() {
					return done
				}
			default:
				return s.unexpected(buf, i, final, "where a key must stand")
			}
			continue

		case wantFirstElement:
			if c == ']' {
				s.pos++
				if s.pop() {
					return done
				}
				continue
			}
		}

		// A value begins here.
		switch c {
		case '"':
			s.token, s.escaped = i, false
			s.state = inText
		case '{', '[':
			if s.itemsKey && c == '[' && len(s.stack) == 1 {
				s.pos++
				return items
			}
			if len(s.stack) == MaxDepth {
				return s.fail(i, fmt.Sprintf("a value nests deeper than %d levels", MaxDepth))
			}
			s.stack = append(s.stack, level{object: c == '{', first: len(s.keys)})
			s.state = wantFirstElement
			if c == '{' {
				s.state = wantFirstKey
			}
		case '-':
			s.number, s.state = numberSign, inNumber
		case '0':
			s.number, s.state = numberZero, inNumber
		case '1', '2', '3', '4', '5', '6', '7', '8', '9':
			s.number, s.state = numberInt, inNumber
		case 't':
			s.word, s.state = "rue", inWord
		case 'f':
			s.word, s.state = "alse", inWord
		case 'n':
			s.word, s.state = "ull", inWord
		default:
			return s.unexpected(buf, i, final, "where a value must stand")
		}
		s.pos++
	}
}

// endValue goes on behind a value and reports whether it was the outermost.
func (s *scanner) endValue() bool {
	s.state = wantComma
	return len(s.stack) == 0
}

// pop closes the innermost array or object and reports whether it was the last.
func (s *scanner) pop() bool {
	top := len(s.stack) - 1
	s.keys = s.keys[:s.stack[top].first]
	s.stack[top].many = nil // the array behind the slice must not keep it alive
	s.stack = s.stack[:top]
	return s.endValue()
}

// addKey records the key that ends at pos, and fails if its object has it.
func (s *scanner) addKey(buf []byte) bool {
	k := key{start: s.token + 1, end: s.pos - 1}
	raw := buf[k.start:k.end]
	if s.escaped {
		k.text, _ = Text(buf[s.token:s.pos])
		raw = []byte(k.text)
	}
	top := &s.stack[len(s.stack)-1]
	if len(s.stack) == 1 {
		s.itemsKey = s.unroll && string(raw) == "items"
	}
	if top.many != nil {
		if _, twice := top.many[string(raw)]; twice {
			return s.duplicate(raw)
		}
		top.many[string(raw)] = struct{}{}
		return true
	}
	k.tag = tag(raw)
	keys := s.keys[top.first:]
	for i := range keys {
		if keys[i].tag == k.tag && string(keys[i].bytes(buf)) == string(raw) {
			return s.duplicate(raw)
		}
	}
	s.keys = append(s.keys, k)
	if len(keys) == fewKeys {
		top.many = make(map[string]struct{}, 4*fewKeys)
		for _, k := range s.keys[top.first:] {
			top.many[string(k.bytes(buf))] = struct{}{}
		}
	}
	return true
}

// topKeys returns the keys of the outermost object, which is open.
func (s *scanner) topKeys(buf []byte) map[string]struct{} {
	if s.stack[0].many != nil {
		return s.stack[0].many
	}
	keys := map[string]struct{}{}
	for _, k := range s.keys {
		keys[string(k.bytes(buf))] = struct{}{}
	}
	return keys
}

func (k *key) bytes(buf []byte) []byte {
	if k.text != "" {
		return []byte(k.text)
	}
	return buf[k.start:k.end]
}

// tag sums a key up so that unequal keys are mostly told apart without a look at
// their bytes.
func tag(b []byte) uint64 {
	if n := len(b); n >= 8 {
		return binary.LittleEndian.Uint64(b) ^ bits.RotateLeft64(binary.LittleEndian.Uint64(b[n-8:]), 29) ^ uint64(n)
	}
	var t uint64
	for _, c := range b {
		t = t<<8 | uint64(c)
	}
	return t<<8 | uint64(len(b))
}

func (s *scanner) duplicate(key []byte) bool {
	s.fail(s.token, "the key "+fault.Quote(string(key))+" stands twice in one object")
	return false
}

// ended is the verdict where the data ends.
func (s *scanner) ended(final bool, where string) verdict {
	if !final {
		return more
	}
	return s.fail(s.pos, "the input ends "+where)
}

// unexpected fails because of the character at i, once it is there as a whole.
func (s *scanner) unexpected(buf []byte, i int, final bool, where string) verdict {
	r, size := utf8.DecodeRune(buf[i:])
	switch {
	case r == utf8.RuneError && size <= 1:
		return s.badUTF8(buf, i, final)
	case r == '\uFEFF':
		s.fail(i, "a byte-order mark stands "+where)
		s.problem.hint = "save the text as UTF-8 without a byte-order mark"
		return failed
	case unicode.IsPrint(r):
		return s.fail(i, "unexpected "+fault.Quote(string(r))+" "+where)
	}
	return s.fail(i, fmt.Sprintf("unexpected character U+%04X %s", r, where))
}

// badUTF8 fails because of the bytes at i, unless the data only ends there.
func (s *scanner) badUTF8(buf []byte, i int, final bool) verdict {
	if !final && !utf8.FullRune(buf[i:]) {
		return more
	}
	return s.fail(i, "the text is not UTF-8")
}

func (s *scanner) fail(at int, message string) verdict {
	s.problem = problem{at: at, message: message}
	return failed
}

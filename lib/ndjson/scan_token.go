package ndjson

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// text scans to behind the closing quote of a string.
func (s *scanner) text(buf []byte, final bool) verdict {
	i := s.pos
	for {
		for i+8 <= len(buf) {
			special := specialBytes(binary.LittleEndian.Uint64(buf[i:]))
			if special != 0 {
				i += bits.TrailingZeros64(special) / 8
				break
			}
			i += 8
		}
		if i >= len(buf) {
			s.pos = i
			return s.ended(final, "inside a string")
		}
		switch c := buf[i]; {
		case c == '"':
			s.pos = i + 1
			return done
		case c == '\\':
			s.pos, s.escaped = i, true
			if v := s.escape(buf, final); v != done {
				return v
			}
			i = s.pos
		case c < ' ':
			return s.fail(i, fmt.Sprintf("a string holds the control character U+%04X unescaped", c))
		case c < utf8.RuneSelf:
			i++
		default:
			r, size := utf8.DecodeRune(buf[i:])
			if r == utf8.RuneError && size == 1 {
				s.pos = i
				return s.badUTF8(buf, i, final)
			}
			i += size
		}
	}
}

// specialBytes marks, in the top bit of each byte, the bytes of w that a string
// scan must look at: quotes, backslashes, control characters and what is not
// ASCII. Only the lowest mark is exact, since the subtractions carry.
func specialBytes(w uint64) uint64 {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	quote := w ^ ones*'"'
	backslash := w ^ ones*'\\'
	return (w | (w-ones*' ')&^w | (quote-ones)&^quote | (backslash-ones)&^backslash) & tops
}

// escape scans one escape sequence, both halves of a surrogate pair together.
func (s *scanner) escape(buf []byte, final bool) verdict {
	i := s.pos + 1
	if i >= len(buf) {
		return s.ended(final, "inside a string")
	}
	switch buf[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos = i + 1
		return done
	case 'u':
	default:
		return s.unexpected(buf, i, final, "after a backslash")
	}
	unit, v := s.hex4(buf, i+1, final)
	if v != done {
		return v
	}
	if unit < 0xD800 || unit > 0xDFFF {
		s.pos = i + 5
		return done
	}
	first := i - 1
	if unit >= 0xDC00 {
		return s.loneSurrogate(first, unit)
	}
	for k, want := range []byte(`\u`) {
		at := i + 5 + k
		if at >= len(buf) {
			return s.ended(final, "inside a string")
		}
		if buf[at] != want {
			return s.loneSurrogate(first, unit)
		}
	}
	second, v := s.hex4(buf, i+7, final)
	if v != done {
		return v
	}
	if second < 0xDC00 || second > 0xDFFF {
		return s.loneSurrogate(first, unit)
	}
	s.pos = i + 11
	return done
}

func (s *scanner) loneSurrogate(at int, unit uint16) verdict {
	return s.fail(at, fmt.Sprintf(`the escape "\u%04x" is half of a surrogate pair`, unit))
}

// hex4 reads the four digits of a \u escape.
func (s *scanner) hex4(buf []byte, i int, final bool) (unit uint16, v verdict) {
	for k := i; k < i+4; k++ {
		if k >= len(buf) {
			return 0, s.ended(final, "inside a string")
		}
		d, ok := hexDigit(buf[k])
		if !ok {
			return 0, s.unexpected(buf, k, final, `where a hexadecimal digit must follow "\u"`)
		}
		unit = unit<<4 | uint16(d)
	}
	return unit, done
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// scanNumber scans to the end of a number, which is known only from the byte
// behind it.
func (s *scanner) scanNumber(buf []byte, final bool) verdict {
	for ; s.pos < len(buf); s.pos++ {
		c := buf[s.pos]
		digit := '0' <= c && c <= '9'
		next := s.number
		switch s.number {
		case numberSign:
			switch {
			case c == '0':
				next = numberZero
			case digit:
				next = numberInt
			default:
				return s.unexpected(buf, s.pos, final, "in a number")
			}
		case numberZero, numberInt, numberFraction:
			switch {
			case digit && s.number != numberZero:
			case c == '.' && s.number != numberFraction:
				next = numberDot
			case c == 'e' || c == 'E':
				next = numberE
			default:
				return s.behindWord(buf, final, "in a number")
			}
		case numberDot:
			if !digit {
				return s.unexpected(buf, s.pos, final, "in a number")
			}
			next = numberFraction
		case numberE, numberESign:
			switch {
			case digit:
				next = numberExponent
			case s.number == numberE && (c == '+' || c == '-'):
				next = numberESign
			default:
				return s.unexpected(buf, s.pos, final, "in a number")
			}
		case numberExponent:
			if !digit {
				return s.behindWord(buf, final, "in a number")
			}
		}
		s.number = next
	}
	switch s.number {
	case numberZero, numberInt, numberFraction, numberExponent:
		if final {
			return done
		}
	}
	return s.ended(final, "inside a number")
}

// scanWord scans the rest of true, false or null.
func (s *scanner) scanWord(buf []byte, final bool) verdict {
	for ; s.word != ""; s.word = s.word[1:] {
		if s.pos >= len(buf) {
			return s.ended(final, "inside a literal")
		}
		if buf[s.pos] != s.word[0] {
			return s.unexpected(buf, s.pos, final, "in a literal")
		}
		s.pos++
	}
	if s.pos < len(buf) {
		return s.behindWord(buf, final, "in a literal")
	}
	if final {
		return done
	}
	return more
}

// behindWord ends a number or literal at pos, unless what follows reads as a part
// of it: values without a space between them are accepted only where no reader
// could see one value instead of two.
func (s *scanner) behindWord(buf []byte, final bool, where string) verdict {
	c := buf[s.pos]
	if 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '+' || c == '-' || c == '.' || c == '_' {
		return s.unexpected(buf, s.pos, final, where)
	}
	return done
}

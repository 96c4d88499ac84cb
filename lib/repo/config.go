package repo

import (
	"bytes"
	"strings"

	"kxm/lib/fault"
)

// configEntry is one assignment. key is in Git's canonical form: section and name
// in lower case, the subsection between them as written. bare marks a name without
// "=", which is true as a boolean and empty as a text.
type configEntry struct {
	key    string
	value  string
	bare   bool
	source string
	line   int
}

// parseConfig reads Git's configuration syntax and keeps the order of all
// assignments, since the last one counts and an include stands where it is
// written. (go-git's decoder gathers sections, so that order is lost; it also keeps
// the newline of a continued line and refuses a byte-order mark, [section.sub] and
// a name on the line of its section, all of which Git takes.)
func parseConfig(source string, data []byte) ([]configEntry, error) {
	p := configParser{source: source, line: 1, rest: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))}
	section := ""
	for {
		c, ok := p.next()
		switch {
		case !ok:
			return p.entries, nil
		case c == '\n' || isSpace(c):
		case c == '#' || c == ';':
			p.skipLine()
		case c == '[':
			if section, ok = p.section(); !ok {
				return nil, p.bad()
			}
		case isLetter(c):
			if !p.assignment(section, c) {
				return nil, p.bad()
			}
		default:
			return nil, p.bad()
		}
	}
}

type configParser struct {
	source  string
	rest    []byte
	line    int
	last    byte
	entries []configEntry
}

func (p *configParser) bad() error {
	line := p.line
	if p.last == '\n' {
		line--
	}
	return fault.New(fault.ConfigInvalid, "Git configuration does not parse").At(p.source, line, 0)
}

// next returns the next byte; CR LF is one newline.
func (p *configParser) next() (byte, bool) {
	if len(p.rest) == 0 {
		p.last = 0
		return 0, false
	}
	c := p.rest[0]
	p.rest = p.rest[1:]
	if c == '\r' && len(p.rest) > 0 && p.rest[0] == '\n' {
		c, p.rest = '\n', p.rest[1:]
	}
	if c == '\n' {
		p.line++
	}
	p.last = c
	return c, true
}

func (p *configParser) skipLine() {
	for {
		if c, ok := p.next(); !ok || c == '\n' {
			return
		}
	}
}

// section reads what follows "[": a name, and a subsection either in quotes or,
// in the old form, behind a dot and in lower case.
func (p *configParser) section() (string, bool) {
	var name []byte
	for {
		c, ok := p.next()
		switch {
		case !ok:
			return "", false
		case c == ']':
			return string(name), len(name) > 0
		case isKeyByte(c) || c == '.':
			name = append(name, lower(c))
		case isSpace(c) && len(name) > 0:
			for isSpace(c) {
				if c, ok = p.next(); !ok || c == '\n' {
					return "", false
				}
			}
			if c != '"' {
				return "", false
			}
			return p.subsection(append(name, '.'))
		default:
			return "", false
		}
	}
}

func (p *configParser) subsection(name []byte) (string, bool) {
	for {
		c, ok := p.next()
		if !ok || c == '\n' {
			return "", false
		}
		if c == '"' {
			break
		}
		if c == '\\' {
			if c, ok = p.next(); !ok || c == '\n' {
				return "", false
			}
		}
		name = append(name, c)
	}
	c, ok := p.next()
	return string(name), ok && c == ']'
}

// assignment reads a name that begins with first, and its value.
func (p *configParser) assignment(section string, first byte) bool {
	e := configEntry{source: p.source, line: p.line}
	name := []byte{lower(first)}
	c, ok := p.next()
	for ; ok && isKeyByte(c); c, ok = p.next() {
		name = append(name, lower(c))
	}
	e.key = string(name) // Git takes a name before the first section, though nothing reads one
	if section != "" {
		e.key = section + "." + e.key
	}
	for ok && (c == ' ' || c == '\t') {
		c, ok = p.next()
	}
	switch {
	case !ok || c == '\n':
		e.bare = true
	case c == '=':
		if e.value, ok = p.value(); !ok {
			return false
		}
	default:
		return false
	}
	p.entries = append(p.entries, e)
	return true
}

// value reads up to the end of the line: quotes may begin and end anywhere, blanks
// outside them are trimmed at both ends, a backslash joins the next line.
func (p *configParser) value() (string, bool) {
	var value []byte
	kept := 0 // the length without trailing blanks
	quoted, comment := false, false
	for {
		c, ok := p.next()
		if !ok || c == '\n' {
			return string(value[:kept]), !quoted
		}
		if comment {
			continue
		}
		switch {
		case isSpace(c) && !quoted:
			if len(value) > 0 {
				value = append(value, c)
			}
			continue
		case !quoted && (c == ';' || c == '#'):
			comment = true
			continue
		case c == '\\':
			c, ok = p.next()
			switch {
			case !ok:
				return "", false
			case c == '\n':
				kept = len(value)
				continue
			case c == 't':
				c = '\t'
			case c == 'b':
				c = '\b'
			case c == 'n':
				c = '\n'
			case c != '\\' && c != '"':
				return "", false
			}
			value = append(value, c)
		case c == '"':
			quoted = !quoted
		default:
			value = append(value, c)
		}
		kept = len(value)
	}
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r'
}
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isKeyByte(c byte) bool {
	return isLetter(c) || '0' <= c && c <= '9' || c == '-'
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// isTrue reads a boolean as Git does; anything that is none is false here, since
// none of the switches this package reads may be turned on by accident.
func isTrue(s string) bool {
	switch strings.ToLower(s) {
	case "true", "yes", "on":
		return true
	}
	n := strings.TrimLeft(s, "+-")
	return n != "" && strings.Trim(n, "0123456789") == "" && strings.Trim(n, "0") != ""
}

func isTrueEntry(e configEntry) bool { return e.bare || isTrue(e.value) }

// canonicalKey puts a key into the form of configEntry.key; ok is false when it
// has no section or no name.
func canonicalKey(key string) (string, bool) {
	first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
	if first <= 0 || last == len(key)-1 {
		return "", false
	}
	return strings.ToLower(key[:first]) + key[first:last] + strings.ToLower(key[last:]), true
}

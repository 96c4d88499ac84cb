package frontmatter

import "time"

// resolve returns the tag of a plain scalar by the core schema of YAML 1.2, which
// knows no yes, no, on or off, no binary numbers and no digits joined by
// underscores. One tag more than that schema: dates and times are
// [TagTimestamp], as in YAML 1.1, so that a reader can tell a date from text.
func resolve(s string) string {
	if s == "" {
		return TagNull
	}
	switch c := s[0]; {
	case c == '~' || c == 'n' || c == 'N':
		if s == "~" || s == "null" || s == "Null" || s == "NULL" {
			return TagNull
		}
	case c == 't' || c == 'T':
		if s == "true" || s == "True" || s == "TRUE" {
			return TagBool
		}
	case c == 'f' || c == 'F':
		if s == "false" || s == "False" || s == "FALSE" {
			return TagBool
		}
	case c == '+' || c == '-' || c == '.' || isDigit(c):
		return resolveNumber(s)
	}
	return TagString
}

// resolveNumber is resolve for what starts like a number. The forms, as the core
// schema has them: [-+]?[0-9]+, 0o[0-7]+, 0x[0-9a-fA-F]+, the floats
// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?, and .inf and .nan.
func resolveNumber(s string) string {
	if len(s) > 2 && s[0] == '0' && (s[1] == 'o' && all(s[2:], isOctal) || s[1] == 'x' && all(s[2:], isHex)) {
		return TagInt
	}
	if isTimestamp(s) {
		return TagTimestamp
	}
	if s == ".nan" || s == ".NaN" || s == ".NAN" {
		return TagFloat
	}
	rest := s
	if rest[0] == '+' || rest[0] == '-' {
		rest = rest[1:]
	}
	if rest == ".inf" || rest == ".Inf" || rest == ".INF" {
		return TagFloat
	}
	whole := digits(rest)
	rest = rest[whole:]
	if rest == "" && whole > 0 {
		return TagInt
	}
	if rest != "" && rest[0] == '.' {
		fraction := digits(rest[1:])
		if whole+fraction == 0 {
			return TagString
		}
		rest = rest[1+fraction:]
	} else if whole == 0 {
		return TagString
	}
	if rest != "" {
		if rest[0] != 'e' && rest[0] != 'E' {
			return TagString
		}
		rest = rest[1:]
		if rest != "" && (rest[0] == '+' || rest[0] == '-') {
			rest = rest[1:]
		}
		if rest == "" || digits(rest) != len(rest) {
			return TagString
		}
	}
	return TagFloat
}

// timestampForms are the forms of dates and times that count: those of YAML 1.1
// that Go's time package can read.
var timestampForms = [...]string{
	"2006-1-2",
	"2006-1-2T15:4:5.999999999Z07:00",
	"2006-1-2t15:4:5.999999999Z07:00",
	"2006-1-2 15:4:5.999999999",
}

func isTimestamp(s string) bool {
	if len(s) < len("2006-1-2") || digits(s) != 4 || s[4] != '-' {
		return false
	}
	for _, form := range timestampForms {
		if _, err := time.Parse(form, s); err == nil {
			return true
		}
	}
	return false
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isOctal(c byte) bool { return c >= '0' && c <= '7' }
func isHex(c byte) bool   { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// digits returns how many decimal digits s starts with.
func digits(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

func all(s string, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return true
}

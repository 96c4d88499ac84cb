package signature

import (
	"fmt"
	"strings"
	"time"

	"kxm/lib/fault"
)

// Signer is one line of an allowed-signers file that grants something.
type Signer struct {
	Line        int      // from 1
	Principals  []string // plain names, at least one; the first is the one to show
	Key         Key
	Namespaces  []string  // patterns with * and ?; a leading ! excludes
	ValidAfter  time.Time // in UTC, inclusive; zero: no bound
	ValidBefore time.Time // in UTC, inclusive to the second; zero: no bound
}

// LineProblem says why a line grants nothing.
type LineProblem struct {
	Line   int // from 1
	Reason string
}

// Person is one holder of names and keys in one [Signers]: lines that share a name
// or a key are one person's, and so are those that are connected through others.
// 0 is nobody. The number means nothing in another Signers.
type Person int

// Signers is an allowed-signers file as it was parsed. The zero value allows nobody.
// It is not changed after it was made, so goroutines may share it.
type Signers struct {
	lines    []Signer
	byKey    map[Key][]int
	problems map[Key][]LineProblem // of lines whose key could be read
	names    map[string]Person
	keys     map[Key]Person
}

// ParseAllowedSigners reads an allowed-signers file in OpenSSH's format. A line that
// grants nothing is a problem, and the others count. It grants what ssh-keygen
// would, or less; the reasons that are ours alone:
//
//   - no namespaces: a list made for commit signatures makes nobody an operator
//   - valid-after or valid-before without Z: the bound would move with the reader
//   - cert-authority, a pattern among the principals, an RSA key below 2,048 bits
//   - an empty option, a date that is not in the calendar, or one up to the year 1970
//   - control characters, or characters in a name that cannot be seen
func ParseAllowedSigners(data []byte) (Signers, []LineProblem) {
	s := Signers{byKey: map[Key][]int{}, problems: map[Key][]LineProblem{}}
	var problems []LineProblem
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		line = strings.TrimLeft(strings.TrimRight(line, "\r\n"), " \t")
		if line == "" || line[0] == '#' {
			continue
		}
		signer, err := parseLine(line)
		signer.Line = number
		if err != nil {
			p := LineProblem{number, err.Error()}
			problems = append(problems, p)
			if signer.Key != (Key{}) {
				s.problems[signer.Key] = append(s.problems[signer.Key], p)
			}
			continue
		}
		s.byKey[signer.Key] = append(s.byKey[signer.Key], len(s.lines))
		s.lines = append(s.lines, signer)
	}
	s.names, s.keys = persons(s.lines)
	return s, problems
}

// parseLine parses a line without its end and leading blanks. With an error the Key
// is set if it could be read.
func parseLine(line string) (Signer, error) {
	var s Signer
	for i := range len(line) {
		if line[i] < ' ' && line[i] != '\t' || line[i] == 0x7f {
			return s, fmt.Errorf("it holds a control character")
		}
	}
	principals, rest, err := cutPrincipals(line)
	if err != nil {
		return s, err
	}
	options, key := "", rest
	if !startsKey(rest) {
		if options, key, err = cutOptions(rest); err != nil {
			return s, err
		}
	}
	fields := strings.FieldsFunc(key, isBlank) // what follows is a comment
	if len(fields) < 2 {
		return s, fmt.Errorf("no key follows")
	}
	if s.Key, err = decodeKey(fields[0], fields[1]); err != nil {
		return s, err
	}
	if s.Principals, err = parsePrincipals(principals); err != nil {
		return s, err
	}
	return s, s.setOptions(options)
}

// startsKey tells a key's type from options: no option begins like one, and a type
// that is unknown here must not be called an option.
func startsKey(s string) bool {
	return strings.HasPrefix(s, "ssh-") || strings.HasPrefix(s, "ecdsa-") || strings.HasPrefix(s, "sk-")
}

// cutPrincipals cuts the first field, which may stand in double quotes.
func cutPrincipals(line string) (principals, rest string, err error) {
	if quoted, ok := strings.CutPrefix(line, `"`); ok {
		if principals, rest, ok = strings.Cut(quoted, `"`); !ok {
			return "", "", fmt.Errorf("a quote is not closed")
		}
		// OpenSSH lets the next field follow at once.
		if rest != "" && !isBlank(rune(rest[0])) {
			return "", "", fmt.Errorf("no blank follows the quoted principals")
		}
	} else {
		end := strings.IndexFunc(line, isBlank)
		if end < 0 {
			return "", "", fmt.Errorf("no key follows")
		}
		principals, rest = line[:end], line[end:]
		// OpenSSH lets quotes open inside the field.
		if strings.Contains(principals, `"`) {
			return "", "", fmt.Errorf("a quote is inside the principals")
		}
	}
	return principals, strings.TrimLeft(rest, " \t"), nil
}

// cutOptions cuts a field in which blanks may stand in double quotes, and quotes
// behind a backslash.
func cutOptions(s string) (options, rest string, err error) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && s[i+1] == '"':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && isBlank(rune(c)):
			return s[:i], s[i:], nil
		}
	}
	if quoted {
		return "", "", fmt.Errorf("a quote is not closed")
	}
	return "", "", fmt.Errorf("no key follows")
}

// maxPattern is the longest pattern or name in bytes: OpenSSH matches no longer one.
const maxPattern = 1022

func parsePrincipals(field string) ([]string, error) {
	names := strings.Split(field, ",")
	for _, name := range names {
		switch {
		case name == "":
			return nil, fmt.Errorf("a principal is empty")
		case name[0] == '!' || strings.ContainsAny(name, "*?"):
			return nil, fmt.Errorf("principal %s is a pattern: only plain names count", fault.Quote(name))
		case len(name) > maxPattern:
			return nil, fmt.Errorf("a principal is longer than %d bytes", maxPattern)
		case fault.Printable(name) != name:
			return nil, fmt.Errorf("principal %s holds a character that cannot be seen", fault.Quote(name))
		}
	}
	return names, nil
}

// setOptions parses the options field. One that is not understood may restrict, so
// it spoils the line.
func (s *Signer) setOptions(field string) error {
	seen := map[string]bool{}
	for rest := field; rest != ""; {
		end := strings.IndexAny(rest, "=,")
		if end < 0 {
			end = len(rest)
		}
		name := lowerASCII(rest[:end])
		rest = rest[end:]
		if name == "cert-authority" {
			return fmt.Errorf("cert-authority: certificates grant nothing")
		}
		if name != "namespaces" && name != "valid-after" && name != "valid-before" {
			return fmt.Errorf("option %s is unknown", fault.Quote(name))
		}
		if seen[name] {
			return fmt.Errorf("option %s is given twice", name)
		}
		seen[name] = true
		value, after, ok := dequote(strings.TrimPrefix(rest, "="))
		if !ok {
			return fmt.Errorf("option %s has no value in double quotes", name)
		}
		var err error
		switch name {
		case "namespaces":
			s.Namespaces, err = parseNamespaces(value)
		case "valid-after":
			s.ValidAfter, err = parseTime(name, value)
		case "valid-before":
			s.ValidBefore, err = parseTime(name, value)
		}
		if err != nil {
			return err
		}
		if after != "" {
			if after[0] != ',' || after == "," {
				return fmt.Errorf("no comma and option follow the value of %s", name)
			}
			after = after[1:]
		}
		rest = after
	}
	if s.Namespaces == nil {
		return fmt.Errorf("it has no namespaces")
	}
	if !s.ValidAfter.IsZero() && !s.ValidBefore.IsZero() && !s.ValidBefore.After(s.ValidAfter) {
		return fmt.Errorf("valid-before is not after valid-after")
	}
	return nil
}

// dequote cuts a value in double quotes, in which a backslash keeps a quote.
func dequote(s string) (value, rest string, ok bool) {
	if s == "" || s[0] != '"' {
		return "", "", false
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] == '"' {
			return b.String(), s[i+1:], true
		}
		if s[i] == '\\' && i+1 < len(s) && s[i+1] == '"' {
			i++
		}
		b.WriteByte(s[i])
	}
	return "", "", false
}

// lowerASCII leaves other letters alone: Unicode's folding would make options of
// names that OpenSSH does not know, such as one with U+212A, the Kelvin sign.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

func parseNamespaces(value string) ([]string, error) {
	patterns := strings.Split(value, ",")
	grants := false
	for _, p := range patterns {
		if len(p) > maxPattern {
			return nil, fmt.Errorf("a namespace is longer than %d bytes", maxPattern)
		}
		grants = grants || p != "" && p[0] != '!'
	}
	if !grants {
		return nil, fmt.Errorf("its namespaces name none that it is for")
	}
	return patterns, nil
}

// parseTime parses YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS with a Z.
func parseTime(name, value string) (time.Time, error) {
	digits, ok := strings.CutSuffix(value, "Z")
	if !ok {
		return time.Time{}, fmt.Errorf("%s %s has no Z: it would mean the reader's time zone", name, fault.Quote(value))
	}
	layout := map[int]string{8: "20060102", 12: "200601021504", 14: "20060102150405"}[len(digits)]
	// time.Parse would take a fraction of a second that no layout names.
	if layout == "" || strings.Trim(digits, "0123456789") != "" {
		return time.Time{}, fmt.Errorf("%s %s is not YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS with a Z", name, fault.Quote(value))
	}
	t, err := time.Parse(layout, digits)
	// OpenSSH takes 0 for no bound, and a time before it for one in the far future.
	if err != nil || t.Unix() <= 0 {
		return time.Time{}, fmt.Errorf("%s %s is no time after 1970-01-01", name, fault.Quote(value))
	}
	return t, nil
}

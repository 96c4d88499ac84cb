package prompt

import (
	"fmt"
	"strconv"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

// problem is what is wrong with a member of the input; its path grows on the way
// out.
type problem struct {
	code       fault.Code
	path, text string
}

func (p *problem) Error() string { return p.path + " " + p.text }

// wrong returns a problem of the member that is being read.
func wrong(format string, args ...any) error {
	return &problem{code: fault.PromptInputInvalid, text: fmt.Sprintf(format, args...)}
}

// within says in which member an error came up.
func within(err error, step string) error {
	switch e := err.(type) {
	case *problem:
		switch {
		case e.path == "":
			e.path = step
		case e.path[0] == '[':
			e.path = step + e.path
		default:
			e.path = step + "." + e.path
		}
	case *fault.Error:
		c := *e
		if c.Field == "" {
			c.Field = step
		} else {
			c.Field = step + "." + c.Field
		}
		return &c
	}
	return err
}

// refused turns a problem into the error that callers see.
func refused(err error) error {
	p, ok := err.(*problem)
	if !ok {
		return err
	}
	subject := p.path
	if subject == "" {
		subject = "the input"
	}
	return fault.New(p.code, "%s %s", fault.Printable(subject), p.text).On(p.path)
}

// member is a value of a validated JSON text.
type member string

func (m member) null() bool { return m == "null" }

// object calls fn with each member that is not null.
func (m member) object(fn func(key string, m member) error) error {
	return m.all(func(key string, m member) error {
		if m.null() {
			return nil
		}
		return fn(key, m)
	})
}

// all is object with the members that are null.
func (m member) all(fn func(key string, m member) error) error {
	if kind(m) != '{' {
		return wrong("must be an object")
	}
	return ndjson.FieldsText(string(m), func(key, value string) error {
		if err := fn(key, member(value)); err != nil {
			return within(err, key)
		}
		return nil
	})
}

// list calls fn with each element.
func (m member) list(fn func(i int, m member) error) error {
	if kind(m) != '[' {
		return wrong("must be a list")
	}
	i := 0
	return ndjson.ElementsText(string(m), func(value string) error {
		if err := fn(i, member(value)); err != nil {
			return within(err, "["+strconv.Itoa(i)+"]")
		}
		i++
		return nil
	})
}

// text reads a text of any length.
func (m member) text(into *string) error {
	s, ok := ndjson.Unquote(string(m))
	if !ok {
		return wrong("must be a text")
	}
	*into = Normalise(s)
	return nil
}

// line reads a text that is shown in one line, of at most so many characters.
func (m member) line(into *string, most int) error {
	s, ok := ndjson.Unquote(string(m))
	if !ok {
		return wrong("must be a text")
	}
	s = Line(s)
	if n := length(s); n > most {
		return wrong("has %d characters, at most %d are read", n, most)
	}
	*into = s
	return nil
}

func (m member) lines(into *[]string, most int) error {
	return m.list(func(_ int, m member) error {
		var s string
		err := m.line(&s, most)
		*into = append(*into, s)
		return err
	})
}

func (m member) flag(into *bool) error {
	switch m {
	case "true", "false":
		*into = m == "true"
		return nil
	}
	return wrong("must be true or false")
}

// number reads an integer within bounds; outside of them the code says so.
func (m member) number(into *int, least, most int, code fault.Code) error {
	n, err := strconv.Atoi(string(m))
	if err != nil || n < least || n > most {
		return &problem{code: code, text: fmt.Sprintf("must be an integer from %d to %d", least, most)}
	}
	*into = n
	return nil
}

func kind(m member) byte {
	if m == "" {
		return 0
	}
	return m[0]
}

// validated checks the size and syntax of an input that must be one object.
func validated(raw []byte) (member, error) {
	if len(raw) > ndjson.MaxValue {
		return "", fault.New(fault.InvalidJSON, "the input is larger than %d MiB", ndjson.MaxValue>>20)
	}
	if err := ndjson.Validate(raw); err != nil {
		return "", err
	}
	return trimmed(raw), nil
}

// trimmed returns a valid value without the white space around it.
func trimmed(raw []byte) member {
	from, to := 0, len(raw)
	for from < to && isSpace(raw[from]) {
		from++
	}
	for from < to && isSpace(raw[to-1]) {
		to--
	}
	return member(raw[from:to])
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

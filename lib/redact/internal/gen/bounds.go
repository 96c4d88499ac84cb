package main

import (
	"fmt"
	"regexp/syntax"
	"strings"
)

// bound is what holds for every match of an expression, counted in characters:
// its length, and the runs of token characters (see token) at its start, at its
// end and anywhere in it. Each number is a lower bound.
type bound struct {
	min, head, tail, best int
	all                   bool // a match holds token characters only
}

var nothing = bound{all: true}

// boundOf computes the bound of an expression. Where a construct is too rich for
// an exact answer it returns less, never more.
func boundOf(re *syntax.Regexp) bound {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return nothing
	case syntax.OpLiteral:
		b := nothing
		for _, r := range re.Rune {
			b = b.then(one(token(r)))
		}
		return b
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				if !token(r) {
					return one(false)
				}
			}
		}
		return one(len(re.Rune) > 0)
	case syntax.OpCapture:
		return boundOf(re.Sub[0])
	case syntax.OpConcat:
		b := nothing
		for _, sub := range re.Sub {
			b = b.then(boundOf(sub))
		}
		return b
	case syntax.OpAlternate:
		b := boundOf(re.Sub[0])
		for _, sub := range re.Sub[1:] {
			b = b.or(boundOf(sub))
		}
		return b
	case syntax.OpStar, syntax.OpQuest:
		return boundOf(re.Sub[0]).or(nothing)
	case syntax.OpPlus:
		b := boundOf(re.Sub[0])
		return b.then(b.or(nothing))
	case syntax.OpRepeat:
		one, b := boundOf(re.Sub[0]), nothing
		for range re.Min {
			b = b.then(one)
		}
		if re.Max != re.Min {
			b = b.then(one.or(nothing))
		}
		return b
	default: // any character, no match
		return one(false)
	}
}

func one(token bool) bound {
	if token {
		return bound{1, 1, 1, 1, true}
	}
	return bound{min: 1}
}

// then is the bound of a match of a followed by a match of b.
func (a bound) then(b bound) bound {
	c := bound{min: a.min + b.min, head: a.head, tail: b.tail, all: a.all && b.all}
	if a.all {
		c.head = a.min + b.head
	}
	if b.all {
		c.tail = b.min + a.tail
	}
	c.best = max(a.best, b.best, a.tail+b.head)
	return c
}

// or is the bound of a match of either.
func (a bound) or(b bound) bound {
	return bound{min(a.min, b.min), min(a.head, b.head), min(a.tail, b.tail), min(a.best, b.best), a.all && b.all}
}

// token reports whether lib/redact counts the character as part of a token: what
// keys are made of, and the two letters that \w includes when case is folded.
func token(r rune) bool {
	return r < 0x80 && (r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("_.=+/-", r)) ||
		r == 'ſ' || r == '\u212A'
}

// The two parts that gitleaks writes between a name and its value in rules of the
// form NAME operator VALUE,
// and the end they put behind a secret.
const (
	operator = `(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)`
	opening  = `[\x60'"\s=]{0,5}`
	ending   = `(?:[\x60'"\s;]|\\[nr]|$)`
)

// assigned returns the value of a rule of the form NAME operator VALUE, the capture
// that follows the operator directly, and how many characters a match holds in front
// of it at most. It returns nil if the rule has another form, or asks there about
// what surrounds it.
func assigned(re *syntax.Regexp) (value *syntax.Regexp, lead int) {
	if re.Op != syntax.OpConcat {
		return nil, 0
	}
	op, open := parse(operator).String(), parse(opening).String()
	for i := 2; i < len(re.Sub); i++ {
		if re.Sub[i].Op != syntax.OpCapture || re.Sub[i-1].String() != open || re.Sub[i-2].String() != op {
			continue
		}
		for _, sub := range re.Sub[:i] {
			n := longestOf(sub)
			if n < 0 {
				return nil, 0
			}
			lead += n
		}
		return re.Sub[i], lead
	}
	return nil, 0
}

// optionalName is what rules of that form begin with: more of the name than they
// ask for.
const optionalName = `[\w.-]{0,50}?`

// quick returns an expression that finds something in every text in which the rule
// of that form does: what must stand of the name, the operator, and as many token
// characters as the value has at least.
func quick(regex string, run int) string {
	flags := ""
	if rest, ok := strings.CutPrefix(regex, `(?i)`); ok {
		flags, regex = `(?i)`, rest
	}
	name := regex[:strings.LastIndex(regex, operator+opening)]
	return fmt.Sprintf(`%s%s%s%s[\w.=+/\x{17F}\x{212A}-]{%d}`, flags, strings.TrimPrefix(name, optionalName), operator, opening, run)
}

// longestOf returns the length of the longest match, or -1 if it has no bound or
// depends on what surrounds it.
func longestOf(re *syntax.Regexp) int {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return 0
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	case syntax.OpCapture, syntax.OpQuest:
		return longestOf(re.Sub[0])
	case syntax.OpRepeat:
		if n := longestOf(re.Sub[0]); n >= 0 && re.Max >= 0 {
			return n * re.Max
		}
	case syntax.OpConcat, syntax.OpAlternate:
		total, longest := 0, 0
		for _, sub := range re.Sub {
			n := longestOf(sub)
			if n < 0 {
				return -1
			}
			total, longest = total+n, max(longest, n)
		}
		if re.Op == syntax.OpConcat {
			return total
		}
		return longest
	}
	return -1
}

// tokenOnly reports whether every match consists of token characters, apart from
// gitleaks' ending: a match then lies in one run of them.
func tokenOnly(re *syntax.Regexp) bool {
	subs := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		subs = re.Sub
	}
	for i, sub := range subs {
		switch {
		case boundOf(sub).all:
		case i == len(subs)-1 && (sub.String() == parse(ending).String() || sub.String() == parse(`(?i)`+ending).String()):
		default:
			return false
		}
	}
	return true
}

// after returns how many characters that the expression does not spell out must
// follow the end of the capture inside a match; ok is false if the capture is not
// in the expression.
func after(re *syntax.Regexp, capture int) (n int, ok bool) {
	if re.Op == syntax.OpCapture && re.Cap == capture {
		return 0, true
	}
	for i, sub := range re.Sub {
		if n, ok = after(sub, capture); !ok {
			continue
		}
		if re.Op == syntax.OpConcat {
			for _, next := range re.Sub[i+1:] {
				n += variable(next)
			}
		}
		return n, true
	}
	return 0, false
}

// variable returns how many characters that the expression does not spell out a
// match holds at least.
func variable(re *syntax.Regexp) (n int) {
	switch re.Op {
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	case syntax.OpCapture, syntax.OpPlus:
		return variable(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min * variable(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			n += variable(sub)
		}
	case syntax.OpAlternate:
		n = variable(re.Sub[0])
		for _, sub := range re.Sub[1:] {
			n = min(n, variable(sub))
		}
	}
	return n
}

func parse(expr string) *syntax.Regexp {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		panic(err)
	}
	return re
}

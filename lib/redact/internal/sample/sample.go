// Package sample makes texts that a regular expression matches, for tests. Start
// with [New]. It follows the expression's structure alone: a text can miss a word
// boundary, so a test checks that it does match. Nothing here is linked into a
// binary.
package sample

import (
	"math/rand/v2"
	"regexp/syntax"
	"strings"
)

// Sampler makes random texts of one expression.
type Sampler struct {
	re     *syntax.Regexp
	random *rand.Rand
}

// New returns a sampler of the expression, which must be valid.
func New(expr string, random *rand.Rand) *Sampler {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		panic(err)
	}
	return &Sampler{re, random}
}

// Next returns a text.
func (s *Sampler) Next() string {
	var b strings.Builder
	s.write(&b, s.re)
	return b.String()
}

func (s *Sampler) write(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if re.Flags&syntax.FoldCase != 0 && s.random.IntN(2) == 0 {
				r = []rune(strings.ToLower(string(r)))[0]
			}
			b.WriteRune(r)
		}
	case syntax.OpCharClass:
		b.WriteRune(s.member(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteRune(s.member([]rune{' ', '~'}))
	case syntax.OpCapture:
		s.write(b, re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			s.write(b, sub)
		}
	case syntax.OpAlternate:
		s.write(b, re.Sub[s.random.IntN(len(re.Sub))])
	case syntax.OpStar:
		s.repeat(b, re.Sub[0], 0, -1)
	case syntax.OpPlus:
		s.repeat(b, re.Sub[0], 1, -1)
	case syntax.OpQuest:
		s.repeat(b, re.Sub[0], 0, 1)
	case syntax.OpRepeat:
		s.repeat(b, re.Sub[0], re.Min, re.Max)
	}
}

func (s *Sampler) repeat(b *strings.Builder, re *syntax.Regexp, least, most int) {
	if most < 0 || most > least+4 {
		most = least + 4
	}
	for range least + s.random.IntN(most-least+1) {
		s.write(b, re)
	}
}

// member returns a character of the class, of ASCII that can be seen if it has any.
func (s *Sampler) member(ranges []rune) rune {
	var all []rune
	for i := 0; i < len(ranges); i += 2 {
		for r := max(ranges[i], ' '); r <= min(ranges[i+1], '~'); r++ {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return ranges[0]
	}
	return all[s.random.IntN(len(all))]
}

package redact

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"

	"kxm/lib/fault"
)

// rule is one row of the table. Its fields are gitleaks' own, except those of the
// prefilter, which the generator derives from the regular expression.
type rule struct {
	id       string
	regex    string // "": the rule looks at the path alone
	path     string // "": the rule holds for every text
	group    int    // the capture that is the secret; 0: the first that is not empty
	entropy  float64
	keywords []string // lower case; the rule is tried only where one occurs
	allow    []allowlist

	// Every match holds a run of at least this many token characters; with mixed,
	// one with something else in it than letters, '_', '.' and '-'.
	run   int
	mixed bool
	form  form
	lead  int    // formAssigned: the most characters of a match in front of the value
	quick string // formAssigned: an expression that finds something wherever the rule does, and sooner
	whole bool   // the first capture is only a part of the secret
}

// form says where in a text a rule can match.
type form uint8

const (
	formAny      form = iota
	formToken         // a match is one token: it lies in one run, with at most a character at each end
	formAssigned      // NAME operator VALUE: the value lies in one run behind an assignment, the name is not far
)

// allowlist says which matches of a rule are not secrets.
type allowlist struct {
	and       bool // every list that is given must fit; else one is enough
	target    target
	regexes   []string
	paths     []string
	stopwords []string // lower case, looked for in the secret
}

// target is what an allowlist's regular expressions are tried on.
type target uint8

const (
	targetSecret target = iota
	targetMatch
	targetLine
)

// compiled holds what was compiled of a rule so far.
type compiled struct {
	quick, wide, own, path lazyRegexp
	allowOnce              sync.Once
	allow                  []compiledAllow
}

// compiledAllow holds what was compiled of an allowlist so far.
type compiledAllow struct {
	regexes, paths lazyRegexp
	stopOnce       sync.Once
	stopwords      *wordSet
}

// wideOf returns the rule's wide expression.
func (c *compiled) wideOf(r *rule) *regexp.Regexp {
	return c.wide.get(r.id, func() string { return widen(r) })
}

// lazyRegexp compiles an expression when it is first needed.
type lazyRegexp struct {
	once sync.Once
	re   *regexp.Regexp
	err  error
}

// get returns the compiled expression. That every expression compiles is a test;
// should one not, scanning without its rule would be a weaker filter, so the
// program ends: lib/cli turns the panic into its error.
func (l *lazyRegexp) get(rule string, expr func() string) *regexp.Regexp {
	l.once.Do(func() { l.re, l.err = regexp.Compile(expr()) })
	if l.err != nil {
		panic(fault.Wrap(l.err, fault.RedactionUnavailable, "cannot load the secret rule %s", fault.Quote(rule)))
	}
	return l.re
}

// join makes one expression of a list as gitleaks does. A flag set in one of them
// holds in those after it; its lists are tested that way, so this is kept.
func join(exprs []string) string { return "(?:" + strings.Join(exprs, "|") + ")" }

// The end that gitleaks puts behind most secrets, and what stands there in
// running text, where a secret is followed by a comma or a bracket as well.
const (
	ending         = `(?:[\x60'"\s;]|\\[nr]|$)`
	endingOfValue  = `(?:[\x60'"\s;,)\[\]}>&|!?<]|[^\x00-\x7F]|[.:](?:\s|$)|\\[nr]|$)`
	endingOfToken  = `(?:[^a-zA-Z0-9]|$)`
	tokenBoundary  = `(?:\b|_)`
	caseless       = `(?i)`
	plainBoundary  = `\b`
	startOfCommand = `\bcurl`
)

// widen returns the rule's expression with looser borders: a token also counts
// next to an underscore (in an identifier) and before any punctuation, a value
// before a comma, a bracket or the end of a sentence. Whatever the rule's own
// expression matches, the wide one matches too, though not always the same part
// where two candidates overlap: find uses both.
func widen(r *rule) string {
	expr, flags := r.regex, ""
	if strings.HasPrefix(expr, caseless) {
		expr, flags = expr[len(caseless):], caseless
	}
	if r.form == formAssigned || strings.HasPrefix(expr, `[\w.-]{0,50}?`) {
		return flags + strings.ReplaceAll(expr, ending, endingOfValue)
	}
	expr = strings.ReplaceAll(expr, ending, endingOfToken)
	if !strings.HasPrefix(expr, plainBoundary) || strings.HasPrefix(expr, startOfCommand) {
		return flags + expr
	}
	expr = strings.TrimPrefix(expr, plainBoundary)
	after := ""
	if strings.HasSuffix(expr, plainBoundary) {
		expr, after = strings.TrimSuffix(expr, plainBoundary), tokenBoundary
	}
	if re, err := syntax.Parse(expr, syntax.Perl); err == nil && re.MaxCap() == 0 {
		expr = "(" + expr + ")" // the border is not part of the secret
	}
	return flags + tokenBoundary + expr + after
}

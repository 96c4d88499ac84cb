package steel

import (
	"strings"

	"kxm/lib/fault"
)

// aimKind says how an element is named.
type aimKind string

// Ways to name an element. All but a reference search the main document, open shadow
// roots and the frames of the tab's own process.
const (
	byReference aimKind = "ref"
	bySelector  aimKind = "css"
	byText      aimKind = "text"  // its whole accessible name or text
	byLabel     aimKind = "label" // the accessible name of a form field
	byTestID    aimKind = "testid"
)

// Aim names one element of a page.
type Aim struct {
	kind   aimKind
	wanted string // a reference without its @, a selector or a text, folded where it is one
	text   string // as it was given
}

// ParseAim reads a target: e12 or @e12, css=SELECTOR, text=TEXT, label=TEXT or testid=ID.
func ParseAim(text string) (Aim, error) {
	if name := strings.TrimPrefix(text, "@"); refNumber(name) != 0 {
		return Aim{byReference, name, name}, nil
	}
	prefix, wanted, _ := strings.Cut(text, "=")
	kind := aimKind(prefix)
	switch kind {
	case byText, byLabel:
		wanted = fold(wanted, noLimit)
	case bySelector, byTestID:
	default:
		kind = ""
	}
	if kind == "" || strings.TrimSpace(wanted) == "" {
		return Aim{}, fault.New(fault.SteelUsage, "%s names no element", fault.Quote(text)).
			WithHint("e12 (from kxm-steel snapshot), css=SELECTOR, text=TEXT, label=TEXT or testid=ID")
	}
	return Aim{kind, wanted, text}, nil
}

// IsReference reports whether it is the number of an element in a snapshot.
func (a Aim) IsReference() bool { return a.kind == byReference }

// String is the target as it was given.
func (a Aim) String() string { return a.text }

// Choice says which of several matches is meant.
type Choice struct {
	Nth    int  // from 1; 0: there must be one match alone
	Hidden bool // where no visible element matches, a hidden one may
}

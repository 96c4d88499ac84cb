package main

import (
	"kxm/lib/fault"
	"kxm/lib/steel"
)

// oneOf is the flag of verbs that are about one element.
type oneOf struct {
	Nth int `placeholder:"N" help:"Of several elements that match, the one of this number; the first is 1."`
}

// choice is which of several matches is meant.
func (o *oneOf) choice() (steel.Choice, error) {
	if o.Nth < 0 {
		return steel.Choice{}, fault.New(fault.Usage, "--nth is 1 or more")
	}
	return steel.Choice{Nth: o.Nth}, nil
}

// onElement is the argument and flags of verbs about one element.
type onElement struct {
	onTab
	oneOf
	Target string `arg:"" name:"target" help:"The element: e12, css=SELECTOR, text=TEXT, label=TEXT or testid=ID."`
}

// meant reads the argument and flags. What the command is about is then known before the
// tab is attached to.
func (e *onElement) meant() (steel.Choice, error) {
	aim, err := steel.ParseAim(e.Target)
	if err != nil {
		return steel.Choice{}, err
	}
	e.aim = aim
	return e.choice()
}

// locatingCodes are how a verb about an element can end.
func locatingCodes(more ...fault.Code) []fault.Code {
	return attachingCodes(append(more, fault.SteelUsage, fault.SteelTargetNotFound, fault.SteelTargetAmbiguous, fault.SteelTargetHidden,
		fault.SteelRefUnknown, fault.SteelRefStale)...)
}

// targetHelp says how elements are named.
const targetHelp = `TARGET is a reference from a snapshot (e12), css=SELECTOR, text=TEXT (an element's whole accessible name or text), label=TEXT (the accessible name of a form field) or testid=ID (its data-testid). White space in texts is folded and case matters. All but a reference search the page, open shadow roots and frames of the same process, and must match one visible element, or --nth says which; text= takes the innermost one, and the control that a text is the name of. A reference also leads into frames of other sites and closed shadow roots; it is refused when the page or the element has changed since.`

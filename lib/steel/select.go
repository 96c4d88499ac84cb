package steel

import (
	"context"
	"slices"
	"strings"

	"kxm/lib/fault"
)

// optionList is what the script says of a list and the options that are wanted of it.
type optionList struct {
	Kind     string   `json:"kind"` // "select", or "": it is no list
	Multiple bool     `json:"multiple"`
	Disabled bool     `json:"disabled"`
	Missing  int      `json:"missing"` // the first that is wanted and not there, or -1
	Off      int      `json:"off"`     // and that is disabled
	Labels   []string `json:"labels"`  // of the first options
	Count    int      `json:"count"`
}

// Select chooses options of a list, each named by its value or else by its visible label.
// Other options are chosen no longer. All must be there, or nothing changes.
func (p *Page) Select(ctx context.Context, a Aim, c Choice, wanted []string) (*Action, error) {
	var l optionList
	e, h, err := p.inspect(ctx, a, c, "list", []any{wanted}, &l)
	if err == nil {
		err = l.has(h, wanted)
	}
	if err != nil {
		return nil, err
	}
	var want, is []string
	if err := e.Ask(ctx, "choose", []any{wanted}, &want); err != nil {
		return nil, err
	}
	is = slices.Clone(want)
	done := &Action{Action: "select", Target: &h}
	if err := e.reportOn(ctx, done, "chosenNow", nil, &is); err != nil {
		return nil, err
	}
	if !sameValues(want, is) {
		return nil, fault.New(fault.SteelValueDiffers, "%s chose otherwise after it was told", h).WithHint("look with kxm-steel snapshot")
	}
	for _, v := range is {
		done.Values = append(done.Values, clean(p.service.Secrets.Mask(v), maxMessage))
	}
	return done, nil
}

// sameValues reports whether two lists hold the same, in any order and however often.
func sameValues(a, b []string) bool {
	sorted := func(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }
	return slices.Equal(sorted(a), sorted(b))
}

// has refuses a list of which the wanted options cannot be chosen.
func (l *optionList) has(h Hit, wanted []string) error {
	switch {
	case l.Kind == "":
		return fault.New(fault.SteelTargetKind, "%s is no list of options", h).WithHint("what only looks like one is opened, and its option chosen, with kxm-steel click")
	case l.Disabled:
		return fault.New(fault.SteelTargetDisabled, "%s is disabled", h)
	case !l.Multiple && len(wanted) > 1:
		return fault.New(fault.SteelTargetKind, "of %s one option can be chosen, and not %d", h, len(wanted))
	case l.Missing >= 0 && l.Missing < len(wanted):
		var labels []string
		for _, label := range l.Labels {
			labels = append(labels, fault.Quote(clean(label, 40)))
		}
		if l.Count > len(labels) {
			labels = append(labels, "…")
		}
		return fault.New(fault.SteelOptionNotFound, "%s has no option %s", h, fault.Quote(wanted[l.Missing])).WithHint("it has %s", strings.Join(labels, ", "))
	case l.Off >= 0 && l.Off < len(wanted):
		return fault.New(fault.SteelTargetDisabled, "the option %s of %s is disabled", fault.Quote(wanted[l.Off]), h)
	}
	return nil
}

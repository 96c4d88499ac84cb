package steel

import (
	"strings"

	"kxm/lib/fault"
)

// legalVerbs are the verbs that change a session's state, by state.
var legalVerbs = map[State][]string{
	AgentControl:         {"takeover begin", "session release"},
	HumanControl:         {"takeover done", "takeover abandon"},
	VerifyAuthentication: {"takeover verify", "takeover begin", "takeover abandon"},
}

// takeoverInvalid refuses a verb that the state does not allow.
func takeoverInvalid(r *Record, verb string) error {
	return fault.New(fault.SteelTakeoverInvalid, "the session %s is in state %s, which does not allow %s", fault.Quote(r.ID), r.State, verb).
		WithHint("legal now: %s", strings.Join(legalVerbs[r.State], ", "))
}

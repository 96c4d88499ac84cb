package packet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kxm/lib/item"
)

// dispatchBudget is the most that is selected for a step, in tokens: what is known
// must leave room for what is to be done.
const dispatchBudget = 4_000

// Gaps of dispatch, beside those that come with the pool.
const (
	// GapNotLoaded says that there was no pool to read.
	GapNotLoaded = "dispatch_context_not_loaded"
	// GapFailed says that reading the pool failed.
	GapFailed = "dispatch_context_failed"

	gapRenderDeferred = "dispatch_context_render_deferred"
)

// DispatchRequest is what is asked of a pool for an agent's step.
type DispatchRequest struct {
	Project string // of the pool
	Step    Step
	Role    Role    // see [AgentRole]
	Share   float64 // of what is selected, for contradictions together; 0 to 1
	Budget  int     // tokens, of the rendered packet
	Now     time.Time
}

// Dispatch selects from the pool for the step and its agent, builds the packet for the
// role and prunes it. Whatever is withheld or missing is a gap of the packet and never
// an error: the step still runs. Without a live item in the pool the packet is the one
// that the step alone gives. An item of another project refuses the request with
// context_isolation_violation.
func Dispatch(pool item.Pool, r DispatchRequest, mask Mask) (Formal, PruneAudit, error) {
	pool.Gaps = plainGaps(pool.Gaps)
	s, err := Select(pool, Request{
		Project: r.Project, Role: r.Role, Task: r.Step.selectionTask(), Budget: min(r.Role.Budget, dispatchBudget), Share: r.Share,
	}, mask)
	if err != nil {
		return Formal{}, PruneAudit{}, err
	}
	m := Material{Budget: r.Budget}
	for _, c := range s.chosen {
		m.Items = append(m.Items, Entry{Item: c.item, Versioned: true, open: c.candidate.contradiction})
	}
	m.Gaps = slices.DeleteFunc(s.gapList(), func(gap string) bool { return gap == gapNoRecords })
	step := r.Step
	step.TargetRole = r.Role.Name
	p, err := Build(step, m, r.Now)
	if err != nil {
		return Formal{}, PruneAudit{}, err
	}
	if n := len(p.Environment.ProjectKnowledge) - promptItems; n > 0 {
		p.Budget.UnresolvedGaps = append(p.Budget.UnresolvedGaps, fmt.Sprintf("%s:%d", gapRenderDeferred, n))
	}
	pruned, audit := Prune(p, r.Budget)
	return pruned, audit, nil
}

// AgentRole returns the role of an agent by its id: the role of that name, else that
// of the longest name which begins the id and is followed by a hyphen, else the policy
// of any other name under the id.
func AgentRole(table []Role, agent string) Role {
	found := -1
	for i, r := range table {
		if r.Name == agent {
			return r
		}
		if strings.HasPrefix(agent, r.Name+"-") && r.Name != AnyOther && (found < 0 || len(r.Name) > len(table[found].Name)) {
			found = i
		}
	}
	if found >= 0 {
		return table[found]
	}
	return FindRole(table, agent)
}

// plainGaps returns gaps as dispatch may record them: behind the name of a gap and a
// colon stands only what is plain, since agents write ids and file names.
func plainGaps(gaps []item.Gap) []item.Gap {
	out := make([]item.Gap, len(gaps))
	for i, g := range gaps {
		out[i] = g
		name, id, ok := strings.Cut(g.Gap, ":")
		if ok && gapName(name) && !plainID(id) {
			out[i].Gap = name + ":invalid"
		}
	}
	return out
}

// gapName reports whether a text is the name of a gap: letters and underscores.
func gapName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_") == ""
}

// plainID reports whether an id may be echoed: up to 128 letters, digits, dots,
// underscores and hyphens.
func plainID(s string) bool {
	return s != "" && len(s) <= item.MaxID && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	})
}

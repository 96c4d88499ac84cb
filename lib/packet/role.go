// Package packet owns selection: which items of a pool an agent in a role is
// given for a task within a token budget, and why. It builds context packets,
// renders them, and answers recall and explain over the same pool. It also owns the
// formal packet that a step of a plan is given, from reading to pruning, and the
// manifest that one role hands to the next.
//
// Start with [Select], and for formal packets with [Build]. Everything is a function of the pool and the request: the
// package reads no file, clock or environment, and its answers do not depend on
// the order of the pool. It takes items as they are checked by package item and
// never raises what they claim.
package packet

import (
	"maps"
	"slices"

	"kxm/lib/config"
	"kxm/lib/item"
)

// Role is a selection policy: which kinds of item a role asks for, strongest
// first, which journal entries it reads, and its budget unless a request names one.
type Role struct {
	Name       string      `json:"name"`
	Kinds      []item.Kind `json:"kinds"`
	Categories []string    `json:"journalCategories"`
	Budget     int         `json:"budgetTokens"` // tokens
	Source     string      `json:"source"`       // "built-in", or file:line of the configuration
}

// AnyOther is the name under which the roles are listed that have no policy of
// their own.
const AnyOther = "*"

const builtIn = "built-in"

func builtInRoles() []Role {
	return []Role{
		{"repro", []item.Kind{item.KindEpisode, item.KindKnowledge, item.KindEvidence},
			[]string{"error", "lesson", "observation", "contradiction"}, 8_000, builtIn},
		{"planner", []item.Kind{item.KindState, item.KindKnowledge, item.KindEvidence},
			[]string{"plan", "decision", "contradiction", "observation", "hypothesis", "experiment"}, 16_000, builtIn},
		{"critic", []item.Kind{item.KindKnowledge, item.KindEvidence, item.KindEpisode},
			[]string{"contradiction", "error", "lesson", "experiment"}, 12_000, builtIn},
		{"implementer", []item.Kind{item.KindKnowledge, item.KindState, item.KindSkill, item.KindEpisode, item.KindEvidence},
			[]string{"plan", "decision", "lesson", "state-change"}, 16_000, builtIn},
		{"verifier", []item.Kind{item.KindEvidence, item.KindKnowledge, item.KindEpisode},
			[]string{"plan", "error", "lesson", "contradiction"}, 8_000, builtIn},
		{AnyOther, []item.Kind{item.KindKnowledge, item.KindEvidence},
			[]string{"lesson", "observation"}, 32_000, builtIn},
	}
}

// Roles returns the effective table: the built-in roles in their order, then the
// configured ones by name, then the policy of any other name. A configured role
// overrides a built-in one field by field; a new one starts from the policy of any
// other name.
func Roles(cfg *config.Config) []Role {
	table := builtInRoles()
	other := table[len(table)-1]
	table = table[:len(table)-1]
	configured := map[string]config.Role{}
	if cfg != nil {
		configured = cfg.Roles
	}
	if with, ok := configured[AnyOther]; ok { // first, since new roles start from it
		other = override(other, with, cfg.Origin("roles."+AnyOther))
	}
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		if name == AnyOther {
			continue
		}
		at := slices.IndexFunc(table, func(r Role) bool { return r.Name == name })
		if at < 0 {
			role := other
			role.Name = name
			table = append(table, role)
			at = len(table) - 1
		}
		table[at] = override(table[at], configured[name], cfg.Origin("roles."+name))
	}
	return append(table, other)
}

func override(r Role, with config.Role, source string) Role {
	r.Source = source
	if with.Kinds != nil {
		r.Kinds = nil
		for _, k := range with.Kinds {
			r.Kinds = append(r.Kinds, item.Kind(k))
		}
	}
	if with.JournalCategories != nil {
		r.Categories = with.JournalCategories
	}
	if with.BudgetTokens != nil {
		r.Budget = *with.BudgetTokens
	}
	return r
}

// FindRole returns the policy of a role by its exact name, else that of any other
// name.
func FindRole(table []Role, name string) Role {
	for _, r := range table {
		if r.Name == name {
			return r
		}
	}
	r := table[len(table)-1]
	r.Name = name
	return r
}

package config

import (
	"maps"
	"slices"
	"strings"

	"kxm/lib/fault"
)

// schema is every key that a file may hold, at each level; anyName stands for a name
// of the user's, and nil for a value of any form, which the tool that owns it
// checks.
type schema map[string]schema

const anyName = "*"

var keys = schema{
	"project": nil,
	"pack":    {"role": nil, "contradictionShare": nil},
	"roles":   {anyName: {"kinds": nil, "journalCategories": nil, "budgetTokens": nil}},
	"memory":  {"candidateDays": nil},
	"secrets": {"allow": {"path": nil, "rule": nil}},
	"state":   {"requireSigned": nil, "selfPromotion": nil, "format": nil, "remoteRef": nil},
	"wiki":    {"sections": {anyName: nil}},
	"steel": {
		"apiUrl": nil, "uiUrl": nil, "keyCommand": nil, "mode": nil, "cdpBase": nil, "cdpAuth": nil, "allowHttp": nil,
		"timeout": nil, "maxTimeout": nil, "orphanAge": nil, "stateDir": nil, "snapshotBytes": nil,
	},
	"refine": {
		"scope": nil, "area": nil, "k": nil, "mode": nil, "deliverables": nil, "leakGlobs": nil, "markers": nil,
		"executor": nil, "improver": nil, "runs": nil, "turns": {"keep": nil}, "maxUsd": nil,
		"command": {anyName: {"preset": nil, "shell": nil, "argv": nil, "stdin": nil, "env": nil, "files": nil, "surface": {anyName: nil}}},
	},
	"hooks": {"caller": nil},
	"paths": {"data": nil, "state": nil, "registry": nil},
}

// known reports whether a key may stand in a file, in just this letter case.
func known(path []string) bool {
	level := keys
	for i, word := range path {
		next, ok := level[word]
		if !ok {
			next, ok = level[anyName]
		}
		if !ok {
			return i > 0 && level == nil // below a value of any form
		}
		level = next
	}
	return true
}

// What a repository's file may set of the tables whose other keys name a command,
// an address, a key or a trust store: cloning a repository must not choose what
// runs or who gets a key.
var (
	steelRepository  = []string{"timeout", "snapshotBytes"}
	refineRepository = []string{"scope", "area", "k", "mode", "deliverables", "leakGlobs", "markers", "executor", "improver"}
)

// wikiSections are the pages that a memory kind may be mapped to.
var wikiSections = []string{"architecture", "decisions", "incidents", "patterns"}

// check holds the rules that types do not.
func (l *layer) check() error {
	if _, set := l.lines["project"]; set {
		if n := len([]rune(strings.TrimSpace(l.file.Project))); n < 1 || n > 200 || l.file.Project == "_shared" {
			return l.refuse(fault.ConfigInvalid, "project", "project must have 1 to 200 characters and not be \"_shared\"")
		}
	}
	if share := l.file.Pack.ContradictionShare; share != nil && !(*share >= 0 && *share <= 1) {
		return l.refuse(fault.ConfigInvalid, "pack.contradictionShare", "pack.contradictionShare must lie between 0 and 1")
	}
	if days := l.file.Memory.CandidateDays; days != nil && *days < 0 {
		return l.refuse(fault.ConfigInvalid, "memory.candidateDays", "memory.candidateDays must not be negative")
	}
	for _, a := range l.file.Secrets.Allow {
		if a.Path == "" || a.Rule == "" {
			return l.refuse(fault.ConfigInvalid, "secrets.allow", "each entry of secrets.allow needs a path and a rule")
		}
	}
	for _, kind := range sortedKeys(l.file.Wiki.Sections) {
		if section := l.file.Wiki.Sections[kind]; !slices.Contains(wikiSections, section) {
			return l.refuse(fault.ConfigInvalid, "wiki.sections."+kind, "wiki.sections must map to one of %s, not %s", strings.Join(wikiSections, ", "), fault.Quote(section))
		}
	}
	if ref := l.file.State.RemoteRef; ref != "" && !strings.HasPrefix(ref, "refs/kxm/") && !strings.HasPrefix(ref, "refs/heads/kxm") {
		return l.refuse(fault.ConfigInvalid, "state.remoteRef", "state.remoteRef must begin with refs/kxm/ or refs/heads/kxm")
	}
	return l.checkRoles()
}

// checkRepository refuses what only the user's file may say.
func (l *layer) checkRepository() error {
	const hint = "set it in the user's configuration or the environment"
	not := func(key string) error {
		e := l.refuse(fault.ConfigKeyNotAllowed, key, "a repository's configuration may not set %s", fault.Quote(key))
		return e.WithHint(hint)
	}
	for _, key := range sortedKeys(l.file.Steel) {
		if !slices.Contains(steelRepository, key) {
			return not("steel." + key)
		}
	}
	for _, key := range sortedKeys(l.file.Refine) {
		if !slices.Contains(refineRepository, key) {
			return not("refine." + key)
		}
	}
	for _, key := range sortedKeys(l.file.Hooks) {
		return not("hooks." + key)
	}
	for _, key := range []string{"paths.data", "paths.state", "paths.registry"} {
		if _, set := l.lines[key]; set {
			return not(key)
		}
	}
	return nil
}

// Limits of a role and of a request's budget, in tokens.
const (
	MinBudget = 512
	MaxBudget = 200_000
)

var (
	itemKinds         = []string{"evidence", "state", "episode", "knowledge", "skill"}
	journalCategories = []string{"plan", "decision", "contradiction", "error", "lesson", "observation", "hypothesis", "experiment", "state-change", "skill-candidate"}
)

func (l *layer) checkRoles() error {
	for _, name := range sortedKeys(l.file.Roles) {
		role, key := l.file.Roles[name], "roles."+name
		if n := len([]rune(name)); n < 1 || n > 64 {
			return l.refuse(fault.ConfigInvalid, key, "a role's name has 1 to 64 characters")
		}
		if role.Kinds != nil && len(role.Kinds) == 0 {
			return l.refuse(fault.ConfigInvalid, key+".kinds", "%s.kinds needs at least one kind", key)
		}
		if bad, why := oneOfEach(role.Kinds, itemKinds); why != "" {
			return l.refuse(fault.ConfigInvalid, key+".kinds", "%s.kinds: %s %s; kinds are %s", key, fault.Quote(bad), why, strings.Join(itemKinds, ", "))
		}
		if bad, why := oneOfEach(role.JournalCategories, journalCategories); why != "" {
			return l.refuse(fault.ConfigInvalid, key+".journalCategories", "%s.journalCategories: %s %s; categories are %s", key, fault.Quote(bad), why, strings.Join(journalCategories, ", "))
		}
		if b := role.BudgetTokens; b != nil && (*b < MinBudget || *b > MaxBudget) {
			return l.refuse(fault.ConfigInvalid, key+".budgetTokens", "%s.budgetTokens must lie between %d and %d", key, MinBudget, MaxBudget)
		}
	}
	return nil
}

// oneOfEach returns the first value that is unknown or repeated, and which of the
// two it is.
func oneOfEach(values, known []string) (bad, why string) {
	for i, v := range values {
		if !slices.Contains(known, v) {
			return v, "is unknown"
		}
		if slices.Contains(values[:i], v) {
			return v, "is repeated"
		}
	}
	return "", ""
}

func (l *layer) refuse(code fault.Code, key, format string, args ...any) *fault.Error {
	return fault.New(code, format, args...).At(l.name, l.lines[key], 0).On(key)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

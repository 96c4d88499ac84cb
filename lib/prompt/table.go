package prompt

// Ids of the sections that the compiler makes itself.
const (
	idIdentity     = "harness-identity"
	idSystem       = "system"
	idSideQuestion = "side-question"
	idPlan         = "plan"
	idContinuation = "continuation"
	idSessionState = "session-state"
	idGuardrails   = "guardrails"
	idMemory       = "memory"
	idReferences   = "references"
	idSkills       = "required-skills"
	idSubagents    = "subagents"
	idScripts      = "scripts"
	idWiki         = "wiki"
	idTools        = "tools"
	idReporting    = "reporting"
	idWorkspace    = "workspace"
)

// Owners of sections.
const (
	ownPrompt  = "builtin:prompt"
	ownVariant = "variant:self" // a folder, which no descriptor declares
)

// row says where a section of ours stands.
type row struct {
	id    string
	order int
	part  Part
	// budget in code points. A fixed text's and a variant's section is never cut:
	// tests and the variant's limits hold them.
	budget int
	owner  string
	title  string // empty: the fixed text's own
}

// standardTexts are the fixed texts of a person's own session, whose ids are those of
// the texts.
var standardTexts = [...]row{
	{"role", 10, Stable, 1_400, ownPrompt, ""},
	{"autonomy", 12, Stable, 2_600, ownPrompt, ""},
	{"personality", 14, Stable, 1_200, ownPrompt, ""},
	{"permission", 16, Stable, 1_800, ownPrompt, ""},
	{"steering", 18, Stable, 2_000, ownPrompt, ""},
	{"writing", 20, Stable, 1_900, ownPrompt, ""},
	{idWorkspace, 22, Stable, 1_500, ownPrompt, ""},
}

// The other sections. Their order among equals is that in which Compile adds them.
var (
	rowIdentity     = row{idIdentity, 5, Stable, 400, ownPrompt, ""}
	rowSideQuestion = row{idSideQuestion, 25, Stable, 1_500, "builtin:side-questions", ""}
	rowPlan         = row{idPlan, 25, Dynamic, 6_000, "builtin:plan", "Plan mode"}
	rowContinuation = row{idContinuation, 28, Dynamic, 6_000, "builtin:session", "Continuation"}
	rowSessionState = row{idSessionState, 30, Dynamic, 3_000, "builtin:session", "Session state"}
	rowReferences   = row{idReferences, 50, Request, 12_000, ownPrompt, "References"}
	rowSkills       = row{idSkills, 52, Request, 12_000, ownPrompt, "Required skills"}
	rowSpawn        = row{idSubagents, 64, Dynamic, 8_000, "builtin:subagents", "Subagents"}
	rowWiki         = row{idWiki, 80, Dynamic, 2_500, "builtin:wiki", "Wiki"}
	rowTools        = row{idTools, 90, Stable, 8_000, ownPrompt, "Tools"}
	rowReporting    = row{idReporting, 95, Stable, 12_000, ownPrompt, ""}
)

// variantRow returns the row of a variant's section.
func variantRow(s VariantSection) row {
	order := map[string]int{idSystem: 25, idGuardrails: 40, idMemory: 45, idSubagents: 64, idScripts: 66}[s.ID]
	return row{s.ID, order, Stable, VariantBudget, ownVariant, s.Title}
}

// isOurs reports whether an application may not take a section's id.
func isOurs(id string) bool {
	switch id {
	case idIdentity, idSystem, idSideQuestion, idPlan, idContinuation, idSessionState, idGuardrails, idMemory,
		idReferences, idSkills, idSubagents, idScripts, idWiki, idTools, idReporting, framingID:
		return true
	}
	for _, r := range standardTexts {
		if r.id == id {
			return true
		}
	}
	return false
}

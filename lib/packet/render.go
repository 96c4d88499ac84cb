package packet

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"kxm/lib/item"
)

// promptItems is how many items of the project a prompt shows.
const promptItems = 5

// Prompt renders the packet as the Markdown that an agent is given, without a newline
// at its end. state adds the current state. Gaps are never part of it.
//
// No text can open or close a section: what stands on one line stays one line; of texts
// of several lines, headings, underlines, HTML and fences that do not end are escaped;
// snippets are indented into their list and fenced longer than what they hold.
func (p *Formal) Prompt(state bool) string {
	var b prompt
	b.line("# Context Packet [%s]", p.PacketID)
	b.line("**Project:** %s | **Role:** %s | **Step:** %s (Attempt %d)", inline(p.Project), inline(p.TargetRole), inline(p.Task.StepID), p.Task.StepAttempt)
	outcomes := make([]string, len(p.Task.AllowedOutcomes))
	for i, o := range p.Task.AllowedOutcomes {
		outcomes[i] = inline(o)
	}
	b.line("**Permission:** %s | **Allowed Outcomes:** %s", p.Task.PermissionCeiling, strings.Join(outcomes, ", "))
	b.line("")
	b.line("## 1. Objective")
	b.line("%s", block(p.Task.Objective))
	b.line("")
	b.criteria(p.Criteria)
	b.plan(&p.Plan)
	b.predecessors(p.Predecessors)
	b.environment(&p.Environment, state)
	return strings.TrimSpace(b.String())
}

// estimate is the size of the rendered packet in tokens.
func (p *Formal) estimate() int { return item.Tokens(utf8.RuneCountInString(p.Prompt(false))) }

type prompt struct{ strings.Builder }

func (b *prompt) line(format string, args ...any) {
	fmt.Fprintf(b, format, args...)
	b.WriteByte('\n')
}

func (b *prompt) criteria(list []Criterion) {
	if len(list) == 0 {
		return
	}
	b.line("## 2. Acceptance Criteria")
	for _, c := range list {
		required, target := "", ""
		if c.Required {
			required = ", required"
		}
		if c.TargetRef != "" {
			target = " [" + inline(c.TargetRef) + "]"
		}
		b.line("- [ ] **%s** (%s%s): %s%s", inline(c.ID), c.VerificationKind, required, inline(c.Description), target)
	}
	b.line("")
}

func (b *prompt) plan(p *Plan) {
	b.line("## 3. Plan Pointer")
	b.line("Plan Hash: %s | Step %d of %d", codeSpan(p.PlanHash), p.ActiveStepIndex+1, p.TotalSteps)
	if len(p.SettledDecisions) > 0 {
		b.line("Settled Decisions:")
		for _, d := range p.SettledDecisions {
			b.line("  - %s", start(d))
		}
	}
	b.line("")
}

func (b *prompt) predecessors(list []Predecessor) {
	if len(list) == 0 {
		return
	}
	b.line("## 4. Predecessor Outputs")
	for _, p := range list {
		b.line("### Predecessor: %s (%s) - %s", inline(p.StepID), inline(p.Role), p.Status)
		b.line("%s", block(p.Summary))
		if len(p.Artifacts) == 0 {
			continue
		}
		b.line("Artifacts:")
		for _, a := range p.Artifacts {
			b.line("  - %s [%s] (%s)", codeSpan(a.Name), a.Kind, inline(a.ArtifactRef))
			if a.ContentSnippet != "" {
				b.snippet(a.ContentSnippet)
			}
		}
	}
	b.line("")
}

// snippet writes a fenced block inside of a list item: each line is indented, since one
// that is not would end the item and with it the fence.
func (b *prompt) snippet(text string) {
	const indent = "    "
	text = strings.TrimSpace(lines(text))
	longest := 2
	for rest := text; rest != ""; {
		n := backticks(rest)
		longest = max(longest, n)
		rest = rest[max(n, 1):]
	}
	fence := indent + strings.Repeat("`", longest+1)
	b.line("%s", fence)
	for line := range strings.SplitSeq(text, "\n") {
		b.line("%s%s", indent, line)
	}
	b.line("%s", fence)
}

func (b *prompt) environment(e *Environment, state bool) {
	current := e.CurrentState
	if !state {
		current = nil
	}
	if len(e.SharedDefaults)+len(e.ProjectKnowledge)+len(current)+len(e.ActiveSkills)+len(e.Contradictions) == 0 {
		return
	}
	b.line("## 5. Environment & Memory")
	section(b, "Shared Defaults", e.SharedDefaults, func(d *Default) string { return start(d.Summary) })
	section(b, "Project Knowledge", e.ProjectKnowledge[:min(len(e.ProjectKnowledge), promptItems)], func(k *Entry) string {
		return "[" + string(k.Authority) + "] " + inline(k.Summary)
	})
	section(b, "Current State", current, func(s *Entry) string {
		key := ""
		if s.StateKey != "" {
			key = "**" + inline(s.StateKey) + "**: "
		}
		return "[" + string(s.Authority) + "] " + key + inline(s.Summary)
	})
	section(b, "Active Skills", e.ActiveSkills, func(s *Entry) string {
		ref := s.Provenance.SourceRef
		if ref == "" {
			ref = s.ID
		}
		return start(s.Summary) + " (" + inline(ref) + ")"
	})
	section(b, "Active Contradictions", e.Contradictions, func(c *Entry) string { return "⚠️ " + inline(c.Summary) })
}

func section[T any](b *prompt, title string, list []T, text func(*T) string) {
	if len(list) == 0 {
		return
	}
	b.line("### %s", title)
	for i := range list {
		b.line("- %s", text(&list[i]))
	}
}

// inline makes a text fit to stand within a line.
func inline(s string) string { return escapeStray(oneLine(s)) }

// start makes a text fit to begin a list item.
func start(s string) string { return escapeStray(escapeStart(oneLine(s))) }

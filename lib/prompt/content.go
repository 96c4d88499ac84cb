package prompt

import (
	"fmt"
	"strings"

	"kxm/lib/descriptor"
)

// Bounds of todo lists.
const (
	maxTodo     = 50
	maxTodoText = 200
)

// maxSources is how many of the references' sources the pack names as the section's.
const maxSources = 100

// sessionState is what a top-level run is told of its session. It names no tool that
// the run does not have. The lists stand last, since they are what a cut may shorten.
func (c *compiler) sessionState(s *SessionState) string {
	var blocks []string
	if c.allows("session_name") {
		if s.Name == "" {
			blocks = append(blocks, frame("session.unnamed"))
		} else {
			blocks = append(blocks, frame("session.named", c.clean(idSessionState, s.Name)))
		}
	}
	if s.FirstTurn {
		blocks = append(blocks, frame("session.first"))
	} else {
		blocks = append(blocks, frame("session.later"))
	}
	if c.allows("todo_write") {
		if len(s.Todo) == 0 {
			blocks = append(blocks, frame("todo.empty"))
		} else {
			blocks = append(blocks, frame("todo.list"), c.todo(idSessionState, s.Todo))
		}
		switch {
		case s.PreviousTodo == nil:
		case len(s.PreviousTodo) == 0:
			blocks = append(blocks, frame("todo.previous-empty"))
		default:
			blocks = append(blocks, frame("todo.previous"), c.todo(idSessionState, s.PreviousTodo))
		}
	}
	return strings.Join(blocks, blank)
}

// todo lists items as they are, the first maxTodo of them.
func (c *cleaner) todo(section string, list []Todo) string {
	var lines []string
	for _, t := range list[:min(len(list), maxTodo)] {
		text := Clip(c.clean(section, t.Text), maxTodoText)
		if t.Status != "" {
			text = "[" + t.Status + "] " + text
		}
		lines = append(lines, "- "+text)
	}
	if rest := len(list) - maxTodo; rest > 0 {
		lines = append(lines, "- "+counted("todo.more", rest))
	}
	return strings.Join(lines, "\n")
}

// references puts each text into a fence, as material. The sources are the first of
// those that were given.
func (c *compiler) references(list []Reference) (body string, cut int, sources []string) {
	pieces := make([]piece, 0, len(list))
	for _, r := range list {
		title, source := c.clean(idReferences, r.Title), c.clean(idReferences, r.Source)
		if source != "" && len(sources) < maxSources {
			sources = append(sources, source)
		}
		head, name := "### "+title, "- "+title
		switch {
		case title == "" && source == "":
			head, name = "", "- (no title)"
		case title == "":
			head, name = "### "+source, "- "+source
		case source != "":
			head, name = head+blank+source, name+": "+source
		}
		pieces = append(pieces, piece{head: head, name: name, text: c.clean(idReferences, r.Text), source: source, data: true})
	}
	body, cut = share(pieces, rowReferences.budget, "references.named", "references.more")
	return body, cut, sources
}

// skills brings the texts of the skills that the request asks for, and says which are
// not there. A name that is given twice counts once.
func (c *compiler) skills(names []string) (body string, cut int, sources []string) {
	var pieces []piece
	var blocks []string
	seen := map[string]bool{}
	missing := []string{}
	for _, name := range names {
		if seen[name] || name == "" {
			continue
		}
		seen[name] = true
		shown := c.clean(idSkills, name)
		text, source, ok := c.skill(name)
		if !ok {
			missing = append(missing, frame("skills.missing", shown))
			continue
		}
		source = c.clean(idSkills, source)
		sources = append(sources, source)
		pieces = append(pieces, piece{head: "### " + shown, name: "- " + shown + ": " + source, text: c.clean(idSkills, text), source: source})
	}
	room := rowSkills.budget
	if len(pieces) > 0 {
		blocks = append(blocks, frame("skills.follow"))
		room -= length(frame("skills.follow")) + len(blank)
	}
	if lost := strings.Join(missing, "\n"); lost != "" {
		// Half of the budget at most: names are many only by mistake.
		lost, _ = Fit(lost, rowSkills.budget/2, "")
		blocks = append(blocks, lost)
		room -= length(lost) + len(blank)
	}
	if len(pieces) > 0 {
		var texts string
		texts, cut = share(pieces, room, "skills.named", "skills.more")
		blocks = append(blocks, texts)
	}
	return strings.Join(blocks, blank), cut, sources
}

// skill finds a skill's text: the variant's, else an embedded one.
func (c *compiler) skill(name string) (text, source string, ok bool) {
	if c.in.Variant != nil {
		if text, ok := c.in.Variant.Skills[name]; ok {
			return text, "skills/" + name + "/SKILL.md", true
		}
	}
	text, ok = descriptor.Skill(name)
	return Normalise(text), "builtin:" + name + "/skill/" + name, ok
}

// subagents says when delegation is worth its cost and which profiles there are.
func (c *compiler) subagents(s *Spawn) string {
	var lines []string
	for _, p := range s.Profiles {
		if c.in.Launch.Mode == ModePlan && !p.PlanEligible {
			continue
		}
		line := "- " + c.clean(idSubagents, p.Name)
		if p.Description != "" {
			line += ": " + c.clean(idSubagents, p.Description)
		}
		lines = append(lines, line)
	}
	list := strings.Join(lines, "\n")
	switch plan := c.in.Launch.Mode == ModePlan; {
	case plan && list == "":
		return frame("subagents.plan-none")
	case plan:
		return frame("subagents.plan") + blank + list
	case list == "":
		return frame("subagents.normal") + blank + frame("subagents.none")
	default:
		return frame("subagents.normal") + blank + frame("subagents.profiles") + blank + list
	}
}

// variantSources names where a variant's section comes from.
func variantSources(id string, h *Harness) []string {
	source := "variant/" + id
	if h.Fingerprint != "" {
		source += "@" + h.Fingerprint
	}
	return []string{source}
}

func textSource(file, digest string) string { return fmt.Sprintf("text/%s.md@%s", file, digest) }

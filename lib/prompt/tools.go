package prompt

import (
	"strings"

	"kxm/lib/descriptor"
	"kxm/lib/fault"
	"kxm/lib/prompt/text"
)

// describedGroup is what the tools section says about one group.
type describedGroup struct {
	text.Group
	ours  bool
	tools []string
	block string // title, tools, paragraphs
	brief string // title and tools
}

// describeTools adds the tools section: the opening, then each group that has a tool
// in the frozen set.
func (c *compiler) describeTools() error {
	groups, err := c.groups()
	if err != nil || len(groups) == 0 {
		return err
	}
	var opening []string
	for _, p := range text.Approval() {
		opening = c.paragraph(opening, p)
	}
	for i := range groups {
		g := &groups[i]
		owner, _ := c.owners.GroupOwner(g.ID)
		c.pack.ToolGroups = append(c.pack.ToolGroups, ToolGroup{g.ID, g.Title, owner, g.tools})
	}
	body, cut := shrink(strings.Join(opening, blank), groups)
	var sources []string
	for _, g := range groups {
		if g.ours {
			sources = append(sources, "text/tools/"+g.ID+".md")
		}
	}
	r := rowTools
	c.add(r, body, sources, cut)
	return nil
}

// groups returns the groups that have a tool in the set, in their order.
func (c *compiler) groups() ([]describedGroup, error) {
	members := map[string][]string{}
	for _, tool := range c.tools.Tools {
		if group, ok := c.owners.GroupOf(tool); ok {
			members[group] = append(members[group], tool)
		}
	}
	embedded := map[string]text.Group{}
	for _, g := range text.Groups() {
		embedded[g.ID] = g
	}
	var all []describedGroup
	for _, declared := range c.owners.Groups() {
		tools := members[declared.ID]
		if len(tools) == 0 {
			continue
		}
		g, ours := embedded[declared.ID]
		if !ours {
			var err error
			if g, err = c.foreignGroup(declared); err != nil {
				return nil, err
			}
		}
		all = append(all, c.describe(g, ours, tools))
	}
	return all, nil
}

// foreignGroup reads an application's group, without secrets.
func (c *compiler) foreignGroup(d descriptor.ToolGroup) (text.Group, error) {
	title := c.cleanName(idTools, Line(d.Title), maxSectionTitle)
	g, err := text.ParseGroup(d.ID, title, c.clean(idTools, Normalise(d.Text)))
	if err != nil {
		return g, fault.Wrap(err, fault.PromptInputInvalid, "the text of the tool group %s does not parse", fault.Quote(d.ID)).On("descriptors")
	}
	return g, nil
}

func (c *compiler) describe(g text.Group, ours bool, tools []string) describedGroup {
	spans := make([]string, len(tools))
	for i, tool := range tools {
		spans[i] = "`" + c.clean(idTools, tool) + "`"
	}
	d := describedGroup{Group: g, ours: ours, tools: tools}
	d.brief = "### " + g.Title + blank + strings.Join(spans, ", ")
	blocks := []string{d.brief}
	for _, p := range g.Paragraphs {
		if ours || !c.namesForeignTool(p.Body) {
			blocks = c.paragraph(blocks, p)
		}
	}
	d.block = strings.Join(blocks, blank)
	return d
}

// paragraph appends a paragraph whose needs the set meets.
func (c *compiler) paragraph(blocks []string, p text.Paragraph) []string {
	for _, tool := range p.Needs {
		if !c.allows(tool) {
			return blocks
		}
	}
	if body := p.Fill(c.values); body != "" {
		blocks = append(blocks, closeFence(body))
	}
	return blocks
}

// namesForeignTool reports whether a paragraph of an application has in backticks a
// tool that somebody owns and the run does not have: the pack describes only what can
// be called (INV-PRM-5). Our own paragraphs say so by their needs.
func (c *compiler) namesForeignTool(body string) bool {
	for i, span := range strings.Split(body, "`") {
		if i%2 == 0 || span == "" || c.allows(span) {
			continue
		}
		if _, ok := c.owners.ToolOwner(span); ok {
			return true
		}
	}
	return false
}

// shrink joins the blocks. Over the section's budget the last application groups
// keep only title and tools; if that is not enough, one line counts them. Ours
// together are below the budget with every tool there is.
func shrink(opening string, groups []describedGroup) (body string, cut int) {
	size := length(opening)
	for i := range groups {
		size += len(blank) + length(groups[i].block)
	}
	shown := make([]string, len(groups))
	for i := range groups {
		shown[i] = groups[i].block
	}
	replace := func(i int, by string) {
		less := length(shown[i]) - length(by)
		size, cut, shown[i] = size-less, cut+less, by
	}
	for i := len(groups) - 1; i >= 0 && size > rowTools.budget; i-- {
		if !groups[i].ours {
			replace(i, groups[i].brief)
		}
	}
	gone := 0
	more := func() int { return len(blank) + length(counted("tools.more", gone)) }
	for i := len(groups) - 1; i >= 0 && size+min(gone, 1)*more() > rowTools.budget; i-- {
		if !groups[i].ours {
			replace(i, "")
			size -= len(blank)
			gone++
		}
	}
	blocks := []string{}
	if opening != "" {
		blocks = append(blocks, opening)
	}
	for _, block := range shown {
		if block != "" {
			blocks = append(blocks, block)
		}
	}
	if gone > 0 {
		blocks = append(blocks, counted("tools.more", gone))
	}
	return strings.Join(blocks, blank), cut
}

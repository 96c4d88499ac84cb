package wiki

import (
	"strings"

	"kxm/lib/fault"
	"kxm/lib/textdiff"
)

// changeTitles head the changes of a kind.
var changeTitles = map[ChangeKind]string{
	ClaimAdded: "Added", ClaimChanged: "Changed", ClaimSuperseded: "Superseded", ClaimRemoved: "Removed",
	StatePromoted: "State promoted", StateEnded: "State ended",
	ContradictionOpened: "Contradictions opened", ContradictionChanged: "Contradictions with other sides", ContradictionClosed: "Contradictions closed",
}

// ChangesText returns changes, in the order of [Compare], for a terminal: a line for
// each, below a heading for each kind. Deleted words stand in [-…-], new ones in {+…+}.
func ChangesText(changes []Change) string {
	var b strings.Builder
	for i := range changes {
		c := &changes[i]
		if i == 0 || changes[i-1].Kind != c.Kind {
			if i > 0 {
				b.WriteString("\n")
			}
			b.WriteString(changeTitles[c.Kind] + ":\n")
		}
		b.WriteString("  ")
		if c.Key != "" {
			b.WriteString(fault.Printable(c.Key) + ": ")
		}
		b.WriteString(wordsText(c) + details(c, func(s string) string { return fault.Printable(oneLine(s)) }) + "\n")
	}
	return b.String()
}

func wordsText(c *Change) string {
	if len(c.Words) == 0 {
		return fault.Printable(oneLine(c.Summary))
	}
	var b strings.Builder
	for _, p := range c.Words {
		text := fault.Printable(keepEnds(p.Text))
		switch p.Op {
		case textdiff.Delete:
			text = "[-" + text + "-]"
		case textdiff.Insert:
			text = "{+" + text + "+}"
		}
		b.WriteString(text)
	}
	return b.String()
}

// keepEnds puts a part of a text on one line and keeps a space at its ends.
func keepEnds(s string) string {
	inside := oneLine(s)
	if inside == "" {
		return " "
	}
	if trimmed := strings.TrimLeft(s, " \t\r\n"); trimmed != s {
		inside = " " + inside
	}
	if trimmed := strings.TrimRight(s, " \t\r\n"); trimmed != s {
		inside += " "
	}
	return inside
}

// details returns what stands behind a change's text; show makes a text of a record fit
// to be shown.
func details(c *Change, show func(string) string) string {
	var b strings.Builder
	add := func(name string, values ...string) {
		for i, v := range values {
			switch {
			case i > 0:
				b.WriteString(", ")
			case name == "":
				b.WriteString(" — ")
			default:
				b.WriteString(" · " + name + " ")
			}
			b.WriteString(show(v))
		}
	}
	if c.ID != "" {
		add("", c.ID)
	}
	if c.Kind == ClaimChanged {
		add("changed:", c.Fields...)
	}
	if c.Kind == ClaimSuperseded {
		add("replaced by", c.By...)
	} else {
		add("sides:", c.By...)
	}
	if c.Signer != "" {
		add("promoted by", c.Signer)
	}
	add("evidence:", c.Refs...)
	return b.String()
}

// ChangesMarkdown returns changes, in the order of [Compare], for a comment on a pull
// request. Nobody is mentioned and nothing is referred to by what a record says.
func ChangesMarkdown(changes []Change) string {
	b := &strings.Builder{}
	b.WriteString("## What the project learned\n")
	if len(changes) == 0 {
		b.WriteString("\nNothing changed.\n")
	}
	for i := range changes {
		c := &changes[i]
		if i == 0 || changes[i-1].Kind != c.Kind {
			b.WriteString("\n### " + changeTitles[c.Kind] + "\n\n")
		}
		b.WriteString("- ")
		if c.Key != "" {
			b.WriteString("**" + inComment(c.Key) + "**: ")
		}
		b.WriteString(wordsMarkdown(c) + details(c, inComment) + "\n")
	}
	return b.String()
}

// inComment escapes a text for a comment, where forges also read names and numbers as
// what they stand for: an empty comment keeps "@name" and "#12" from being that.
func inComment(s string) string {
	return strings.NewReplacer("@"+nothing, "@"+nothing, "@", "@"+nothing, "#", "#"+nothing).Replace(string(appendText(nil, s)))
}

func wordsMarkdown(c *Change) string {
	if len(c.Words) == 0 {
		return inComment(c.Summary)
	}
	var b strings.Builder
	for _, p := range c.Words {
		text := keepEnds(p.Text)
		inside := strings.TrimSpace(text)
		before, after, _ := strings.Cut(text, inside)
		if inside == "" {
			before, after = text, ""
		}
		shown := inComment(inside)
		switch {
		case inside == "":
		case p.Op == textdiff.Delete:
			shown = "<del>" + shown + "</del>"
		case p.Op == textdiff.Insert:
			shown = "<ins>" + shown + "</ins>"
		}
		b.WriteString(before + shown + after)
	}
	return b.String()
}

package cli

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"
)

// manPage writes the manual page in man(7) macros.
func manPage(app *kong.Application) (string, error) {
	var b strings.Builder
	upper := strings.ToUpper(app.Name)
	fmt.Fprintf(&b, ".TH %s 1 \"%s\" \"kxm %s\" \"kxm\"\n", roff(upper), Date, roff(version()))
	b.WriteString(".ad l\n") // names of verbs and paths leave no room to justify lines
	summary, _, _ := strings.Cut(app.Help, "\n")
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(app.Name), roff(strings.TrimSuffix(summary, ".")))
	b.WriteString(".SH SYNOPSIS\n")
	all := slices.DeleteFunc(commands(app), func(c command) bool { return len(c.words) == 0 || len(c.node.Children) > 0 })
	for i, c := range all {
		if i > 0 {
			b.WriteString(".br\n")
		}
		fmt.Fprintf(&b, ".B %s\n%s\n", roff(app.Name+" "+strings.Join(c.words, " ")), roff(synopsis(c)))
	}
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s", paragraphs(app.Help))
	b.WriteString(".SH COMMANDS\n")
	for _, c := range all {
		fmt.Fprintf(&b, ".SS %s\n%s", roff(strings.Join(c.words, " ")), paragraphs(c.node.Help))
		if c.node.Detail != "" {
			b.WriteString(".PP\n" + paragraphs(c.node.Detail))
		}
		for _, a := range c.node.Positional {
			fmt.Fprintf(&b, ".TP\n.I %s\n%s\n", roff(a.Name), roff(a.Help))
		}
		for _, f := range c.node.Flags {
			writeManFlag(&b, f)
		}
		if other := otherStatus(c.node); other != "" {
			b.WriteString(".PP\n" + roff(other))
		}
	}
	b.WriteString(".SH OPTIONS\nEvery command takes these.\n")
	for _, f := range app.Flags {
		writeManFlag(&b, f)
	}
	b.WriteString(".SH ERROR CODES\nOn standard error, in square brackets; the exit status stands behind each.\n")
	for _, code := range codesOf(app.Node) {
		fmt.Fprintf(&b, ".TP\n.B %s\n(%d) %s\n", roff(string(code)), code.Exit(), roff(code.Meaning()))
	}
	b.WriteString(`.SH EXIT STATUS
.TP
.B 0
Done; yes, clean, or an empty list.
.TP
.B 1
Done, and the answer is no: a finding, a refusal, not found.
.TP
.B 2
Not started: a bad flag, argument or configuration.
.TP
.B 3
Could not finish: input or output, Git, an outside program.
.TP
.B 4
The input is not what its schema says.
.TP
.B 5
Try again; nothing was written.
`)
	return b.String(), nil
}

func synopsis(c command) string {
	parts := []string{"[options]"} // the general ones at least
	for _, a := range c.node.Positional {
		name := strings.ToUpper(a.Name)
		if a.IsSlice() {
			name += "..."
		}
		if !a.Required {
			name = "[" + name + "]"
		}
		parts = append(parts, name)
	}
	return strings.Join(parts, " ")
}

func writeManFlag(b *strings.Builder, f *kong.Flag) {
	if f.Hidden {
		return
	}
	name := "--" + f.Name
	if takesValue(f) {
		name += "=" + f.FormatPlaceHolder()
	}
	if f.Short != 0 {
		name = fmt.Sprintf("-%c, %s", f.Short, name)
	}
	fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(name), roff(f.Help))
}

// roff escapes text for man(7): a backslash, a hyphen (so that it can be searched
// and copied), what is not ASCII, and a line that would begin with a control
// character.
func roff(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r >= utf8.RuneSelf:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	s = b.String()
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

func paragraphs(s string) string {
	var b strings.Builder
	for i, p := range strings.Split(strings.TrimSpace(s), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		b.WriteString(roff(p) + "\n")
	}
	return b.String()
}

package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"kxm/lib/fault"
)

// coder is a command that names the error codes it can end with, besides those
// that every command shares.
type coder interface{ Codes() []fault.Code }

// sharedCodes can end any command.
var sharedCodes = []fault.Code{fault.Usage, fault.IOFailed}

// help prints kong's page and, below it, the codes of the selected command (of
// all commands, where none is selected).
func help(options kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	node := ctx.Selected()
	if node == nil {
		node = ctx.Model.Node
	}
	_, err := fmt.Fprintf(ctx.Stdout, "\nError codes (exit status in brackets):\n%s%s", codeTable(codesOf(node), "  "), otherStatus(node))
	return err
}

// otherStatus says whose the other exit statuses of a command are, if they are another
// program's.
func otherStatus(node *kong.Node) string {
	if node.Target.IsValid() && node.Target.CanAddr() {
		if p, ok := node.Target.Addr().Interface().(passing); ok {
			return "Any other exit status is that of " + p.PassesStatusOf() + ".\n"
		}
	}
	return ""
}

func codeTable(codes []fault.Code, indent string) string {
	width := 0
	for _, c := range codes {
		width = max(width, len(c))
	}
	var b strings.Builder
	for _, c := range codes {
		fmt.Fprintf(&b, "%s%-*s [%d] %s\n", indent, width, c, c.Exit(), c.Meaning())
	}
	return b.String()
}

// codesOf returns the codes of a command and of those below it, sorted.
func codesOf(node *kong.Node) []fault.Code {
	codes := slices.Clone(sharedCodes)
	var visit func(n *kong.Node)
	visit = func(n *kong.Node) {
		if n.Target.IsValid() && n.Target.CanAddr() {
			if c, ok := n.Target.Addr().Interface().(coder); ok {
				codes = append(codes, c.Codes()...)
			}
		}
		for _, child := range n.Children {
			visit(child)
		}
	}
	visit(node)
	slices.Sort(codes)
	return slices.Compact(codes)
}

// suffix makes a temporary file's name its process's own.
func suffix(try int) string { return strconv.Itoa(pid()) + "-" + strconv.Itoa(try) }

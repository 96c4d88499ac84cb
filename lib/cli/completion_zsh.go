package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
)

func zshCompletion(app *kong.Application) (string, error) {
	fn := "_" + strings.ReplaceAll(app.Name, "-", "_")
	var b strings.Builder
	fmt.Fprintf(&b, "#compdef %s\n# zsh completion for %s; put it into a folder of $fpath as _%s.\n", app.Name, app.Name, app.Name)
	all := commands(app)
	for _, c := range all {
		name := fn + strings.Join(append([]string{""}, c.words...), "__")
		fmt.Fprintf(&b, "%s() {\n", strings.ReplaceAll(name, "-", "_"))
		options := ""
		if len(c.children()) > 0 {
			// Flags behind a verb are the verb's, also where the default command has one of
			// that name.
			options = " -A '-*'"
		}
		b.WriteString("  local curcontext=$curcontext state line\n  typeset -A opt_args\n  _arguments -C" + options)
		for _, f := range c.effective() {
			b.WriteString(" \\\n    " + zshFlag(f))
		}
		if len(c.children()) > 0 {
			b.WriteString(" \\\n    '1: :->verb' '*:: :->rest'\n  case $state in\n    verb)\n      local -a verbs=(\n")
			for _, child := range c.node.Children {
				if !child.Hidden {
					fmt.Fprintf(&b, "        %s\n", shellQuote(child.Name+":"+child.Help))
				}
			}
			b.WriteString("      )\n      _describe verb verbs ;;\n    rest)\n      case $words[1] in\n")
			for _, child := range c.children() {
				fmt.Fprintf(&b, "        %s) %s ;;\n", child, strings.ReplaceAll(name+"__"+child, "-", "_"))
			}
			b.WriteString("      esac ;;\n  esac\n}\n")
			continue
		}
		for i, a := range c.arguments() {
			place := strconv.Itoa(i + 1)
			if a.IsSlice() {
				place = "*"
			}
			b.WriteString(" \\\n    " + shellQuote(place+":"+a.Name+":"+zshAction(a.Name, hintOf(a))))
		}
		b.WriteString("\n}\n")
	}
	// The completion system loads the file as the body of a function of its name; by hand
	// it is sourced.
	fmt.Fprintf(&b, "if [[ ${funcstack[1]-} == _%s ]]; then\n  %s \"$@\"\nelse\n  compdef %s %s\nfi\n", app.Name, fn, fn, app.Name)
	return b.String(), nil
}

// zshAction says how a value is completed; a name alone shows what is missing.
func zshAction(name string, h hint) string {
	switch {
	case h.path == pathFile:
		return "_files"
	case h.path == pathFolder:
		return "_path_files -/"
	case h.list:
		return "_values -s , " + name + spaced(h.choices)
	case len(h.choices) > 0:
		return "(" + strings.Join(h.choices, " ") + ")"
	default:
		return " "
	}
}

func zshFlag(f *kong.Flag) string {
	help := strings.NewReplacer("[", "(", "]", ")", ":", " -").Replace(f.OrigHelp)
	action := ""
	if takesValue(f) {
		action = ":" + f.Name + ":" + zshAction(f.Name, hintOf(f.Value))
	}
	assign, repeat := "", ""
	if takesValue(f) {
		assign = "="
	}
	if f.IsSlice() {
		repeat = "*"
	}
	if f.Short == 0 {
		return shellQuote(repeat + "--" + f.Name + assign + "[" + help + "]" + action)
	}
	short := "-" + string(f.Short)
	if takesValue(f) {
		short += "+"
	}
	group := "'(-" + string(f.Short) + " --" + f.Name + ")'"
	if repeat != "" {
		group = "'*'"
	}
	return group + "{" + short + ",--" + f.Name + assign + "}" + shellQuote("["+help+"]"+action)
}

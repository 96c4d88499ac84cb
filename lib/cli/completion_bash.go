package cli

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// bashCompletion needs no bash-completion package, only complete and compgen, and
// runs in the bash 3.2 that macOS has.
func bashCompletion(app *kong.Application) (string, error) {
	fn := "_" + strings.ReplaceAll(app.Name, "-", "_")
	all := commands(app)
	general := visible(app.Flags)
	var b strings.Builder
	fmt.Fprintf(&b, "# bash completion for %s; source it, or put it into bash-completion's folder.\n", app.Name)
	bashTakes(&b, fn, all, general)
	fmt.Fprintf(&b, "%s() {\n", fn)
	b.WriteString(`  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path= nth=0 skip= takes= flags= verbs= word
  [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD-2]}
  [[ $cur == = ]] && cur=
  COMPREPLY=()
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ -n $skip ]]; then # the value of a flag is no verb
      [[ $word == = ]] || skip=
      continue
    fi
    case "$path $word" in
`)
	for _, c := range all[1:] {
		path := spaced(c.words)
		fmt.Fprintf(&b, "      %q) path=%q ;;\n", path, path)
	}
	fmt.Fprintf(&b, `      *) if %[1]s_takes "$path" "$word"; then skip=1; elif [[ $word != -* ]]; then nth=$((nth + 1)); fi ;;
    esac
  done
  if ! %[1]s_takes "$path" "$prev"; then
    case "$path" in
`, fn)
	for _, c := range all {
		flags := optionWords(c.effective()[len(general):]) // the general ones stand first
		fmt.Fprintf(&b, "      %q) verbs=%q flags=%q ;;\n", spaced(c.words), strings.Join(c.children(), " "), strings.Join(flags, " "))
	}
	fmt.Fprintf(&b, "    esac\n    flags+=%q\n    %s_takes \"$path\" \"#$nth\" || takes=\n", spaced(optionWords(general)), fn)
	// Flags are offered where one was begun, and where nothing else is known.
	b.WriteString(`    if [[ $cur == -* || -z $takes$verbs ]]; then
      takes=$flags
    else
      COMPREPLY=($(compgen -W "$verbs" -- "$cur"))
    fi
  fi
  word=
  case "$takes" in
    "") return ;;
    @files) word=-f ;;
    @folders) word=-d ;;
    @list*)
      [[ $cur != *,* ]] || word=${cur%,*},
      COMPREPLY+=($(compgen -P "$word" -W "${takes#@list}" -- "${cur##*,}"))
      return ;;
    *)
      COMPREPLY+=($(compgen -W "$takes" -- "$cur"))
      return ;;
  esac
  while IFS= read -r takes; do COMPREPLY+=("$takes"); done < <(compgen $word -- "$cur")
}
`)
	fmt.Fprintf(&b, "complete -o filenames -F %s %s\n", fn, app.Name)
	return b.String(), nil
}

// bashTakes writes the function that knows what a flag is followed by and what an
// argument may be. It depends on the verb: two verbs may use one name for different
// things.
func bashTakes(b *strings.Builder, fn string, all []command, general []*kong.Flag) {
	fmt.Fprintf(b, "# Sets takes to what flag $2 of verb $1 is followed by, or what its argument $2 (#0, #1, …) is:\n# words, a mark for other things, or nothing known.\n%s_takes() {\n  case \"$1 $2\" in\n", fn)
	for _, c := range all {
		for i, a := range c.arguments() {
			if value := bashValue(hintOf(a)); value != "" {
				pattern := fmt.Sprintf("%q", fmt.Sprintf("%s #%d", spaced(c.words), i))
				if a.IsSlice() { // it is the last one
					pattern = fmt.Sprintf("%q*", spaced(c.words)+" #")
				}
				fmt.Fprintf(b, "    %s) takes=%q ;;\n", pattern, value)
			}
		}
	}
	var values []string // in order of appearance
	patterns := map[string][]string{}
	add := func(anyVerb string, words []string, flags []*kong.Flag) {
		for _, f := range flags {
			if !takesValue(f) {
				continue
			}
			value := bashValue(hintOf(f.Value))
			if _, seen := patterns[value]; !seen {
				values = append(values, value)
			}
			for _, word := range optionWords([]*kong.Flag{f}) {
				patterns[value] = append(patterns[value], anyVerb+fmt.Sprintf("%q", spaced(words)+" "+word))
			}
		}
	}
	add("*", nil, general)
	for _, c := range all {
		add("", c.words, c.effective()[len(general):])
	}
	for _, value := range values {
		fmt.Fprintf(b, "    %s) takes=%q ;;\n", strings.Join(patterns[value], "|"), value)
	}
	b.WriteString("    *) return 1 ;;\n  esac\n}\n")
}

// bashValue writes a hint as the script reads it.
func bashValue(h hint) string {
	switch {
	case h.path == pathFile:
		return "@files"
	case h.path == pathFolder:
		return "@folders"
	case h.list:
		return "@list" + spaced(h.choices)
	default:
		return strings.Join(h.choices, " ")
	}
}

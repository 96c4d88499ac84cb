package cli

import (
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// pruned returns a grammar without the commands that the arguments cannot mean: kong
// builds and checks the whole of what it is given, which with many verbs takes longer
// than most of them run. It is a pointer to a struct of another type, with the same
// fields but for those commands.
//
// A command is chosen by its name as the first argument, and so on below it. Behind
// flags alone the default command is, if no argument is another's name. The version alone
// needs none. Wherever that is not certain, and where help or a generated text is asked
// for, everything stays.
func pruned(grammar any, args []string) any {
	v := reflect.ValueOf(grammar).Elem()
	name := ""
	switch {
	case slices.Equal(args, []string{"--version"}):
		name = noCommand
	case wantsAll(args):
		return grammar
	case len(args) > 0 && !strings.HasPrefix(args[0], "-"):
		name = args[0]
	default:
		name = defaultCommand(v.Type(), args)
	}
	kept, ok := prunedStruct(v, name, args)
	if !ok {
		return grammar
	}
	return kept.Addr().Interface()
}

// wantsAll reports whether arguments may ask for a text about the whole grammar.
func wantsAll(args []string) bool {
	for _, a := range args {
		if a == "--" {
			break
		}
		if a == "-h" || a == "--help" || strings.HasPrefix(a, "--generate") || strings.HasPrefix(a, "--version") {
			return true
		}
	}
	return false
}

// noCommand is a name that no argument can be.
const noCommand = "\x00"

// prunedStruct copies a struct with the one command of that name, which is pruned in
// turn by the arguments behind its name.
func prunedStruct(v reflect.Value, name string, args []string) (reflect.Value, bool) {
	t := v.Type()
	var fields []reflect.StructField
	var values []reflect.Value
	found := name == noCommand
	for i := range t.NumField() {
		f, value := t.Field(i), v.Field(i)
		if _, command := f.Tag.Lookup("cmd"); command {
			if commandName(f) != name {
				continue
			}
			found = true
			if len(args) > 1 && hasCommands(f.Type) {
				if below, ok := prunedStruct(value, args[1], args[1:]); ok {
					f.Type, value = below.Type(), below
				}
			}
		}
		if !f.IsExported() {
			return reflect.Value{}, false
		}
		fields = append(fields, reflect.StructField{Name: f.Name, Type: f.Type, Tag: f.Tag, Anonymous: f.Anonymous})
		values = append(values, value)
	}
	if !found {
		return reflect.Value{}, false
	}
	copied := reflect.New(reflect.StructOf(fields)).Elem()
	for i, value := range values {
		copied.Field(i).Set(value)
	}
	return copied, true
}

// defaultCommand returns the name of the command that needs no name, unless an
// argument may be another command's.
func defaultCommand(t reflect.Type, args []string) string {
	name := ""
	for i := range t.NumField() {
		f := t.Field(i)
		if _, command := f.Tag.Lookup("cmd"); !command {
			continue
		}
		if slices.Contains(args, commandName(f)) {
			return ""
		}
		if _, ok := f.Tag.Lookup("default"); ok {
			name = commandName(f)
		}
	}
	return name
}

// commandName returns the name of a command as kong makes it of its field's. Where the
// two should differ, the command is not found and everything stays.
func commandName(f reflect.StructField) string {
	if name, ok := f.Tag.Lookup("name"); ok {
		return name
	}
	var b strings.Builder
	for i, r := range f.Name {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func hasCommands(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for i := range t.NumField() {
		if _, ok := t.Field(i).Tag.Lookup("cmd"); ok {
			return true
		}
	}
	return false
}

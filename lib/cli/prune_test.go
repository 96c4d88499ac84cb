package cli

import (
	"reflect"
	"slices"
	"testing"
)

type leafCmd struct {
	Flag string
}

type treeGroup struct {
	One leafCmd `cmd:""`
	Two leafCmd `cmd:""`
}

type treeGrammar struct {
	Globals

	Main      leafCmd   `cmd:"" default:"withargs"`
	MergeTool leafCmd   `cmd:""`
	Named     leafCmd   `cmd:"" name:"other"`
	Group     treeGroup `cmd:""`
}

// commandsIn lists the commands of a grammar, those of groups behind their name.
func commandsIn(t reflect.Type) []string {
	var all []string
	for i := range t.NumField() {
		f := t.Field(i)
		if _, ok := f.Tag.Lookup("cmd"); !ok {
			continue
		}
		all = append(all, commandName(f))
		for _, below := range commandsIn(f.Type) {
			all = append(all, commandName(f)+" "+below)
		}
	}
	return all
}

func TestPruned(t *testing.T) {
	everything := []string{"main", "merge-tool", "other", "group", "group one", "group two"}
	for _, c := range []struct {
		args, want []string
	}{
		{nil, []string{"main"}},
		{[]string{"--flag", "x"}, []string{"main"}},
		{[]string{"main", "--flag", "group"}, []string{"main"}},
		{[]string{"merge-tool"}, []string{"merge-tool"}},
		{[]string{"other"}, []string{"other"}},
		{[]string{"group", "two", "--flag", "x"}, []string{"group", "group two"}},
		{[]string{"group"}, []string{"group", "group one", "group two"}},
		{[]string{"group", "--errors", "json", "two"}, []string{"group", "group one", "group two"}},
		{[]string{"group", "thre"}, []string{"group", "group one", "group two"}},
		{[]string{"--version"}, nil},
		// Where the arguments leave it open, nothing goes.
		{[]string{"--version", "main"}, everything},
		{[]string{"--version=x"}, everything},
		{[]string{"named"}, everything},
		{[]string{"mian"}, everything},
		{[]string{"-C", "d", "group", "one"}, everything},
		{[]string{"--flag", "group"}, everything},
		{[]string{"main", "--help"}, everything},
		{[]string{"-h"}, everything},
		{[]string{"group", "--generate=man"}, everything},
	} {
		g := &treeGrammar{Main: leafCmd{"kept"}}
		got := reflect.ValueOf(pruned(g, c.args)).Elem()
		if have := commandsIn(got.Type()); !slices.Equal(have, c.want) {
			t.Errorf("%q: %q, want %q", c.args, have, c.want)
		}
		if m := got.FieldByName("Main"); m.IsValid() && m.Field(0).String() != "kept" {
			t.Errorf("%q: a value of the grammar is lost", c.args)
		}
		if _, ok := got.FieldByName("Globals").Interface().(Globals); !ok {
			t.Errorf("%q: the flags of every command are lost", c.args)
		}
	}
}

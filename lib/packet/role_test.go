package packet

import (
	"reflect"
	"slices"
	"testing"

	"kxm/lib/config"
	"kxm/lib/item"
)

func rolesOf(t *testing.T, file string) []Role {
	t.Helper()
	cfg, err := config.Load(config.Options{Repository: []byte(file), RepositoryName: "c.toml"})
	if err != nil {
		t.Fatal(err)
	}
	return Roles(cfg)
}

func TestConfiguredRolesOverrideFieldByField(t *testing.T) {
	table := rolesOf(t, `
[roles.planner]
budgetTokens = 600
[roles.critic]
kinds = ["skill"]
[roles.repro]
journalCategories = []
`)
	want := builtInRoles()
	want[1].Budget, want[1].Source = 600, "c.toml:2"
	want[2].Kinds, want[2].Source = []item.Kind{item.KindSkill}, "c.toml:4"
	want[0].Categories, want[0].Source = []string{}, "c.toml:6"
	if !reflect.DeepEqual(table, want) {
		t.Errorf("got\n%v\nwant\n%v", table, want)
	}
	if reflect.DeepEqual(builtInRoles(), want) || !reflect.DeepEqual(builtInRoles(), Roles(nil)) {
		t.Error("the built-in table changed")
	}
}

func TestNewRolesStartFromThatOfAnyOtherName(t *testing.T) {
	// "!" sorts before "*", which must count first all the same.
	table := rolesOf(t, `
[roles.zeta]
budgetTokens = 700
[roles."!odd"]
kinds = ["episode"]
[roles."*"]
kinds = ["state"]
journalCategories = ["plan"]
`)
	names := []string{}
	for _, r := range table {
		names = append(names, r.Name)
	}
	if want := []string{"repro", "planner", "critic", "implementer", "verifier", "!odd", "zeta", "*"}; !slices.Equal(names, want) {
		t.Errorf("names %v, want %v", names, want)
	}
	for _, want := range []Role{
		{"!odd", []item.Kind{item.KindEpisode}, []string{"plan"}, 32_000, "c.toml:4"},
		{"zeta", []item.Kind{item.KindState}, []string{"plan"}, 700, "c.toml:2"},
		{"*", []item.Kind{item.KindState}, []string{"plan"}, 32_000, "c.toml:6"},
		{"unheard of", []item.Kind{item.KindState}, []string{"plan"}, 32_000, "c.toml:6"},
	} {
		if got := FindRole(table, want.Name); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", want.Name, got, want)
		}
	}
}

func TestRoleNamesAreExact(t *testing.T) {
	for _, name := range []string{"Planner", "planner ", "plan", ""} {
		if got := FindRole(Roles(nil), name); got.Name != name || got.Budget != 32_000 {
			t.Errorf("%q: %v", name, got)
		}
	}
}

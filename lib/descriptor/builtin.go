package descriptor

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// embeddedGroups are the tool groups whose text lib/prompt/text holds, in the order
// in which a prompt shows them.
var embeddedGroups = []string{
	"files", "shell", "web", "browser", "annotations", "connections", "session", "progress", "goals", "subagents", "plugins",
}

// variantSections are the prompt sections that a pinned variant brings. No descriptor
// owns them, and none can take their ids; that of a variant's subagents is taken by
// the built-in section that replaces it.
var variantSections = []string{"system", "guardrails", "memory", "scripts"}

//go:embed builtin.ndjson
var builtinDescriptors string

var builtin = sync.OnceValue(func() []Descriptor {
	var all []Descriptor
	for line := range strings.Lines(builtinDescriptors) {
		d, problems, err := Parse([]byte(line))
		if err != nil || len(problems) > 0 {
			panic(fmt.Sprintf("builtin.ndjson: %v %v", err, problems)) // the bytes are ours, and tested
		}
		all = append(all, d)
	}
	return all
})

// Builtin returns the built-in descriptors, by area and then as the ownership table
// lists them. What they point to is shared and must not be changed.
func Builtin() []Descriptor { return slices.Clone(builtin()) }

//go:embed skills/plugin-authoring/SKILL.md
var pluginAuthoring string

// Skill returns the SKILL.md of a skill that a built-in plugin brings.
func Skill(name string) (text string, ok bool) {
	if name == "plugin-authoring" {
		return pluginAuthoring, true
	}
	return "", false
}

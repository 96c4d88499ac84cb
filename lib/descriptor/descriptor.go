// Package descriptor owns plugin descriptors: what a part of the product or of an
// application is called, and which tools, tool groups and prompt sections it owns.
// The built-in ones are embedded, as are the skills that they bring.
//
// Start with [NewSet], which joins the built-in descriptors with an application's
// and answers who owns what. The package switches nothing on, loads no code and
// reads no file; the texts of the built-in tool groups are lib/prompt/text's.
package descriptor

// Schema names the form of a descriptor.
const Schema = "kxm.plugin-descriptor.v1"

// Descriptor describes one plugin.
type Descriptor struct {
	ID            string // "builtin:" or "application:" and a name
	Title         string // one line
	Description   string // one line; may be empty
	Required      bool   // it cannot be switched off
	Default       bool   // it is on unless someone decides otherwise
	Contributions []Contribution
	ToolGroups    []ToolGroup // that it owns
	Sections      []string    // ids of the prompt sections that it owns
	Surfaces      *Surfaces   // nil: nothing to say
}

// Contribution is one thing that a plugin brings. Its id is the plugin's, the kind
// and the name, with slashes between them.
type Contribution struct {
	Kind  string // one of [Kinds]
	Name  string
	Group string           // of a tool: the tool group that describes it, "" for none
	Tools []ConnectionTool // of a connection
}

// ConnectionTool is a tool of a connected app.
type ConnectionTool struct {
	Name string
	Ask  bool // a call waits for a person
}

// ToolGroup is a group of tools in the tools section of a prompt. Title and Text
// are empty for a group whose text is embedded in lib/prompt/text.
type ToolGroup struct {
	ID, Title, Text string
}

// Surfaces says how a plugin shows itself where a host draws and where a terminal
// prints. It is never a switch or a permission.
type Surfaces struct {
	Preferred string // "host"
	Terminal  string // "fallback" or "unavailable"
	Note      string // at most MaxNote code points
}

// Problem is something in a descriptor that was dropped, without which it holds.
type Problem struct {
	Field   string // in dotted form
	Message string // lower case, no full stop
}

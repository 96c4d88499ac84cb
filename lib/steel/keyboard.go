package steel

import (
	"slices"
	"strings"
	"unicode/utf8"

	"kxm/lib/fault"
)

// Bits of the keys that are held, as the protocol counts them.
const (
	heldAlt = 1 << iota
	heldControl
	heldMeta
	heldShift
)

// stroke is a key of a keyboard of the United States, as the browser is told of it.
type stroke struct {
	key  string // its value in the page's events
	code string // its place on the keyboard
	win  int    // the virtual key code of Windows
	text string // what it writes, if it writes
	held int    // keys that are held with it
}

// KeyPress is a key with those that are held meanwhile.
type KeyPress struct {
	text   string
	stroke stroke
}

// String is the key as it was given.
func (k KeyPress) String() string { return k.text }

// heldKeys are the keys that may be held, in the order in which they are pressed.
var heldKeys = []struct {
	bit int
	stroke
}{
	{heldControl, stroke{key: "Control", code: "ControlLeft", win: 17}},
	{heldAlt, stroke{key: "Alt", code: "AltLeft", win: 18}},
	{heldMeta, stroke{key: "Meta", code: "MetaLeft", win: 91}},
	{heldShift, stroke{key: "Shift", code: "ShiftLeft", win: 16}},
}

// namedKey returns a key that is called by a name.
func namedKey(name string) (stroke, bool) {
	switch name {
	case "Enter":
		return stroke{key: name, code: name, win: 13, text: "\r"}, true
	case "Escape":
		return stroke{key: name, code: name, win: 27}, true
	case "Tab":
		return stroke{key: name, code: name, win: 9}, true
	case "Backspace":
		return stroke{key: name, code: name, win: 8}, true
	case "Space":
		return stroke{key: " ", code: name, win: 32, text: " "}, true
	}
	// These stand one after the other from a code on.
	for first, names := range map[int][]string{
		33:  {"PageUp", "PageDown", "End", "Home", "ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"},
		46:  {"Delete"},
		112: {"F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8", "F9", "F10", "F11", "F12"},
	} {
		if i := slices.Index(names, name); i >= 0 {
			return stroke{key: name, code: name, win: first + i}, true
		}
	}
	return stroke{}, false
}

// signKeys are the keys that write a sign: alone, with Shift, their place and code.
var signKeys = []struct {
	alone, shifted rune
	code           string
	win            int
}{
	{'0', ')', "Digit0", '0'}, {'1', '!', "Digit1", '1'}, {'2', '@', "Digit2", '2'}, {'3', '#', "Digit3", '3'}, {'4', '$', "Digit4", '4'},
	{'5', '%', "Digit5", '5'}, {'6', '^', "Digit6", '6'}, {'7', '&', "Digit7", '7'}, {'8', '*', "Digit8", '8'}, {'9', '(', "Digit9", '9'},
	{';', ':', "Semicolon", 186}, {'=', '+', "Equal", 187}, {',', '<', "Comma", 188}, {'-', '_', "Minus", 189}, {'.', '>', "Period", 190},
	{'/', '?', "Slash", 191}, {'`', '~', "Backquote", 192}, {'[', '{', "BracketLeft", 219}, {'\\', '|', "Backslash", 220},
	{']', '}', "BracketRight", 221}, {'\'', '"', "Quote", 222},
}

// characterKey returns the key that writes a character, and false where a keyboard of the
// United States has none.
func characterKey(r rune) (stroke, bool) {
	text := string(r)
	switch {
	case r == '\n' || r == '\r':
		return namedKey("Enter")
	case r == '\t':
		return namedKey("Tab")
	case r == ' ':
		return namedKey("Space")
	case r >= 'a' && r <= 'z':
		return stroke{key: text, code: "Key" + strings.ToUpper(text), win: int(r - 'a' + 'A'), text: text}, true
	case r >= 'A' && r <= 'Z':
		return stroke{key: text, code: "Key" + text, win: int(r), text: text, held: heldShift}, true
	}
	for _, k := range signKeys {
		switch r {
		case k.alone:
			return stroke{key: text, code: k.code, win: k.win, text: text}, true
		case k.shifted:
			return stroke{key: text, code: k.code, win: k.win, text: text, held: heldShift}, true
		}
	}
	return stroke{}, false
}

// shifted is what a key writes while Shift is held.
func (k stroke) shifted() stroke {
	if utf8.RuneCountInString(k.text) != 1 || k.held&heldShift != 0 {
		return k
	}
	r, _ := utf8.DecodeRuneInString(k.text)
	if r >= 'a' && r <= 'z' {
		k.key = strings.ToUpper(k.text)
		k.text = k.key
		return k
	}
	for _, s := range signKeys {
		if s.alone == r {
			k.key = string(s.shifted)
			k.text = k.key
		}
	}
	return k
}

// ParseKey reads a key: a name such as Enter or F5, or one character, behind any of
// Control+, Shift+, Alt+ and Meta+.
func ParseKey(text string) (KeyPress, error) {
	held, name := 0, text
	for {
		before, after, ok := strings.Cut(name, "+")
		if !ok || after == "" {
			break
		}
		i := slices.IndexFunc(heldKeys, func(k struct {
			bit int
			stroke
		}) bool {
			return k.key == before
		})
		if i < 0 || held&heldKeys[i].bit != 0 {
			return KeyPress{}, noKey(text)
		}
		held, name = held|heldKeys[i].bit, after
	}
	k, ok := namedKey(name)
	if !ok && utf8.RuneCountInString(name) == 1 {
		r, _ := utf8.DecodeRuneInString(name)
		if k, ok = characterKey(r); !ok && r > ' ' && r != 0x7f && r != utf8.RuneError {
			// No keyboard of ours has it, but one may: it has no place there.
			k, ok = stroke{key: name, text: name}, true
		}
	}
	if !ok {
		return KeyPress{}, noKey(text)
	}
	if held&heldShift != 0 {
		k = k.shifted()
	}
	k.held |= held
	return KeyPress{text, k}, nil
}

func noKey(text string) error {
	return fault.New(fault.SteelUsage, "%s is no key", fault.Quote(text)).
		WithHint("Enter, Escape, Tab, Backspace, Delete, Home, End, PageUp, PageDown, ArrowUp, ArrowDown, ArrowLeft, ArrowRight, Space, F1 to F12 or one character, behind Control+, Shift+, Alt+ or Meta+")
}

// editing are the commands that the browser's own program gives for keys with Control or
// Meta, and that keys which come over the protocol do not have of themselves.
func (k stroke) editing() string {
	if k.held&^heldShift != heldControl && k.held&^heldShift != heldMeta {
		return ""
	}
	command := map[string]string{"a": "selectAll", "c": "copy", "x": "cut", "v": "paste", "z": "undo", "y": "redo"}[strings.ToLower(k.key)]
	if command == "undo" && k.held&heldShift != 0 {
		return "redo"
	}
	return command
}

// down and up are the events of a key. One that is held with Control, Alt or Meta writes
// nothing.
func (k stroke) down() map[string]any {
	event := k.event("rawKeyDown")
	if k.text != "" && k.held&^heldShift == 0 {
		event["type"], event["text"], event["unmodifiedText"] = "keyDown", k.text, k.text
	}
	if command := k.editing(); command != "" {
		event["commands"] = []string{command}
	}
	return event
}

func (k stroke) up() map[string]any { return k.event("keyUp") }

func (k stroke) event(kind string) map[string]any {
	return map[string]any{"type": kind, "key": k.key, "code": k.code, "windowsVirtualKeyCode": k.win, "modifiers": k.held}
}

// events are all that the browser is told when a key is pressed and let go.
func (k stroke) events() []map[string]any {
	var all []map[string]any
	var down []stroke
	now := 0
	for _, h := range heldKeys {
		if k.held&h.bit != 0 {
			now |= h.bit
			h.held = now
			all, down = append(all, h.stroke.down()), append(down, h.stroke)
		}
	}
	all = append(all, k.down(), k.up())
	for i, h := range slices.Backward(down) {
		h.held = 0
		if i > 0 {
			h.held = down[i-1].held
		}
		all = append(all, h.up())
	}
	return all
}

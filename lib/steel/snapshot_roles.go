package steel

import (
	"strings"
	"sync"
)

// Roles, as the browser names them, that rules speak of one by one.
const (
	roleHeading   = "heading" // the one whose level is printed
	roleLabel     = "LabelText"
	roleMenuPopup = "MenuListPopup"
	roleParagraph = "paragraph"
	roleRoot      = "RootWebArea"
	roleText      = "StaticText"
)

// roleKind says what rules hold for a role.
type roleKind uint16

const (
	// A node gets a reference, focusable or not.
	referenced roleKind = 1 << iota
	// A node says nothing: its children stand in its place. What a LabelText holds is
	// the name of a field, which is printed with the field.
	transparent
	// A node is left out with all below it, when the answer is read: the lines of a text
	// as they are laid out, which are half of a page, line breaks, and the bullets and
	// numbers of lists.
	unread
	// A field is built by the browser from others, such as a date from three numbers. It
	// is filled as a whole, and what is below is not the page's.
	composed
	// What is in a node is a value.
	field
	// A node's name is what it holds, so that a text in it is said already.
	namedByContent
	// The same, but what it holds is more than texts.
	holder
	// A node may hold a field and is not named by what it holds.
	namedByAuthor
	// A node with one child says no more than the child.
	replaceable
)

// roleKinds returns the rules for each role that has any. An empty role, which no
// browser gives, is none as well.
var roleKinds = sync.OnceValue(func() map[string]roleKind {
	kinds := map[string]roleKind{"": transparent}
	for _, set := range []struct {
		kind  roleKind
		names string
	}{
		{referenced, "button link textbox searchbox checkbox radio switch combobox listbox option slider spinbutton tab menuitem menuitemcheckbox menuitemradio treeitem"},
		{transparent, "generic none presentation unknown LabelText MenuListPopup rowgroup SvgRoot Section LayoutTable LayoutTableRow LayoutTableCell RootWebArea"},
		{unread, "InlineTextBox LineBreak ListMarker"},
		{composed, "Date DateTime InputTime ColorWell"},
		{field, "textbox searchbox spinbutton combobox listbox slider"},
		{namedByContent, "button link heading option checkbox radio switch tab menuitem menuitemcheckbox menuitemradio treeitem tooltip DisclosureTriangle"},
		{holder, "cell gridcell columnheader rowheader row"},
		{namedByAuthor, "RootWebArea alertdialog article banner complementary contentinfo dialog form grid group list listbox main menu navigation radiogroup region search table tablist toolbar tree treegrid"},
		{replaceable, "cell gridcell listitem paragraph"},
	} {
		for name := range strings.FieldsSeq(set.names) {
			kinds[name] |= set.kind
		}
	}
	return kinds
})

// is reports whether any of the rules holds for the node.
func (n *treeNode) is(kind roleKind) bool { return n.kind&kind != 0 }

// printedRole returns a role as it is printed: the browser's name of it in small
// letters, except that static text is "text". Nothing but letters and hyphens is in
// it, so that no role looks like a reference.
func printedRole(role string) string {
	if role == roleText {
		return "text"
	}
	plain := role != "" && role[0] != '-'
	for i := range len(role) {
		plain = plain && (role[i] >= 'a' && role[i] <= 'z' || role[i] == '-')
	}
	if plain {
		return role
	}
	var b strings.Builder
	for _, c := range []byte(strings.ToLower(role)) {
		if c >= 'a' && c <= 'z' || c == '-' && b.Len() > 0 {
			b.WriteByte(c)
		}
	}
	if b.Len() == 0 {
		return "unknown"
	}
	return b.String()
}

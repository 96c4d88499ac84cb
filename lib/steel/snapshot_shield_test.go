package steel

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestNothingOfAPasswordIsPrinted goes through the pages whose password-like fields
// hold these values: in names, texts and values around the fields as well.
func TestNothingOfAPasswordIsPrinted(t *testing.T) {
	values := map[string][]string{
		"password": {"hunter2", "123456", "4111", "987", "secretd", "55512", "4222", "4333", "887766", "selflabel99", "•"},
		"mixed":    {"777888", "919", "4242", "565656", "discsecret", "secretpw", "•"},
		"frames":   {"4111"},
	}
	for name, secrets := range values {
		s, refs := build(t, recorded(t, name))
		file, err := refs.Encode()
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range secrets {
			if strings.Contains(s.Text, secret) || bytes.Contains(file, []byte(secret)) {
				t.Errorf("%s: %q is in\n%s%s", name, secret, s.Text, file)
			}
		}
		if !strings.Contains(s.Text, "[password]") {
			t.Errorf("%s: no password in\n%s", name, s.Text)
		}
	}
	// Nor when the snapshot is to be of what is in a field.
	in := recorded(t, "password")
	for i := range in.Frames[0].Tree.nodes {
		n := &in.Frames[0].Tree.nodes[i]
		in.Within = &NodeKey{in.Frames[0].ID, n.backend}
		s, _, err := BuildSnapshot(in)
		if n.backend == 0 {
			if !errors.Is(err, ErrNotInTree) {
				t.Errorf("%v for a node without an id", err)
			}
			continue
		}
		for _, secret := range values["password"] {
			if err != nil || strings.Contains(s.Text, secret) {
				t.Errorf("%q within node %d: %v", secret, n.backend, err)
			}
		}
	}
}

// TestFieldsThatAPageMasks: a style can show bullets in place of what the browser tells
// as the value.
func TestFieldsThatAPageMasks(t *testing.T) {
	plain := map[string]any{"editable": "plaintext", "disabled": true}
	dots := node{role: "generic", kids: []node{{role: "StaticText", name: "••••"}}}
	wantText(t, page(t, node{role: "textbox", name: "PIN", value: "1234", props: plain, kids: []node{dots}}), "e1 textbox[disabled,password] PIN\n")
	wantText(t, page(t, node{role: "textbox", name: "Dots", value: "•••", props: plain}), "e1 textbox[disabled,password] Dots\n")
	wantText(t, page(t, node{role: "region", name: "Not a field", kids: []node{dots}}), "region Not a field\n text ••••\n")
}

func TestManyPasswordsHideTheNamesAroundThem(t *testing.T) {
	var fields []node
	password := map[int64]bool{}
	for i := int64(1); i <= manySecrets+1; i++ {
		fields = append(fields, node{role: "textbox", name: "Digit", id: i, value: fmt.Sprintf("secret%d", i)})
		password[i] = true
	}
	in := page(t, node{role: "button", name: "Enter secret1 secret2", kids: fields})
	in.Frames[0].Password = password
	s, _ := build(t, in)
	if strings.Contains(s.Text, "secret") || !strings.HasPrefix(s.Text, "e1 button [hidden]\n e2 textbox[password]") {
		t.Errorf("%s", s.Text)
	}
}

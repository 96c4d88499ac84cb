package signature

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kxm/lib/fault"
)

func FuzzParse(f *testing.F) {
	// Stored, since each fuzzing process makes keys of its own. Their private keys are
	// gone, so that a signature of another message is a forgery.
	files, err := filepath.Glob("testdata/signatures/*.sig")
	if err != nil || len(files) == 0 {
		f.Fatal("no signatures", err)
	}
	known := map[Key]bool{}
	for _, file := range files {
		sig := []byte(read(f, file))
		if err := verifies(sig, message, namespace); err != nil {
			f.Errorf("%s: %v", file, err)
		}
		s, err := Parse(sig)
		if err != nil {
			f.Fatal(err)
		}
		known[s.Key] = true
		blob, err := unarmor(sig)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(sig, false)
		f.Add(blob, true)
		f.Add(blob[:len(blob)/2], true)
	}
	f.Add([]byte(header+"\n"+footer), false)
	f.Fuzz(func(t *testing.T, data []byte, wrap bool) {
		if wrap { // past the armor, where most of the code is
			data = armor(data)
		}
		s, err := Parse(data)
		if err != nil {
			if !fault.Is(err, fault.InvalidAuth) || s != nil {
				t.Errorf("%v", err)
			}
			return
		}
		blob, err := unarmor(data)
		if err != nil || s.Namespace == "" || len(data) > MaxSize {
			t.Fatalf("parsed %q", data)
		}
		again, err := Parse(armor(blob))
		if err != nil || again.Key != s.Key || again.Namespace != s.Namespace {
			t.Errorf("armored again: %v", err)
		}
		if key, err := ParseKey(s.Key.Authorized()); err != nil || key != s.Key {
			t.Errorf("%s is not read again: %v", s.Key.Authorized(), err)
		}
		for _, m := range [][]byte{message, {}, []byte("another")} {
			switch err := s.Verify(m, namespace); {
			case err == nil && known[s.Key] && !bytes.Equal(m, message):
				t.Errorf("a forgery: %q", data)
			case err != nil && !fault.Is(err, fault.InvalidAuth):
				t.Errorf("%v", err)
			}
		}
	})
}

func FuzzParseAllowedSigners(f *testing.F) {
	s, err := Parse([]byte(read(f, "testdata/signatures/ed25519.sig")))
	if err != nil {
		f.Fatal(err)
	}
	key := s.Key.Authorized()
	f.Add([]byte(`alice,bob namespaces="kxm-*,!kxm-x",valid-after="20260101Z",valid-before="202701010000Z" ` + key + " comment\r\n"))
	f.Add([]byte("# x\n\n\"a b\" NAMESPACES=\"a\\\"b\" " + key + "\n* x=\"\n" + key))
	f.Add([]byte("alice cert-authority " + key + "\nbob " + key))
	f.Fuzz(func(t *testing.T, data []byte) {
		signers, problems := ParseAllowedSigners(data)
		last := 0
		for _, l := range signers.Lines() {
			if l.Line <= last || len(l.Principals) == 0 || len(l.Namespaces) == 0 || l.Key == (Key{}) {
				t.Fatalf("%+v", l)
			}
			last = l.Line
			for _, name := range l.Principals {
				if name == "" || strings.ContainsAny(name, "*?,\"") || fault.Printable(name) != name {
					t.Errorf("principal %q", name)
				}
				if signers.PersonNamed(name) == 0 || signers.PersonNamed(name) != signers.PersonOf(l.Key) {
					t.Errorf("%q is nobody, or not who holds the key", name)
				}
			}
			if principal, ok, _ := signers.Allows(l.Key, namespace, now); ok != (principal != "") {
				t.Errorf("%q %v", principal, ok)
			}
			// The line by itself means the same.
			lines := bytes.SplitAfter(data, []byte("\n"))
			again, _ := ParseAllowedSigners(lines[l.Line-1])
			if again.Len() != 1 || !slices.Equal(again.Lines()[0].Principals, l.Principals) || again.Lines()[0].Key != l.Key {
				t.Errorf("line %d by itself: %+v, want %+v", l.Line, again.Lines(), l)
			}
		}
		last = 0
		for _, p := range problems {
			if p.Line <= last || p.Reason == "" || strings.ContainsAny(p.Reason, "\n\x1b") {
				t.Errorf("%+v", p)
			}
			last = p.Line
		}
		if signers.Len()+len(problems) > bytes.Count(data, []byte("\n"))+1 {
			t.Errorf("%d lines, %d problems", signers.Len(), len(problems))
		}
	})
}

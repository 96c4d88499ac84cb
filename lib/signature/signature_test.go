package signature

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"

	"kxm/lib/fault"
)

var message = []byte("{\"schema\":\"x\",\"hlc\":\"019f2b3c4d5e0000\"}\n")

const namespace = "kxm-human"

// verifies parses and verifies.
func verifies(armored, message []byte, namespace string) error {
	s, err := Parse(armored)
	if err != nil {
		return err
	}
	return s.Verify(message, namespace)
}

func TestOurSignaturesAreOpenSSHs(t *testing.T) {
	for _, name := range keyNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := keyFile(t, name)
			p, err := find(t, path, "")
			if err != nil {
				t.Fatal(err)
			}
			if p.Key() != public(t, path) || p.Place() != path {
				t.Errorf("%v, want %v", p, public(t, path))
			}
			if out, err := keygen("UTC", nil, "-l", "-f", path); err != nil || strings.Fields(out)[1] != p.Key().Fingerprint() {
				t.Errorf("fingerprint %s, ssh-keygen says %s (%v)", p.Key().Fingerprint(), out, err)
			}
			for _, m := range [][]byte{message, {}, bytes.Repeat([]byte{0, 0xff}, 200_000)} {
				sig := mustSign(t, p, namespace, m)
				for _, tz := range zones {
					q := question{"alice " + p.Key().Authorized() + "\n", "alice", namespace, sig, m, "", tz}
					if ok, out := keygenAccepts(t, q); !ok {
						t.Errorf("ssh-keygen refuses: %s", out)
					}
				}
				// These algorithms are deterministic, so every byte must be the same.
				if name == "ed25519" || strings.HasPrefix(name, "rsa") {
					if theirs := keygenSign(t, path, namespace, m); !bytes.Equal(sig, theirs) {
						t.Errorf("ours\n%s\ntheirs\n%s", sig, theirs)
					}
				}
			}
		})
	}
}

func TestOpenSSHsSignaturesVerify(t *testing.T) {
	for _, name := range keyNames() {
		for _, hash := range []string{"sha256", "sha512"} {
			t.Run(name+"-"+hash, func(t *testing.T) {
				t.Parallel()
				path := keyFile(t, name)
				armored := keygenSign(t, path, namespace, message, "-O", "hashalg="+hash)
				s, err := Parse(armored)
				if err != nil {
					t.Fatal(err)
				}
				if s.Key != public(t, path) || s.Namespace != namespace {
					t.Errorf("%v in %q", s.Key, s.Namespace)
				}
				if err := s.Verify(message, namespace); err != nil {
					t.Error(err)
				}
				for _, bad := range []struct {
					message   []byte
					namespace string
				}{
					{message[1:], namespace}, {append(bytes.Clone(message), '\n'), namespace}, {nil, namespace},
					{message, "kxm-workflow"}, {message, ""}, {message, namespace + "\x00"},
				} {
					if err := s.Verify(bad.message, bad.namespace); !fault.Is(err, fault.InvalidAuth) {
						t.Errorf("%q in %q: %v", bad.message, bad.namespace, err)
					}
				}
			})
		}
	}
}

// TestEveryByteCounts flips bits of all bytes of a signature. None may be left over
// that changes nothing.
func TestEveryByteCounts(t *testing.T) {
	signatures := map[string][]byte{}
	for _, name := range []string{"ed25519", "ecdsa256", "ecdsa521", "rsa2048"} {
		signatures[name] = keygenSign(t, keyFile(t, name), namespace, message)
	}
	for _, algorithm := range []string{ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256} {
		signatures[algorithm] = newSecurityKey(t, algorithm).sign(t, namespace, message)
	}
	for name, armored := range signatures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := verifies(armored, message, namespace); err != nil {
				t.Fatal(err)
			}
			blob, err := unarmor(armored)
			if err != nil {
				t.Fatal(err)
			}
			for i := range blob {
				for _, bit := range []byte{0x01, 0x80} {
					blob[i] ^= bit
					if err := verifies(armor(blob), message, namespace); !fault.Is(err, fault.InvalidAuth) {
						t.Errorf("byte %d changed by %#x: %v", i, bit, err)
					}
					blob[i] ^= bit
				}
			}
			for n := range blob {
				if err := verifies(armor(blob[:n]), message, namespace); !fault.Is(err, fault.InvalidAuth) {
					t.Errorf("cut to %d bytes: %v", n, err)
				}
			}
			if err := verifies(armor(append(blob, 0)), message, namespace); !fault.Is(err, fault.InvalidAuth) {
				t.Errorf("one byte more: %v", err)
			}
		})
	}
}

// rewrap writes base64 in lines of a width, with a line end.
func rewrap(digits string, width int, end string) string {
	var b strings.Builder
	b.WriteString(header + end)
	for len(digits) > 0 {
		n := min(width, len(digits))
		b.WriteString(digits[:n] + end)
		digits = digits[n:]
	}
	return b.String() + footer + end
}

func TestArmor(t *testing.T) {
	path := keyFile(t, "ed25519")
	sig := string(keygenSign(t, path, namespace, message))
	blob, err := unarmor([]byte(sig))
	if err != nil {
		t.Fatal(err)
	}
	if string(armor(blob)) != sig {
		t.Errorf("%s\nbecomes\n%s", sig, armor(blob))
	}
	digits := base64.StdEncoding.EncodeToString(blob)
	if !strings.HasSuffix(digits, "=") {
		t.Fatal("the sample has no padding to change")
	}
	// The last digit before one = has two bits that nothing is decoded from.
	trimmed := strings.TrimRight(digits, "=")
	stray := trimmed[:len(trimmed)-1] + string(trimmed[len(trimmed)-1]+1) + digits[len(trimmed):]
	const yes, no, any = "yes", "no", "any" // any: versions of ssh-keygen differ
	for _, c := range []struct {
		name, text string
		ours       bool
		theirs     string
	}{
		{"as ssh-keygen wraps it", rewrap(digits, 70, "\n"), true, yes},
		{"as PEM wraps it", rewrap(digits, 64, "\n"), true, yes},
		{"CRLF but for the header", strings.Replace(rewrap(digits, 70, "\r\n"), "\r", "", 1), true, yes},
		{"CRLF", rewrap(digits, 70, "\r\n"), false, any},
		{"one line", rewrap(digits, 10_000, "\n"), true, yes},
		{"one digit a line", rewrap(digits, 1, "\n"), true, yes},
		{"white space", rewrap(strings.ReplaceAll(digits, "A", "A \t\v\f"), 70, "\n"), true, yes},
		{"no last line end", strings.TrimSpace(sig), true, yes},
		{"empty lines at the end", sig + "\n \r\n", true, yes},
		{"text at the end", sig + "x\n", false, yes},
		{"a second signature", sig + sig, false, yes},
		{"text on the footer's line", strings.TrimSpace(sig) + "x", false, yes},
		{"an empty line first", "\n" + sig, false, no},
		{"text first", "x\n" + sig, false, no},
		{"BOM first", "\ufeff" + sig, false, no},
		{"blank behind the header", strings.Replace(sig, header, header+" ", 1), false, any},
		{"base64 on the header's line", strings.Replace(sig, header+"\n", header, 1), false, any},
		{"PEM header", strings.Replace(sig, header+"\n", header+"\nComment: x\n\n", 1), false, no},
		{"another header", strings.Replace(sig, header, "-----BEGIN SSH SIGNATURE ----", 1), false, no},
		{"no footer", strings.Replace(sig, footer, "", 1), false, no},
		{"footer not at a line's start", strings.Replace(sig, "\n"+footer, footer, 1), false, no},
		{"header only", header + "\n", false, no},
		{"no base64", header + "\n" + footer + "\n", false, no},
		{"nothing", "", false, no},
		{"no padding", rewrap(trimmed, 70, "\n"), false, no},
		{"too much padding", rewrap(digits+"=", 70, "\n"), false, no},
		{"stray bits", rewrap(stray, 70, "\n"), false, no},
		{"URL alphabet", rewrap(strings.NewReplacer("+", "-", "/", "_").Replace(digits), 70, "\n"), !strings.ContainsAny(digits, "+/"), any},
		{"NUL", strings.Replace(sig, "\n", "\n\x00", 1), false, no},
		{"NUL at the end", strings.Replace(sig, "\n"+footer, "\x00\n"+footer, 1), false, any},
		{"the largest file", sig + strings.Repeat("\n", MaxSize-len(sig)), true, yes},
		{"one byte too large", sig + strings.Repeat("\n", MaxSize-len(sig)+1), false, yes},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := verifies([]byte(c.text), message, namespace)
			if (err == nil) != c.ours || err != nil && !fault.Is(err, fault.InvalidAuth) {
				t.Errorf("ours: %v, want %v", err, c.ours)
			}
			if c.theirs == any {
				return
			}
			q := question{signers: "alice " + read(t, path+".pub"), principal: "alice", namespace: namespace, signature: []byte(c.text), message: message}
			if ok, out := keygenAccepts(t, q); ok != (c.theirs == yes) {
				t.Errorf("ssh-keygen: %v, want %s\n%s", ok, c.theirs, out)
			}
		})
	}
}

// blob is a signature whose fields may hold anything (PROTOCOL.sshsig).
type blob struct {
	Magic     [6]byte
	Version   uint32
	Key       string
	Namespace string
	Reserved  string
	Hash      string
	Signature string
}

func TestWhatCanNeverCountIsRefused(t *testing.T) {
	pub, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(pub)
	if err != nil {
		t.Fatal(err)
	}
	good := blob{[6]byte([]byte("SSHSIG")), 1, string(key.Marshal()), namespace, "", "sha512",
		string(ssh.Marshal(ssh.Signature{Format: ssh.KeyAlgoED25519, Blob: make([]byte, 64)}))}
	if _, err := Parse(armor(ssh.Marshal(good))); err != nil {
		t.Fatal(err)
	}
	long := new(big.Int).Lsh(big.NewInt(1), 2047)
	long.SetBit(long, 0, 1)
	rsaKey := func(n *big.Int) string {
		return string(ssh.Marshal(struct {
			Type string
			E, N *big.Int
		}{"ssh-rsa", big.NewInt(65537), n}))
	}
	rsaSignature := func(format string) string {
		return string(ssh.Marshal(ssh.Signature{Format: format, Blob: make([]byte, 256)}))
	}
	padded := string(ssh.Marshal(struct {
		Type string
		E    *big.Int
		N    []byte
	}{"ssh-rsa", big.NewInt(65537), append([]byte{0, 0}, long.Bytes()...)}))
	sk := newSecurityKey(t, ssh.KeyAlgoSKED25519)
	skSignature := func(rest ...byte) string {
		return string(ssh.Marshal(ssh.Signature{Format: ssh.KeyAlgoSKED25519, Blob: make([]byte, 64), Rest: rest}))
	}
	for _, c := range []struct {
		name   string
		change func(b *blob)
		ok     bool
	}{
		{"an RSA key of 2,048 bits", func(b *blob) { b.Key, b.Signature = rsaKey(long), rsaSignature("rsa-sha2-256") }, true},
		{"a security key with presence", func(b *blob) { b.Key, b.Signature = string(sk.pub.Marshal()), skSignature(1, 0, 0, 0, 0) }, true},
		{"with presence and verification", func(b *blob) { b.Key, b.Signature = string(sk.pub.Marshal()), skSignature(5, 0, 0, 0, 0) }, true},
		{"without presence", func(b *blob) { b.Key, b.Signature = string(sk.pub.Marshal()), skSignature(4, 0, 0, 0, 0) }, false},
		{"without flags", func(b *blob) { b.Key, b.Signature = string(sk.pub.Marshal()), skSignature() }, false},
		{"with a short counter", func(b *blob) { b.Key, b.Signature = string(sk.pub.Marshal()), skSignature(1, 0, 0, 0) }, false},
		{"with a long counter", func(b *blob) { b.Key, b.Signature = string(sk.pub.Marshal()), skSignature(1, 0, 0, 0, 0, 0) }, false},
		{"magic", func(b *blob) { b.Magic[0] = 's' }, false},
		{"version 0", func(b *blob) { b.Version = 0 }, false},
		{"version 2", func(b *blob) { b.Version = 2 }, false},
		{"no namespace", func(b *blob) { b.Namespace = "" }, false},
		{"reserved", func(b *blob) { b.Reserved = "x" }, false},
		{"SHA-1", func(b *blob) { b.Hash = "sha1" }, false},
		{"no hash", func(b *blob) { b.Hash = "" }, false},
		{"no key", func(b *blob) { b.Key = "" }, false},
		{"no signature", func(b *blob) { b.Signature = "" }, false},
		{"something behind the signature", func(b *blob) {
			b.Signature = string(ssh.Marshal(ssh.Signature{Format: ssh.KeyAlgoED25519, Blob: make([]byte, 64), Rest: []byte{1, 0, 0, 0, 0}}))
		}, false},
		{"RSA with SHA-1", func(b *blob) { b.Key, b.Signature = rsaKey(long), rsaSignature("ssh-rsa") }, false},
		{"RSA below 2,048 bits", func(b *blob) { b.Key, b.Signature = rsaKey(new(big.Int).Rsh(long, 1)), rsaSignature("rsa-sha2-512") }, false},
		{"a negative modulus", func(b *blob) { b.Key, b.Signature = rsaKey(new(big.Int).Neg(long)), rsaSignature("rsa-sha2-512") }, false},
		{"a modulus with zeros before it", func(b *blob) { b.Key, b.Signature = padded, rsaSignature("rsa-sha2-512") }, false},
		{"DSA", func(b *blob) {
			b.Key = string(ssh.Marshal(struct {
				Type       string
				P, Q, G, Y *big.Int
			}{"ssh-dss", long, long, long, long}))
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := good
			c.change(&b)
			_, err := Parse(armor(ssh.Marshal(b)))
			if (err == nil) != c.ok || err != nil && !fault.Is(err, fault.InvalidAuth) {
				t.Errorf("%v, want ok=%v", err, c.ok)
			}
		})
	}
	// The private key is used for a signature whose algorithm names another type.
	b := good
	b.Signature = string(ssh.Marshal(ssh.Signature{Format: ssh.KeyAlgoECDSA256, Blob: ed25519.Sign(private, message)}))
	if err := verifies(armor(ssh.Marshal(b)), message, namespace); !fault.Is(err, fault.InvalidAuth) {
		t.Errorf("another algorithm: %v", err)
	}
}

func TestShortRSAKeysAndCertificatesAreRefusedThoughOpenSSHTakesThem(t *testing.T) {
	short := makeKey(t, "rsa1024", "", "-t", "rsa", "-b", "1024")
	sig := keygenSign(t, short, namespace, message)
	q := question{signers: "alice " + read(t, short+".pub"), principal: "alice", namespace: namespace, signature: sig, message: message}
	if ok, out := keygenAccepts(t, q); !ok {
		t.Errorf("ssh-keygen refuses 1,024 bits by itself: %s", out)
	}
	if _, err := Parse(sig); !fault.Is(err, fault.InvalidAuth) || !strings.Contains(err.Error(), "2,048") {
		t.Errorf("%v", err)
	}
	if _, err := find(t, short, ""); !fault.Is(err, fault.SigningKeyInvalid) {
		t.Errorf("%v", err)
	}

	ca, holder := keyFile(t, "ecdsa256"), makeKey(t, "holder", "", "-t", "ed25519")
	if out, err := keygen("UTC", nil, "-q", "-s", ca, "-I", "id", "-n", "alice", holder+".pub"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	sig = keygenSign(t, holder+"-cert.pub", namespace, message)
	line := `alice cert-authority,namespaces="kxm-human" ` + read(t, ca+".pub")
	q = question{signers: line, principal: "alice", namespace: namespace, signature: sig, message: message}
	if ok, out := keygenAccepts(t, q); !ok {
		t.Errorf("ssh-keygen refuses its own certificate: %s", out)
	}
	if _, err := Parse(sig); !fault.Is(err, fault.InvalidAuth) {
		t.Errorf("a certificate's signature: %v", err)
	}
	if signers, problems := ParseAllowedSigners([]byte(line)); signers.Len() != 0 || len(problems) != 1 {
		t.Errorf("%+v %+v", signers, problems)
	}
	if _, err := ParseKey(read(t, holder+"-cert.pub")); err == nil {
		t.Error("a certificate is no key")
	}
}

func TestSecurityKeysMustAssertPresence(t *testing.T) {
	for _, algorithm := range []string{ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256} {
		t.Run(algorithm, func(t *testing.T) {
			k := newSecurityKey(t, algorithm)
			key, err := ParseKey(k.authorized())
			if err != nil {
				t.Fatal(err)
			}
			signers, problems := ParseAllowedSigners([]byte(`alice namespaces="kxm-*" ` + k.authorized() + "\n"))
			if len(problems) != 0 || signers.Len() != 1 || signers.Lines()[0].Key != key {
				t.Errorf("%+v %+v", signers, problems)
			}
			for flags, ok := range map[byte]bool{0x00: false, 0x01: true, 0x04: false, 0x05: true, 0x81: true, 0xfe: false} {
				k.flags = flags
				sig := k.sign(t, namespace, message)
				err := verifies(sig, message, namespace)
				if (err == nil) != ok || err != nil && !fault.Is(err, fault.InvalidAuth) {
					t.Errorf("flags %#x: %v", flags, err)
				}
				q := question{signers: "alice " + k.authorized() + "\n", principal: "alice", namespace: namespace, signature: sig, message: message}
				if theirs, out := keygenAccepts(t, q); ok && !theirs {
					t.Errorf("flags %#x: ssh-keygen refuses: %s", flags, out)
				}
				// The flag cannot be set afterwards.
				blob, err := unarmor(sig)
				if err != nil {
					t.Fatal(err)
				}
				blob[len(blob)-5] |= 0x01
				if err := verifies(armor(blob), message, namespace); (err == nil) != ok {
					t.Errorf("flags %#x, then presence: %v", flags, err)
				}
			}
			k.flags, k.application = 0x01, "ssh:other"
			if err := verifies(k.sign(t, namespace, message), message, namespace); !fault.Is(err, fault.InvalidAuth) {
				t.Errorf("signed for another application: %v", err)
			}
		})
	}
}

func TestParseKey(t *testing.T) {
	for _, name := range keyNames() {
		text := read(t, keyFile(t, name)+".pub")
		key, err := ParseKey(text)
		if err != nil {
			t.Fatal(err)
		}
		fields := strings.Fields(text)
		if got := key.Authorized(); got != fields[0]+" "+fields[1] || key.Type() != fields[0] || key.String() != key.Fingerprint() {
			t.Errorf("%s, want %s", got, text)
		}
		again, err := ParseKey("\t" + fields[0] + " \t " + fields[1] + "\r\n")
		if err != nil || !again.Equal(key) || again != key {
			t.Errorf("%v, %v", again, err)
		}
		for _, bad := range []string{"", fields[0], fields[1], "x " + fields[1], fields[0] + " " + fields[1][1:], fields[0] + " !" + fields[1], "ssh-ed448 " + fields[1]} {
			if _, err := ParseKey(bad); err == nil {
				t.Errorf("%q is no key", bad)
			}
		}
		// A name that is not the encoded one.
		wire, err := base64.StdEncoding.DecodeString(fields[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range [][]byte{append(bytes.Clone(wire), 0), wire[:len(wire)-1], binary.BigEndian.AppendUint32(nil, 1<<31)} {
			if _, err := ParseKey(fields[0] + " " + base64.StdEncoding.EncodeToString(bad)); err == nil {
				t.Errorf("%x is no key", bad)
			}
		}
	}
	if (Key{}).Type() != "" || (Key{}) == public(t, keyFile(t, "ed25519")) {
		t.Error("the zero key is one")
	}
}

func TestReadersShareSignersAndSignatures(t *testing.T) {
	path := keyFile(t, "ed25519")
	signers, _ := ParseAllowedSigners([]byte(`alice namespaces="kxm-human" ` + read(t, path+".pub")))
	s, err := Parse(keygenSign(t, path, namespace, message))
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 50 {
				if _, ok, why := signers.Allows(s.Key, s.Namespace, now); !ok {
					t.Error(why)
				}
				if err := s.Verify(message, namespace); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
}

func TestPrivateKeysPrintNothingPrivate(t *testing.T) {
	p, err := find(t, keyFile(t, "ed25519"), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(format, p); got != p.Key().Fingerprint()+" in "+p.Place() {
			t.Errorf("%s prints %s", format, got)
		}
	}
}

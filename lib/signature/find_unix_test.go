//go:build unix

package signature

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"kxm/lib/fault"
)

// copyKey copies a key, and its .pub if wanted, into a folder of its own.
func copyKey(t testing.TB, path string, private, public bool) string {
	t.Helper()
	dir := t.TempDir()
	target := filepath.Join(dir, filepath.Base(path))
	if private {
		if err := os.WriteFile(target, []byte(read(t, path)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if public {
		if err := os.WriteFile(target+".pub", []byte(read(t, path+".pub")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return target
}

// works signs with a key and lets ssh-keygen check it.
func works(t testing.TB, p PrivateKey) {
	t.Helper()
	sig := mustSign(t, p, namespace, message)
	q := question{signers: "alice " + p.Key().Authorized() + "\n", principal: "alice", namespace: namespace, signature: sig, message: message}
	if ok, out := keygenAccepts(t, q); !ok {
		t.Errorf("ssh-keygen refuses the signature of %v: %s", p, out)
	}
}

// refused wants a code, and parts of the message or hint.
func refused(t testing.TB, err error, code fault.Code, parts ...string) {
	t.Helper()
	var e *fault.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("%v, want %s", err, code)
		return
	}
	for _, p := range parts {
		if !strings.Contains(e.Message+"\n"+e.Hint, p) {
			t.Errorf("%q (hint %q) does not say %q", e.Message, e.Hint, p)
		}
	}
}

func TestEveryFormatOfAPrivateKeyWorks(t *testing.T) {
	for _, kind := range []string{"ecdsa256", "ecdsa384", "ecdsa521", "rsa2048"} {
		for _, format := range []string{"PEM", "PKCS8"} {
			path := makeKey(t, kind+format, "", append([]string{"-m", format}, keyTypes[kind]...)...)
			p, err := find(t, copyKey(t, path, true, false), "")
			if err != nil {
				t.Errorf("%s as %s: %v", kind, format, err)
				continue
			}
			if p.Key() != public(t, path) {
				t.Errorf("%s as %s: %v", kind, format, p)
			}
			works(t, p)
		}
	}
}

func TestTheFirstSettingDecides(t *testing.T) {
	a, b, c := keyFile(t, "ed25519"), keyFile(t, "ecdsa256"), keyFile(t, "ecdsa384")
	home := t.TempDir()
	for path, from := range map[string]string{"id_ed25519": c, "keys/b": b} {
		path = filepath.Join(home, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(read(t, from)), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	git := func(pairs ...string) func(string) (string, bool, error) {
		return func(key string) (string, bool, error) {
			value := environment(pairs...)(key)
			return value, value != "", nil
		}
	}
	for _, x := range []struct {
		name      string
		env       []string
		git       func(string) (string, bool, error)
		configDir string
		want      string // the key's file
	}{
		{"environment", []string{"KXM_SIGNING_KEY", a}, git("gpg.format", "ssh", "user.signingKey", b), home, a},
		{"Git", nil, git("gpg.format", "ssh", "user.signingKey", b), home, b},
		{"Git, below the home folder", nil, git("gpg.format", "ssh", "user.signingKey", "~/keys/b"), home, b},
		{"Git, from the working folder", nil, git("gpg.format", "ssh", "user.signingKey", "keys/b"), home, b},
		{"environment, below the home folder", []string{"KXM_SIGNING_KEY", "~/keys/b"}, nil, "", b},
		{"Git with OpenPGP", nil, git("user.signingKey", b), home, c},
		{"Git with X.509", nil, git("gpg.format", "x509", "user.signingKey", b), home, c},
		{"Git without a key", nil, git("gpg.format", "ssh"), home, c},
		{"our own, without Git", nil, nil, home, c},
	} {
		t.Run(x.name, func(t *testing.T) {
			p, err := FindKey(t.Context(), KeySource{environment(append(x.env, "HOME", home)...), x.git, home, x.configDir})
			if err != nil || p.Key() != public(t, x.want) {
				t.Errorf("%v %v, want %v", p, err, public(t, x.want))
			}
		})
	}
	_, err := FindKey(t.Context(), KeySource{environment(), git("gpg.format", "ssh"), home, filepath.Join(home, "none")})
	refused(t, err, fault.SigningKeyMissing, "kxm-state init", "KXM_SIGNING_KEY")
	_, err = FindKey(t.Context(), KeySource{Getenv: environment()})
	refused(t, err, fault.SigningKeyMissing)
	// A setting that is broken does not fall back to another person's key.
	_, err = FindKey(t.Context(), KeySource{environment("KXM_SIGNING_KEY", home+"/none"), git("gpg.format", "ssh", "user.signingKey", b), home, home})
	refused(t, err, fault.SigningKeyMissing, "KXM_SIGNING_KEY", "does not exist")
	_, err = FindKey(t.Context(), KeySource{environment(), git("gpg.format", "ssh", "user.signingKey", home+"/none"), home, home})
	refused(t, err, fault.SigningKeyMissing, "user.signingKey", "does not exist")
	broken := fault.New(fault.GitFailed, "x")
	for _, key := range []string{"gpg.format", "user.signingKey"} {
		_, err = FindKey(t.Context(), KeySource{environment(), func(k string) (string, bool, error) {
			if k == key {
				return "", false, broken
			}
			return "ssh", true, nil
		}, home, home})
		if !errors.Is(err, broken) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestKeysInAnAgent(t *testing.T) {
	socket, client := startAgent(t)
	for _, name := range keyNames() {
		path := keyFile(t, name)
		key := public(t, path)
		reference := "key::" + read(t, path+".pub")
		_, err := find(t, reference, socket)
		refused(t, err, fault.SigningKeyMissing, "no agent holds it", "ssh-add")
		addFile(t, client, path, "")
		onlyPublic := copyKey(t, path, false, true)
		for _, value := range []string{reference, "key::" + key.Authorized(), onlyPublic + ".pub", onlyPublic} {
			p, err := find(t, value, socket)
			if err != nil || p.Key() != key || p.Place() != "agent" {
				t.Fatalf("%s: %v %v", value, p, err)
			}
			works(t, p)
		}
		// Git's older form without key::
		p, err := FindKey(t.Context(), KeySource{Getenv: environment("SSH_AUTH_SOCK", socket), GitConfig: func(k string) (string, bool, error) {
			return map[string]string{"gpg.format": "ssh", "user.signingKey": key.Authorized()}[k], true, nil
		}})
		if strings.HasPrefix(key.Type(), "ssh-") != (err == nil && p.Key() == key) {
			t.Errorf("%s without key:: : %v %v", key.Type(), p, err)
		}
	}
	path := keyFile(t, "ed25519")
	p, err := find(t, "key::"+read(t, path+".pub"), socket)
	if err != nil {
		t.Fatal(err)
	}
	// A file is used as it is, even if the agent has the key too.
	if file, err := find(t, path, socket); err != nil || file.Place() != path {
		t.Errorf("%v %v", file, err)
	}
	if err := client.Lock([]byte("x")); err != nil {
		t.Fatal(err)
	}
	_, err = Sign(t.Context(), p, namespace, message)
	refused(t, err, fault.SigningFailed)
	if err := errors.Join(client.Unlock([]byte("x")), client.RemoveAll()); err != nil {
		t.Fatal(err)
	}
	_, err = Sign(t.Context(), p, namespace, message)
	refused(t, err, fault.SigningFailed, "no agent holds it")

	// An agent that asks a person, who is not there.
	private, err := ssh.ParseRawPrivateKey([]byte(read(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Add(agent.AddedKey{PrivateKey: private, ConfirmBeforeUse: true}); err != nil {
		t.Fatal(err)
	}
	_, err = Sign(t.Context(), p, namespace, message)
	refused(t, err, fault.SigningFailed)
}

func TestAReferenceIsFoundInTheAgentOnly(t *testing.T) {
	path := keyFile(t, "ed25519")
	for _, socket := range []string{"", filepath.Join(t.TempDir(), "none"), path} {
		_, err := find(t, "key::"+read(t, path+".pub"), socket)
		refused(t, err, fault.SigningKeyMissing, public(t, path).Fingerprint())
	}
	for _, text := range []string{"", "ssh-ed25519", "ssh-ed25519 AAAA", read(t, path), path, path + ".pub"} {
		_, err := find(t, "key::"+text, "")
		refused(t, err, fault.SigningKeyInvalid, "KXM_SIGNING_KEY")
	}
}

func TestAPublicKeysFileStandsForThePrivateOne(t *testing.T) {
	path := keyFile(t, "ed25519")
	both := copyKey(t, path, true, true)
	p, err := find(t, both+".pub", "")
	if err != nil || p.Key() != public(t, path) || p.Place() != both {
		t.Errorf("%v %v", p, err)
	}
	works(t, p)

	socket, client := startAgent(t)
	addFile(t, client, path, "")
	if p, err := find(t, both+".pub", socket); err != nil || p.Place() != "agent" {
		t.Errorf("%v %v", p, err)
	}

	alone := copyKey(t, path, false, true)
	for _, value := range []string{alone, alone + ".pub"} {
		_, err := find(t, value, "")
		refused(t, err, fault.SigningKeyMissing, "no private key beside it", "no agent holds it")
	}
	renamed := write(t, "mykey", read(t, path+".pub"))
	_, err = find(t, renamed, "")
	refused(t, err, fault.SigningKeyMissing)
	if p, err := find(t, renamed, socket); err != nil || p.Place() != "agent" {
		t.Errorf("%v %v", p, err)
	}

	// The file beside it is another key.
	if err := os.WriteFile(alone, []byte(read(t, keyFile(t, "ecdsa256"))), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = find(t, alone+".pub", "")
	refused(t, err, fault.SigningKeyInvalid, "is not the private key of")
}

func TestKeysWithAPassphraseAreUsedThroughTheAgentOnly(t *testing.T) {
	socket, client := startAgent(t)
	for name, args := range map[string][]string{
		"secretOpenSSH": {"-t", "ed25519"},
		"secretRSA":     {"-t", "rsa", "-b", "2048"},
		"secretPEM":     {"-t", "rsa", "-b", "2048", "-m", "PEM"},
		"secretECPEM":   {"-t", "ecdsa", "-b", "256", "-m", "PEM"},
		"secretPKCS8":   {"-t", "ecdsa", "-b", "256", "-m", "PKCS8"},
	} {
		path := makeKey(t, name, "correct horse", args...)
		for _, dead := range []string{"", socket, filepath.Join(t.TempDir(), "none")} {
			for _, value := range []string{path, path + ".pub"} {
				start := time.Now()
				_, err := find(t, value, dead)
				refused(t, err, fault.SigningKeyEncrypted, "ssh-add "+path)
				if fault.CodeOf(err).Exit() != fault.ExitUsage || time.Since(start) > 4*time.Second {
					t.Errorf("status %d after %v", fault.CodeOf(err).Exit(), time.Since(start))
				}
			}
		}
		if name != "secretPKCS8" { // Go cannot decrypt it; ssh-add could
			addFile(t, client, path, "correct horse")
			p, err := find(t, path, socket)
			if err != nil || p.Place() != "agent" || p.Key() != public(t, path) {
				t.Errorf("%s: %v %v", name, p, err)
				continue
			}
			works(t, p)
		}
	}
	// OpenSSH's format shows its public key, so that the file beside it may be gone;
	// in the others the public key is not in the file.
	bare := copyKey(t, filepath.Join(keyDir, "secretOpenSSH"), true, false)
	if p, err := find(t, bare, socket); err != nil || p.Place() != "agent" {
		t.Errorf("%v %v", p, err)
	}
	bare = copyKey(t, filepath.Join(keyDir, "secretPEM"), true, false)
	_, err := find(t, bare, socket)
	refused(t, err, fault.SigningKeyEncrypted, "ssh-add "+bare)
	// A hint is a command that can be pasted.
	dir := filepath.Join(t.TempDir(), "it's a folder")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	odd := filepath.Join(dir, "key")
	if err := os.WriteFile(odd, []byte(read(t, filepath.Join(keyDir, "secretOpenSSH"))), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = find(t, odd, "")
	refused(t, err, fault.SigningKeyEncrypted, `ssh-add '`+strings.ReplaceAll(odd, "'", `'\''`)+`'`)
}

func TestUnusableKeyFiles(t *testing.T) {
	good := read(t, keyFile(t, "ed25519"))
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"empty":             write(t, "k", ""),
		"text":              write(t, "k", "hello\n"),
		"cut":               write(t, "k", good[:len(good)/2]),
		"damaged":           write(t, "k", strings.Replace(good, "AAAA", "AABA", 1)),
		"a certificate":     write(t, "k", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
		"too large":         write(t, "k", good+strings.Repeat("\n", 64<<10)),
		"a folder":          dir,
		"a pipe":            fifo,
		"below a file":      filepath.Join(write(t, "k", good), "x"),
		"a short RSA key":   makeKey(t, "rsa1024", "", "-t", "rsa", "-b", "1024"),
		"allowed signers":   write(t, "k", "alice "+read(t, keyFile(t, "ed25519")+".pub")),
		"a public RSA 1024": copyKey(t, makeKey(t, "rsa1024", "", "-t", "rsa", "-b", "1024"), false, true),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := find(t, path, "")
			refused(t, err, fault.SigningKeyInvalid)
		})
	}
}

func TestAKeyThatOthersCanReadIsRefusedAsBySSH(t *testing.T) {
	path := copyKey(t, keyFile(t, "ed25519"), true, true)
	for mode, ok := range map[fs.FileMode]bool{0o600: true, 0o400: true, 0o700: true, 0o640: false, 0o604: false, 0o610: false, 0o602: false} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := find(t, path, "")
		if ok && err != nil {
			t.Errorf("mode %o: %v", mode, err)
		}
		if !ok {
			refused(t, err, fault.SigningKeyInvalid, "open to other users", "chmod 600 "+path)
		}
		if _, err := keygen("UTC", message, "-q", "-Y", "sign", "-f", path, "-n", namespace); (err == nil) != ok {
			t.Errorf("mode %o: ssh-keygen %v", mode, err)
		}
	}
}

func TestSecurityKeysSignThroughAnAgent(t *testing.T) {
	k := newSecurityKey(t, ssh.KeyAlgoSKED25519)
	key, err := ParseKey(k.authorized())
	if err != nil {
		t.Fatal(err)
	}
	// The file that ssh-keygen makes for such a key holds a handle and no private key.
	handle := append([]byte("openssh-key-v1\x00"), ssh.Marshal(struct {
		Cipher, KDF, Options string
		Number               uint32
		Public, Private      []byte
	}{"none", "none", "", 1, k.pub.Marshal(), ssh.Marshal(struct {
		A, B uint32
		Type string
		Rest []byte
	}{1, 1, k.pub.Type(), []byte("handle")})})...)
	path := write(t, "id_ed25519_sk", pemText("OPENSSH PRIVATE KEY", handle))
	_, err = find(t, path, "")
	refused(t, err, fault.SigningKeyInvalid, "through an agent only", "ssh-add "+path)

	socket := serve(t, newOddAgent(k))
	for _, value := range []string{path, "key::" + k.authorized()} {
		p, err := find(t, value, socket)
		if err != nil || p.Key() != key || p.Place() != "agent" {
			t.Fatalf("%v %v", p, err)
		}
		works(t, p)
		k.flags = 0 // made with no-touch-required
		_, err = Sign(t.Context(), p, namespace, message)
		refused(t, err, fault.SigningFailed, "present")
		k.flags = 1
	}
}

// liar signs with another key than the one it shows, or another algorithm.
type liar struct {
	ssh.Signer
	sign func(data []byte) (*ssh.Signature, error)
}

func (l liar) Sign(_ io.Reader, data []byte) (*ssh.Signature, error) { return l.sign(data) }

func TestAnAgentsBadSignatureIsNotPassedOn(t *testing.T) {
	signer := func(name string) ssh.AlgorithmSigner {
		s, err := ssh.ParsePrivateKey([]byte(read(t, keyFile(t, name))))
		if err != nil {
			t.Fatal(err)
		}
		return s.(ssh.AlgorithmSigner)
	}
	ed, rsa, other := signer("ed25519"), signer("rsa2048"), newSecurityKey(t, ssh.KeyAlgoSKED25519)
	for name, l := range map[string]liar{
		"another key":     {ed, func(data []byte) (*ssh.Signature, error) { return other.Sign(nil, data) }},
		"another message": {ed, func(data []byte) (*ssh.Signature, error) { return ed.Sign(rand.Reader, data[1:]) }},
		"RSA with SHA-1":  {rsa, func(data []byte) (*ssh.Signature, error) { return rsa.SignWithAlgorithm(rand.Reader, data, "ssh-rsa") }},
		"something more": {ed, func(data []byte) (*ssh.Signature, error) {
			s, err := ed.Sign(rand.Reader, data)
			s.Rest = []byte{0}
			return s, err
		}},
		"an error": {ed, func([]byte) (*ssh.Signature, error) { return nil, errors.New("declined") }},
	} {
		t.Run(name, func(t *testing.T) {
			key, err := keyOf(l.PublicKey())
			if err != nil {
				t.Fatal(err)
			}
			p, err := find(t, "key::"+key.Authorized(), serve(t, newOddAgent(l)))
			if err != nil {
				t.Fatal(err)
			}
			sig, err := Sign(t.Context(), p, namespace, message)
			refused(t, err, fault.SigningFailed, key.Fingerprint())
			if sig != nil {
				t.Errorf("returned %s", sig)
			}
		})
	}
	// SHA-256 instead of SHA-512 is as good.
	l := liar{rsa, func(data []byte) (*ssh.Signature, error) {
		return rsa.SignWithAlgorithm(rand.Reader, data, ssh.KeyAlgoRSASHA256)
	}}
	p, err := find(t, keyFile(t, "rsa2048")+".pub", serve(t, newOddAgent(l)))
	if err != nil || p.Place() != "agent" {
		t.Fatalf("%v %v", p, err)
	}
	works(t, p)
	// A file whose two halves do not fit.
	_, err = Sign(t.Context(), PrivateKey{key: p.key, place: "x", signer: liar{ed, func(data []byte) (*ssh.Signature, error) { return ed.Sign(rand.Reader, data[1:]) }}}, namespace, message)
	refused(t, err, fault.SigningFailed)
	_, err = Sign(t.Context(), PrivateKey{}, namespace, message)
	refused(t, err, fault.SigningFailed)
	_, err = Sign(t.Context(), PrivateKey{key: p.key, place: "x", signer: ed}, "", message)
	refused(t, err, fault.SigningFailed)
}

func TestAnAgentThatDoesNotAnswerEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	reference := "key::" + public(t, keyFile(t, "ed25519")).Authorized()
	_, err := FindKey(ctx, KeySource{Getenv: environment("KXM_SIGNING_KEY", reference, "SSH_AUTH_SOCK", serve(t, nil))})
	refused(t, err, fault.SigningKeyMissing)
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > listTime {
		t.Errorf("%v after %v", err, time.Since(start))
	}

	// One that lists its keys and then waits for a person.
	release := make(chan struct{})
	signer, err := ssh.ParsePrivateKey([]byte(read(t, keyFile(t, "ed25519"))))
	if err != nil {
		t.Fatal(err)
	}
	socket := serve(t, newOddAgent(liar{signer, func([]byte) (*ssh.Signature, error) {
		<-release
		return nil, errors.New("too late")
	}}))
	defer close(release)
	p, err := find(t, reference, socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = Sign(ctx, p, namespace, message)
	refused(t, err, fault.SigningFailed)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestGenerateKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "kxm", "id_ed25519")
	p, err := GenerateKey(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info, err)
	}
	if out, err := keygen("UTC", nil, "-y", "-f", path); err != nil || !strings.HasPrefix(out, p.Key().Authorized()) || p.Key().Type() != "ssh-ed25519" {
		t.Errorf("%v %s", err, out)
	}
	works(t, p)
	found, err := FindKey(t.Context(), KeySource{Getenv: environment(), ConfigDir: filepath.Dir(path)})
	if err != nil || found.Key() != p.Key() {
		t.Errorf("%v %v", found, err)
	}
	works(t, found)

	before := read(t, path)
	if _, err := GenerateKey(path); !fault.Is(err, fault.IOFailed) || !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v", err)
	}
	if read(t, path) != before {
		t.Error("the key was replaced")
	}
	if _, err := GenerateKey(filepath.Join(path, "x")); !fault.Is(err, fault.IOFailed) {
		t.Errorf("%v", err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("%v %v", entries, err)
	}
}

func TestOneOfManyGeneratorsWins(t *testing.T) {
	path := filepath.Join(t.TempDir(), "id_ed25519")
	var wait sync.WaitGroup
	var winner atomic.Value
	for range 8 {
		wait.Go(func() {
			p, err := GenerateKey(path)
			if err == nil && !winner.CompareAndSwap(nil, p.Key()) {
				t.Error("two won")
			}
			if err != nil && !errors.Is(err, fs.ErrExist) {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	p, err := find(t, path, "")
	if err != nil || winner.Load() != p.Key() {
		t.Errorf("%v %v, want %v", p, err, winner.Load())
	}
}

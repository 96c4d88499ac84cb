package signature

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// keyDir holds the keys that ssh-keygen makes once for all tests.
var keyDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "kxm-sig-") // short: it holds sockets, whose paths have 108 bytes
	if err != nil {
		panic(err)
	}
	keyDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// keyTypes are ssh-keygen's arguments for each type of key that is not a security key.
var keyTypes = map[string][]string{
	"ed25519":  {"-t", "ed25519"},
	"ecdsa256": {"-t", "ecdsa", "-b", "256"},
	"ecdsa384": {"-t", "ecdsa", "-b", "384"},
	"ecdsa521": {"-t", "ecdsa", "-b", "521"},
	"rsa2048":  {"-t", "rsa", "-b", "2048"},
	"rsa3072":  {"-t", "rsa", "-b", "3072"},
}

func keyNames() []string {
	var names []string
	for name := range keyTypes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

var making sync.Mutex

// makeKey makes a key with ssh-keygen, once for each name, and returns its file.
func makeKey(t testing.TB, name, passphrase string, args ...string) string {
	t.Helper()
	making.Lock()
	defer making.Unlock()
	path := filepath.Join(keyDir, name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	args = append([]string{"-q", "-N", passphrase, "-C", name + "@example.com", "-f", path}, args...)
	if out, err := keygen("UTC", nil, args...); err != nil {
		t.Fatalf("ssh-keygen %v: %v\n%s", args, err, out)
	}
	return path
}

func keyFile(t testing.TB, name string) string {
	t.Helper()
	return makeKey(t, name, "", keyTypes[name]...)
}

// keygen runs ssh-keygen in a time zone, without agent, configuration or terminal.
func keygen(tz string, stdin []byte, args ...string) (string, error) {
	cmd := exec.Command("ssh-keygen", args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + keyDir, "TZ=" + tz, "LC_ALL=C", "SSH_ASKPASS_REQUIRE=never"}
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// keygenSign signs with ssh-keygen.
func keygenSign(t testing.TB, path, namespace string, message []byte, args ...string) []byte {
	t.Helper()
	file := write(t, "message", string(message))
	if out, err := keygen("UTC", nil, append([]string{"-q", "-Y", "sign", "-f", path, "-n", namespace}, append(args, file)...)...); err != nil {
		t.Fatalf("ssh-keygen -Y sign: %v\n%s", err, out)
	}
	sig, err := os.ReadFile(file + ".sig")
	if err != nil {
		t.Fatal(err)
	}
	return sig
}

// question is what ssh-keygen -Y verify is asked.
type question struct {
	signers   string // the allowed-signers file
	principal string
	namespace string
	signature []byte
	message   []byte
	at        string // verify-time; "": now
	tz        string // "": UTC
}

// keygenAccepts asks ssh-keygen; text is what it prints.
func keygenAccepts(t testing.TB, q question) (ok bool, text string) {
	t.Helper()
	dir := t.TempDir()
	for name, data := range map[string][]byte{"signers": []byte(q.signers), "sig": q.signature} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"-Y", "verify", "-f", filepath.Join(dir, "signers"), "-I", q.principal, "-n", q.namespace, "-s", filepath.Join(dir, "sig")}
	if q.at != "" {
		args = append(args, "-Overify-time="+q.at)
	}
	out, err := keygen(q.tz, q.message, args...)
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		t.Fatal(err)
	}
	return err == nil, out
}

func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// public returns the key in a .pub file.
func public(t testing.TB, path string) Key {
	t.Helper()
	key, err := ParseKey(read(t, path+".pub"))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// environment is a Getenv.
func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// find is FindKey with KXM_SIGNING_KEY and an agent.
func find(t testing.TB, value, socket string) (PrivateKey, error) {
	t.Helper()
	return FindKey(t.Context(), KeySource{Getenv: environment("KXM_SIGNING_KEY", value, "SSH_AUTH_SOCK", socket, "HOME", keyDir)})
}

// startAgent starts an ssh-agent for one test and returns its socket and a client
// that fills it.
func startAgent(t testing.TB) (socket string, client agent.ExtendedAgent) {
	t.Helper()
	dir, err := os.MkdirTemp(keyDir, "a")
	if err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(dir, "s")
	cmd := exec.Command("ssh-agent", "-D", "-a", socket)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SSH_ASKPASS_REQUIRE=never"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for range 200 {
		if conn, err := net.Dial("unix", socket); err == nil {
			t.Cleanup(func() { conn.Close() })
			return socket, agent.NewClient(conn)
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("ssh-agent does not answer")
	return "", nil
}

// addFile adds a private key to an agent.
func addFile(t testing.TB, client agent.Agent, path, passphrase string) {
	t.Helper()
	var private any
	var err error
	if passphrase == "" {
		private, err = ssh.ParseRawPrivateKey([]byte(read(t, path)))
	} else {
		private, err = ssh.ParseRawPrivateKeyWithPassphrase([]byte(read(t, path)), []byte(passphrase))
	}
	if err == nil {
		err = client.Add(agent.AddedKey{PrivateKey: private})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// serve runs an agent of our own at a socket.
func serve(t testing.TB, a agent.Agent) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp(keyDir, "a")
	if err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	t.Cleanup(func() {
		listener.Close()
		running.Wait()
	})
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				if a == nil {
					io.Copy(io.Discard, conn) // never answers
					return
				}
				agent.ServeAgent(a, conn)
			})
		}
	})
	return socket
}

// securityKey is a FIDO authenticator made of software (PROTOCOL.u2f).
type securityKey struct {
	pub         ssh.PublicKey
	application string
	ed25519     ed25519.PrivateKey
	ecdsa       *ecdsa.PrivateKey
	flags       byte
	counter     uint32
}

func newSecurityKey(t testing.TB, algorithm string) *securityKey {
	t.Helper()
	k := &securityKey{application: "ssh:", flags: 0x01, counter: 7}
	var wire []byte
	switch algorithm {
	case ssh.KeyAlgoSKED25519:
		pub, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		k.ed25519 = private
		wire = ssh.Marshal(struct {
			Type        string
			Key         []byte
			Application string
		}{algorithm, pub, k.application})
	case ssh.KeyAlgoSKECDSA256:
		private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		k.ecdsa = private
		point, err := private.PublicKey.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		wire = ssh.Marshal(struct {
			Type, Curve string
			Key         []byte
			Application string
		}{algorithm, "nistp256", point, k.application})
	default:
		t.Fatal(algorithm)
	}
	var err error
	if k.pub, err = ssh.ParsePublicKey(wire); err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *securityKey) PublicKey() ssh.PublicKey { return k.pub }

func (k *securityKey) Sign(_ io.Reader, data []byte) (*ssh.Signature, error) {
	application, message := sha256.Sum256([]byte(k.application)), sha256.Sum256(data)
	extra := binary.BigEndian.AppendUint32([]byte{k.flags}, k.counter)
	signed := slices.Concat(application[:], extra, message[:])
	if k.ed25519 != nil {
		return &ssh.Signature{Format: k.pub.Type(), Blob: ed25519.Sign(k.ed25519, signed), Rest: extra}, nil
	}
	digest := sha256.Sum256(signed)
	r, s, err := ecdsa.Sign(rand.Reader, k.ecdsa, digest[:])
	if err != nil {
		return nil, err
	}
	return &ssh.Signature{Format: k.pub.Type(), Blob: ssh.Marshal(struct{ R, S *big.Int }{r, s}), Rest: extra}, nil
}

// sign signs whatever the rules of Sign say.
func (k *securityKey) sign(t testing.TB, namespace string, message []byte) []byte {
	t.Helper()
	sig, err := sshsig.Sign(bytes.NewReader(message), k, sshsig.HashSHA512, namespace)
	if err != nil {
		t.Fatal(err)
	}
	return armor(sig.Marshal())
}

func (k *securityKey) authorized() string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k.pub)))
}

// oddAgent is an agent with signers of our own.
type oddAgent struct {
	agent.ExtendedAgent
	signers []ssh.Signer
}

func newOddAgent(signers ...ssh.Signer) *oddAgent {
	return &oddAgent{agent.NewKeyring().(agent.ExtendedAgent), signers}
}

func (a *oddAgent) List() ([]*agent.Key, error) {
	var keys []*agent.Key
	for _, s := range a.signers {
		keys = append(keys, &agent.Key{Format: s.PublicKey().Type(), Blob: s.PublicKey().Marshal()})
	}
	return keys, nil
}

func (a *oddAgent) Sign(key ssh.PublicKey, data []byte) (*ssh.Signature, error) {
	return a.SignWithFlags(key, data, 0)
}

func (a *oddAgent) SignWithFlags(key ssh.PublicKey, data []byte, _ agent.SignatureFlags) (*ssh.Signature, error) {
	for _, s := range a.signers {
		if bytes.Equal(s.PublicKey().Marshal(), key.Marshal()) {
			return s.Sign(rand.Reader, data)
		}
	}
	return nil, errors.New("unknown key")
}

// mustSign is Sign that has to succeed.
func mustSign(t testing.TB, p PrivateKey, namespace string, message []byte) []byte {
	t.Helper()
	sig, err := Sign(context.Background(), p, namespace, message)
	if err != nil {
		t.Fatal(err)
	}
	return sig
}

func pemText(kind string, data []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
}

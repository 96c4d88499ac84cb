package signature

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"kxm/lib/fault"
)

// PrivateKey can sign: with a key that was read from a file, or through the agent
// that holds it. It prints as its fingerprint and place.
type PrivateKey struct {
	key    Key
	place  string
	signer ssh.Signer // nil: in the agent
	socket string     // of the agent
}

// Key returns the public key.
func (p PrivateKey) Key() Key { return p.key }

// Place says where the private key is: its file, or "agent".
func (p PrivateKey) Place() string { return p.place }

// String returns the fingerprint and the place.
func (p PrivateKey) String() string { return p.key.Fingerprint() + " in " + p.place }

// GoString keeps %#v from printing more than String.
func (p PrivateKey) GoString() string { return p.String() }

// Sign returns an armored signature of the message in a namespace, the same bytes as
// ssh-keygen -Y sign makes (where the algorithm is deterministic): SHA-512, and
// rsa-sha2-512 for RSA. It answers only with a signature that Parse and Verify
// accept; another answer of the key or agent is signing_failed. An agent may wait
// for a person's touch or word: ctx says for how long.
func Sign(ctx context.Context, p PrivateKey, namespace string, message []byte) ([]byte, error) {
	var sig *sshsig.Signature
	sign := func(signer ssh.Signer) (err error) {
		sig, err = sshsig.Sign(bytes.NewReader(message), signer, sshsig.HashSHA512, namespace)
		return err
	}
	var err error
	switch {
	case p.signer != nil:
		err = sign(p.signer)
	case p.key != (Key{}):
		err = withAgentKey(ctx, p.socket, p.key, sign)
	default:
		err = errors.New("there is no key")
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.SigningFailed, "cannot sign with %s", p)
	}
	armored := armor(sig.Marshal())
	// An agent may answer with another algorithm, a file may hold a private key that
	// does not fit its public one, and memory may be faulty.
	parsed, err := Parse(armored)
	if err == nil {
		err = parsed.Verify(message, namespace)
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.SigningFailed, "%s made a signature that does not count", p)
	}
	return armored, nil
}

// GenerateKey makes an ed25519 key without a passphrase and writes it to path in
// OpenSSH's format, with mode 0600; missing folders are made with 0700. The file
// appears as a whole or not at all, and one that exists is an error (fs.ErrExist).
func GenerateKey(path string) (PrivateKey, error) {
	p, err := generateKey(path)
	if err != nil {
		return PrivateKey{}, fault.Wrap(err, fault.IOFailed, "cannot make the signing key %s", fault.Quote(path))
	}
	return p, nil
}

func generateKey(path string) (PrivateKey, error) {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return PrivateKey{}, err
	}
	block, err := ssh.MarshalPrivateKey(private, "kxm")
	if err != nil {
		return PrivateKey{}, err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return PrivateKey{}, err
	}
	f, err := os.CreateTemp(dir, ".id-*") // mode 0600
	if err != nil {
		return PrivateKey{}, err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(pem.EncodeToMemory(block))
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return PrivateKey{}, err
	}
	// A link fails if the name is taken; a rename would replace another's key.
	if err := os.Link(f.Name(), path); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return PrivateKey{}, fs.ErrExist
		}
		return PrivateKey{}, err
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		return PrivateKey{}, err
	}
	return fileKey(path, signer)
}

// fileKey returns the key of a file, or an error if no signature of it would count.
func fileKey(path string, signer ssh.Signer) (PrivateKey, error) {
	key, err := keyOf(signer.PublicKey())
	if err != nil {
		return PrivateKey{}, err
	}
	return PrivateKey{key: key, place: path, signer: signer}, nil
}

package signature

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/crypto/ssh"

	"kxm/lib/fault"
)

// KeySource is where FindKey looks. Only Getenv is needed.
type KeySource struct {
	Getenv    func(key string) string                // KXM_SIGNING_KEY, SSH_AUTH_SOCK, HOME
	GitConfig func(key string) (string, bool, error) // gpg.format, user.signingKey; nil: without Git
	Dir       string                                 // where relative paths start; "": the process's folder
	ConfigDir string                                 // the user's, with the key that GenerateKey made as id_ed25519; "": none
}

// FindKey returns the key to sign with: KXM_SIGNING_KEY, else Git's user.signingKey
// if gpg.format is ssh, else id_ed25519 in ConfigDir. The first that is set decides;
// if it cannot be used, the others are not tried, since they may be another person's.
//
// A value is a path, in which ~/ is the home folder, or "key::" and a public key,
// which is looked for in the agent at SSH_AUTH_SOCK only. A path to a public key
// stands for that key in the agent, else in the file beside it without ".pub". A
// private key with a passphrase, and a security key, is used through the agent; the
// public key is read from the file itself or from the one with ".pub".
//
// Nothing is asked: signing_key_missing, signing_key_encrypted or signing_key_invalid
// say what to do. Agents that listen on no Unix socket are not used.
func FindKey(ctx context.Context, s KeySource) (PrivateKey, error) {
	f := finder{ctx: ctx, source: s, socket: s.Getenv("SSH_AUTH_SOCK")}
	if value := s.Getenv("KXM_SIGNING_KEY"); value != "" {
		return f.find("KXM_SIGNING_KEY", value)
	}
	if s.GitConfig != nil {
		format, _, err := s.GitConfig("gpg.format")
		if err != nil {
			return PrivateKey{}, err
		}
		if format == "ssh" {
			value, _, err := s.GitConfig("user.signingKey")
			if err != nil {
				return PrivateKey{}, err
			}
			if strings.HasPrefix(value, "ssh-") { // Git's older form of key::
				value = "key::" + value
			}
			if value != "" {
				return f.find("user.signingKey", value)
			}
		}
	}
	if s.ConfigDir != "" {
		own := filepath.Join(s.ConfigDir, "id_ed25519")
		if _, err := os.Lstat(own); !errors.Is(err, fs.ErrNotExist) {
			return f.file("the user's configuration", own)
		}
	}
	return PrivateKey{}, fault.New(fault.SigningKeyMissing, "no signing key is configured").
		WithHint("kxm-state init makes one; or set KXM_SIGNING_KEY, or Git's user.signingKey with gpg.format = ssh")
}

type finder struct {
	ctx    context.Context
	source KeySource
	socket string
}

// find resolves a value; origin is the setting that holds it.
func (f finder) find(origin, value string) (PrivateKey, error) {
	if text, ok := strings.CutPrefix(value, "key::"); ok {
		key, err := ParseKey(text)
		if err != nil {
			return PrivateKey{}, fault.Wrap(err, fault.SigningKeyInvalid, "the key in %s cannot be used", origin)
		}
		p, err := f.inAgent(key)
		if err != nil {
			return PrivateKey{}, fault.Wrap(err, fault.SigningKeyMissing, "cannot use %s of %s", key.Fingerprint(), origin).
				WithHint("add it with ssh-add, and see that SSH_AUTH_SOCK names its agent")
		}
		return p, nil
	}
	path := value
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		path = filepath.Join(f.source.Getenv("HOME"), rest)
	} else if !filepath.IsAbs(path) {
		path = filepath.Join(f.source.Dir, path)
	}
	return f.file(origin, path)
}

// file uses the key that a file stands for.
func (f finder) file(origin, path string) (PrivateKey, error) {
	data, err := readKeyFile(path)
	if errors.Is(err, fs.ErrNotExist) && !strings.HasSuffix(path, ".pub") {
		// The private key may be in the agent alone, as OpenSSH allows.
		if public, perr := readKeyFile(path + ".pub"); perr == nil {
			path, data, err = path+".pub", public, nil
		}
	}
	if err != nil {
		return PrivateKey{}, unreadable(err, origin, path)
	}
	if isPrivate(data) {
		return f.private(path, data)
	}
	key, err := ParseKey(string(data))
	if err != nil {
		return PrivateKey{}, fault.Wrap(err, fault.SigningKeyInvalid, "%s (%s) holds no key that can be used", fault.Quote(path), origin)
	}
	p, aerr := f.inAgent(key)
	if aerr == nil {
		return p, nil
	}
	beside, ok := strings.CutSuffix(path, ".pub")
	if ok {
		data, err = readKeyFile(beside)
	}
	if !ok || errors.Is(err, fs.ErrNotExist) {
		return PrivateKey{}, fault.Wrap(aerr, fault.SigningKeyMissing, "cannot use %s, which has no private key beside it", fault.Quote(path)).
			WithHint("add it with ssh-add, and see that SSH_AUTH_SOCK names its agent")
	}
	if err != nil {
		return PrivateKey{}, unreadable(err, origin, beside)
	}
	p, err = f.private(beside, data)
	if err == nil && p.key != key {
		return PrivateKey{}, fault.New(fault.SigningKeyInvalid, "%s is not the private key of %s", fault.Quote(beside), fault.Quote(path))
	}
	return p, err
}

// private uses the private key in a file, or the agent that holds it.
func (f finder) private(path string, data []byte) (PrivateKey, error) {
	signer, err := ssh.ParsePrivateKey(data)
	if err == nil {
		if exposed(path) {
			return PrivateKey{}, fault.New(fault.SigningKeyInvalid, "the signing key %s is open to other users", fault.Quote(path)).
				WithHint("chmod 600 %s", word(path))
		}
		p, err := fileKey(path, signer)
		if err != nil {
			return PrivateKey{}, fault.Wrap(err, fault.SigningKeyInvalid, "the signing key %s cannot be used", fault.Quote(path))
		}
		return p, nil
	}
	key, known := publicOf(path, data)
	if known {
		if p, err := f.inAgent(key); err == nil {
			return p, nil
		}
	}
	block, _ := pem.Decode(data)
	var missing *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &missing) || block != nil && block.Type == "ENCRYPTED PRIVATE KEY": // PKCS #8
		return PrivateKey{}, fault.New(fault.SigningKeyEncrypted, "the signing key %s has a passphrase and no agent holds it", fault.Quote(path)).
			WithHint("ssh-add %s", word(path))
	case known && key.securityKey():
		return PrivateKey{}, fault.New(fault.SigningKeyInvalid, "the security key %s signs through an agent only, and none holds it", fault.Quote(path)).
			WithHint("ssh-add %s", word(path))
	}
	return PrivateKey{}, fault.Wrap(err, fault.SigningKeyInvalid, "the signing key %s cannot be used", fault.Quote(path))
}

// inAgent returns the key if the agent holds it.
func (f finder) inAgent(key Key) (PrivateKey, error) {
	err := withAgentKey(f.ctx, f.socket, key, func(ssh.Signer) error { return nil })
	if err != nil {
		return PrivateKey{}, err
	}
	return PrivateKey{key: key, place: "agent", socket: f.socket}, nil
}

// publicOf returns the public key of a private one that cannot be read: OpenSSH's
// format keeps it in the clear, for others there may be a file beside it.
func publicOf(path string, data []byte) (Key, bool) {
	if block, _ := pem.Decode(data); block != nil {
		var envelope struct { // PROTOCOL.key
			Cipher, KDF, Options string
			Number               uint32
			Public               []byte
			Rest                 []byte `ssh:"rest"`
		}
		if rest, ok := bytes.CutPrefix(block.Bytes, []byte("openssh-key-v1\x00")); ok && ssh.Unmarshal(rest, &envelope) == nil {
			if pub, err := ssh.ParsePublicKey(envelope.Public); err == nil {
				key, err := keyOf(pub)
				return key, err == nil
			}
		}
	}
	public, err := readKeyFile(path + ".pub")
	if err != nil {
		return Key{}, false
	}
	key, err := ParseKey(string(public))
	return key, err == nil
}

// isPrivate tells a private key from a public one, which has no such line.
func isPrivate(data []byte) bool { return bytes.Contains(data, []byte("-----BEGIN ")) }

// readKeyFile reads a regular file: one of another kind may never end, or wait for a
// writer. The longest key, of RSA with 16,384 bits, has 13 KiB.
func readKeyFile(path string) ([]byte, error) {
	const limit = 64 << 10
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && len(data) > limit {
		err = errors.New("it is too large for a key")
	}
	return data, err
}

func unreadable(err error, origin, path string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.SigningKeyMissing, "the signing key %s (%s) does not exist", fault.Quote(path), origin)
	}
	return fault.Wrap(err, fault.SigningKeyInvalid, "cannot read the signing key %s (%s)", fault.Quote(path), origin)
}

// word writes a path as a word for the shell, so that a hint can be pasted.
func word(path string) string {
	path = fault.Printable(path)
	if plain, _ := regexp.MatchString(`^[A-Za-z0-9_/][A-Za-z0-9_./@+-]*$`, path); plain {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

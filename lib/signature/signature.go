// Package signature owns OpenSSH signatures (the "SSHSIG" format of ssh-keygen -Y),
// the allowed-signers file that says whose count, and the keys that make them, in
// files and in an agent.
//
// Start with [Parse] and [Signers] to read, with [FindKey] and [Sign] to write. What
// is accepted here ssh-keygen -Y verify accepts too; the reverse does not hold:
// certificates, patterns of names, local times and security keys that assert no
// presence grant nothing. The package knows no event and no namespace of its own,
// runs no program and asks nobody for a passphrase.
package signature

import (
	"bytes"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"kxm/lib/fault"
)

// MaxSize is the largest signature file in bytes. The largest that Sign makes, of an
// RSA key of 16,384 bits, has under 6,000.
const MaxSize = 16 << 10

// minRSA is the shortest RSA modulus in bits: shorter ones are within reach of
// factoring (NIST SP 800-131A).
const minRSA = 2048

// Key is a public key. Keys are equal when they are ==, and can be the keys of a
// map. The zero Key is no key.
type Key struct {
	wire string // RFC 4253, section 6.6, canonical: as x/crypto/ssh writes it
}

// ParseKey reads a public key as it stands in a .pub file: type, base64 and an
// optional comment, on one line. Types that no signature may have here are refused.
func ParseKey(line string) (Key, error) {
	fields := strings.FieldsFunc(strings.Trim(line, " \t\r\n"), isBlank)
	if len(fields) < 2 {
		return Key{}, errors.New("a public key is a type and base64")
	}
	return decodeKey(fields[0], fields[1])
}

// decodeKey decodes a key's base64 and compares its type with the one before it.
func decodeKey(name, text string) (Key, error) {
	// Without Strict, one key could be written in several ways; OpenSSH refuses
	// stray bits as well.
	wire, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return Key{}, errors.New("the key is not base64")
	}
	pub, err := ssh.ParsePublicKey(wire)
	if err != nil {
		return Key{}, errors.New("the key does not decode")
	}
	if pub.Type() != name {
		return Key{}, errors.New("the key's type is " + fault.Quote(pub.Type()) + ", not " + fault.Quote(name))
	}
	return keyOf(pub)
}

// keyOf returns the Key, or an error if no signature of such a key counts.
func keyOf(pub ssh.PublicKey) (Key, error) {
	switch pub.Type() {
	case ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256:
	case ssh.KeyAlgoRSA:
		key, ok := pub.(ssh.CryptoPublicKey).CryptoPublicKey().(*rsa.PublicKey)
		if !ok || key.N.Sign() <= 0 { // the decoder reads a signed number
			return Key{}, errors.New("the RSA key does not decode")
		}
		if key.N.BitLen() < minRSA {
			return Key{}, errors.New("the RSA key is shorter than 2,048 bits")
		}
	default:
		return Key{}, errors.New("keys of type " + fault.Quote(pub.Type()) + " are not used")
	}
	return Key{string(pub.Marshal())}, nil
}

// Type returns the key's type, such as ssh-ed25519; "" for no key.
func (k Key) Type() string {
	if len(k.wire) < 4 {
		return ""
	}
	return k.wire[4 : 4+binary.BigEndian.Uint32([]byte(k.wire[:4]))]
}

// Authorized returns the key as it stands in a .pub file or an allowed-signers line,
// without a comment.
func (k Key) Authorized() string {
	return k.Type() + " " + base64.StdEncoding.EncodeToString([]byte(k.wire))
}

// Fingerprint returns the key's fingerprint as ssh-keygen -l prints it: "SHA256:"
// and unpadded base64.
func (k Key) Fingerprint() string {
	sum := sha256.Sum256([]byte(k.wire))
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// String returns the fingerprint.
func (k Key) String() string { return k.Fingerprint() }

// Equal reports whether both are the same key.
func (k Key) Equal(other Key) bool { return k == other }

// securityKey reports whether the key lives in a FIDO authenticator.
func (k Key) securityKey() bool {
	t := k.Type()
	return t == ssh.KeyAlgoSKED25519 || t == ssh.KeyAlgoSKECDSA256
}

// Signature is a signature as it was parsed. It proves nothing until Verify says so.
type Signature struct {
	Key       Key    // whose it claims to be
	Namespace string // what it claims to be made for

	sig *sshsig.Signature
}

// Parse reads an armored signature of at most [MaxSize] bytes. It refuses, with
// invalid_auth, what can never count: other types of key than ed25519, ECDSA, RSA
// from 2,048 bits with SHA-2 and security keys; a security key's signature that does
// not assert the presence of a person (OpenSSH leaves that to sshd); a certificate;
// and any byte that the signature does not need, so that none can ride along
// unsigned. How the armor's lines are wrapped is free, as in OpenSSH. A WebAuthn
// signature of a security key is refused.
func Parse(armored []byte) (*Signature, error) {
	if len(armored) > MaxSize {
		return nil, invalid("it has more than %d bytes", MaxSize)
	}
	blob, err := unarmor(armored)
	if err != nil {
		return nil, err
	}
	sig, err := sshsig.ParseSignature(blob)
	if err != nil {
		return nil, fault.Wrap(err, fault.InvalidAuth, "the signature does not parse")
	}
	key, err := keyOf(sig.PublicKey)
	if err != nil {
		return nil, fault.Wrap(err, fault.InvalidAuth, "the signature does not count")
	}
	if sig.Namespace == "" {
		return nil, invalid("it has no namespace")
	}
	// Only security keys add something, the flags and a counter (PROTOCOL.u2f), which
	// their signature covers.
	rest := sig.Signature.Rest
	if key.securityKey() {
		const userPresent, size = 0x01, 1 + 4
		if len(rest) != size {
			return nil, invalid("it holds no flags and counter of a security key")
		}
		if rest[0]&userPresent == 0 {
			return nil, invalid("the security key does not assert that a person was present")
		}
	} else if len(rest) != 0 {
		return nil, invalid("something follows it")
	}
	// The reserved field is not signed, and numbers could be written in longer ways.
	if !bytes.Equal(sig.Marshal(), blob) {
		return nil, invalid("its fields are not written in the one way that OpenSSH writes them")
	}
	return &Signature{Key: key, Namespace: sig.Namespace, sig: sig}, nil
}

// Verify reports, with invalid_auth, whether the key signed exactly this message in
// this namespace. Whether the key may is another question: ask [Signers.Allows]
// first, since that is a thousand times cheaper.
func (s *Signature) Verify(message []byte, namespace string) error {
	if s.Namespace != namespace {
		return fault.New(fault.InvalidAuth, "the signature is for the namespace %s, not %s", fault.Quote(s.Namespace), fault.Quote(namespace))
	}
	if err := sshsig.Verify(bytes.NewReader(message), s.sig, s.sig.PublicKey, s.sig.HashAlgorithm, namespace); err != nil {
		return fault.New(fault.InvalidAuth, "the signature of %s does not fit the message", s.Key.Fingerprint())
	}
	return nil
}

func invalid(format string, args ...any) *fault.Error {
	return fault.New(fault.InvalidAuth, "the signature does not count: "+format, args...)
}

func isBlank(r rune) bool { return r == ' ' || r == '\t' }

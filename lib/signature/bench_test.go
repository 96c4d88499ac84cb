package signature

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// samples are a signature of each type.
func samples(b *testing.B) map[string][]byte {
	all := map[string][]byte{}
	for _, name := range keyNames() {
		all[name] = keygenSign(b, keyFile(b, name), namespace, message)
	}
	all["sk-ed25519"] = newSecurityKey(b, ssh.KeyAlgoSKED25519).sign(b, namespace, message)
	all["sk-ecdsa"] = newSecurityKey(b, ssh.KeyAlgoSKECDSA256).sign(b, namespace, message)
	return all
}

func BenchmarkParse(b *testing.B) {
	for name, sig := range samples(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(sig); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	for name, sig := range samples(b) {
		s, err := Parse(sig)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Verify(message, namespace); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSign(b *testing.B) {
	for _, name := range keyNames() {
		p, err := find(b, keyFile(b, name), "")
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				mustSign(b, p, namespace, message)
			}
		})
	}
}

func BenchmarkAllowedSigners(b *testing.B) {
	key := public(b, keyFile(b, "ed25519"))
	var file strings.Builder
	for i := range 1000 {
		other := newSecurityKey(b, ssh.KeyAlgoSKED25519)
		fmt.Fprintf(&file, "p%d@example.com namespaces=\"kxm-human\" %s\n", i, other.authorized())
	}
	fmt.Fprintf(&file, "alice@example.com namespaces=\"kxm-*\",valid-after=\"20260101Z\" %s\n", key.Authorized())
	data := []byte(file.String())
	b.Run("parse1000", func(b *testing.B) {
		for b.Loop() {
			ParseAllowedSigners(data)
		}
	})
	signers, _ := ParseAllowedSigners(data)
	b.Run("allows", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, ok, why := signers.Allows(key, namespace, now); !ok {
				b.Fatal(why)
			}
		}
	})
}

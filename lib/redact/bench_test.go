package redact

import (
	"regexp"
	"strings"
	"testing"
)

// Ordinary sentences of 100 to 200 bytes; the last of the five holds words that
// rules look for, which is more than prose has.
var sentences = [5]string{
	"The packet builder keeps the current branch decision beside its reasons, and the reviewer reads both before the merge.",
	"Releases are cut from the main branch on Tuesdays; the changelog is written by whoever merged last, and reviewed by one more.",
	"Retries use a fixed limit of three with a growing pause, since the queue drops a worker that is silent for a minute.",
	"Run the formatter before the linter: the two disagree about long lines, and the build takes the word of the first of them.",
	"The API key is rotated monthly and the bearer token is read from the vault; a secret never reaches a log, and auth is checked first.",
}

func BenchmarkPlainText(b *testing.B) {
	n := 0
	for _, s := range sentences[:4] {
		n += len(s)
	}
	b.SetBytes(int64(n))
	for b.Loop() {
		for _, s := range sentences[:4] {
			Find(s)
		}
	}
}

func BenchmarkKeywordText(b *testing.B) {
	for b.Loop() {
		Find(sentences[4])
	}
}

func BenchmarkOneTextInFiveHoldsAKeyword(b *testing.B) {
	for b.Loop() {
		for _, s := range sentences {
			Find(s)
		}
	}
}

// What the same text costs where nothing but keywords decides which rules are tried.
func BenchmarkKeywordTextWithoutPrefilter(b *testing.B) {
	d := &detector{unfiltered: true}
	for b.Loop() {
		d.find(sentences[4])
	}
}

// A value that looks like a secret behind a name that asks for one, and is not.
func BenchmarkCandidate(b *testing.B) {
	const text = "The release of the API key: release-candidate-2026-09 is checked by the owner of the token, and by nobody else in the team."
	for b.Loop() {
		if Find(text) != nil {
			b.Fatal("found")
		}
	}
}

func BenchmarkSecret(b *testing.B) {
	text := "The build uses api_key = " + "Zf3D0LXCM3EIMbgJ" + "pUNnkRtOfOueHznB and nothing else, as the owner of the token says."
	for b.Loop() {
		if Find(text) == nil {
			b.Fatal("not found")
		}
	}
}

func BenchmarkLongText(b *testing.B) {
	text := strings.Repeat(strings.Join(sentences[:], "\n")+"\n", 2000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Find(text)
	}
}

func BenchmarkLoadKeywords(b *testing.B) {
	for b.Loop() {
		new(detector).loadKeywords()
	}
}

// The first use of the rule that prose meets most: its expressions and allowlists.
func BenchmarkCompileGenericRule(b *testing.B) {
	r := ruleAt(ruleNumber("generic-api-key"))
	b.Run("quick", func(b *testing.B) {
		for b.Loop() {
			regexp.MustCompile(r.quick)
		}
	})
	b.Run("own", func(b *testing.B) {
		for b.Loop() {
			regexp.MustCompile(r.regex)
		}
	})
	b.Run("wide", func(b *testing.B) {
		for b.Loop() {
			regexp.MustCompile(widen(r))
		}
	})
	b.Run("allowlists", func(b *testing.B) {
		for b.Loop() {
			for _, a := range append(r.allow, gitleaksAllow[:]...) {
				regexp.MustCompile(join(a.regexes))
				newWordSet(a.stopwords)
			}
		}
	})
}

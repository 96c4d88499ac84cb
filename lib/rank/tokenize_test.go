package rank

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"kxm/lib/kxmtest"
)

func TestTokenizeCases(t *testing.T) {
	type tokenCase struct {
		Text string
		Want []string
	}
	kxmtest.Cases(t, "tokens", func(t *testing.T, line int, c tokenCase) {
		if got := Tokenize(c.Text); !slices.Equal(got, c.Want) || got == nil {
			t.Errorf("line %d: %q gives %q, want %q", line, c.Text, got, c.Want)
		}
	})
}

func TestTokenizeAdditions(t *testing.T) {
	long := strings.Repeat("aB", 33)
	for _, c := range []struct{ name, text, want string }{
		// camelCase
		{"parts follow the whole", "the releaseBranch key", "releasebranch release branch key"},
		{"parts are folded and lose stopwords", "isClassesOf gitHubs", "isclassesof class github git hub"},
		{"abbreviation before a word", "HTTPServer parseJSONFile", "httpserver parsejsonfile parse json file"},
		{"plural abbreviations are one part", "URLs PRs CIs getURLsFast", "url prs cis geturlsfast get url fast"},
		{"digit before a capitalised word", "S3Bucket utf8Decoder SHA256Sum", "s3bucket utf8decoder utf8 decoder sha256sum"},
		{"digit before an abbreviation", "getV2API 10MBs", "getv2api get v2api 10mb"},
		{"no lower case, no parts", "A1B2C3 README X509 B2B", "a1b2c3 readme x509 b2b"},
		{"plain words have no parts", "Playwright CI Releases mAIN", "playwright ci release main ain"},
		{"parts under two are dropped", "iPhone pH", "iphone phone ph"},
		{"a stopword has no parts", "tHIS", ""},
		{"an overlong word has no parts", long, ""},
		{"beyond ASCII", "naïveÉtat ÜberKlassen", "naïveétat naïve état überklassen über klassen"},
		{"marks stay with their letter", "gx̂Yz", "gx̂yz gx̂ yz"},
		{"snake case is split by its underscores", "release_branch", "release branch"},

		// pairs
		{"pairs follow the whole", "日本語", "日本語 日本 本語"},
		{"a pair that is the whole comes once", "日本", "日本"},
		{"a single letter yields itself", "山 v山", "山 v山 山"},
		{"runs inside a word", "v2日本語x語", "v2日本語x語 日本 本語 語"},
		{"numbers end a run", "3月10日", "3月10日 月 日"},
		{"scripts join in one run", "日本のサーバー", "日本のサーバー 日本 本の のサ サー ーバ バー"},
		{"Hangul", "한국어", "한국어 한국 국어"},
		{"half width and decomposed letters", "ｻｰﾊﾞｰ", "サーバー サー ーバ バー"},
		{"Thai letters keep their marks", "ที่นี่คือ", "ที่นี่คือ ที่นี่ นี่คื คือ"},
		{"one letter with a mark is a token already", "ที่", "ที่"},
		{"a sentence over 64 still has pairs", strings.Repeat("大", 65), strings.TrimSpace(strings.Repeat("大大 ", 64))},
		{"Lao, Khmer, Myanmar", "ລາວ ខមរ မမမ", "ລາວ ລາ າວ ខមរ ខម មរ မမမ မမ မမ"},
		{"Greek and Cyrillic have no pairs", "Λόγος Слово", "λόγος слово"},

		// lower case
		{"final sigma", "ΟΔΟΣ ΟΔΟΣΑ Σ ΣΑΣ", "οδος οδοσα σας"},
		{"dotted capital i", "İstanbul", "i̇stanbul"},
		{"length is counted after lower case", strings.Repeat("İ", 32) + " " + strings.Repeat("İ", 33), strings.Repeat("i̇", 32)},
		{"length is counted in characters", strings.Repeat("é", 64) + " " + strings.Repeat("è", 65), strings.Repeat("é", 64)},
		{"folding may spell a stopword", "ands whys", "and why"},
		{"invalid UTF-8 separates", "main\xffbranch\xc3", "main branch"},
		{"a mark without a letter separates", "\u0301ab\u0301 \u0301cd", "ab́ cd"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(Tokenize(c.text), " "); got != c.want {
				t.Errorf("%q gives %q, want %q", c.text, got, c.want)
			}
		})
	}
}

// The words that plain English and its identifiers are made of, and what breaks
// tokenizers.
var pieces = []string{
	"release", "Branch", "the", "WITH", "policies", "classes", "bus", "x", "HTTP", "Server", "URLs", "2", "42", "v2", "s",
	" ", " ", "-", ".", "_", "'", "\n", "\x00", "\xff", "é", "e\u0301", "ﬁ", "①", "ß", "Σ", "İ", "日", "本", "ー", "ที่", "한", "🚀",
	"\u0301", "\u200b", "A", "B", "ies", strings.Repeat("q", 60), "\u0338", "ℵ", "ǅ",
}

func randomText(r *rand.Rand, from []string, n int) string {
	var text strings.Builder
	for range r.IntN(n) {
		text.WriteString(from[r.IntN(len(from))])
	}
	return text.String()
}

// asciiPieces are the pieces that leave a text ASCII.
func asciiPieces() []string {
	return slices.DeleteFunc(slices.Clone(pieces), func(s string) bool { return !isASCII(s) })
}

func TestASCIIPathGivesWhatTheUnicodePathGives(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	ascii := asciiPieces()
	for range 20_000 {
		text := randomText(r, ascii, 20)
		var fast, slow []string
		s := scanner{emit: func(term []byte) { fast = append(fast, string(term)) }}
		s.scanASCII(text)
		s.emit = func(term []byte) { slow = append(slow, string(term)) }
		for _, run := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
			// What run does with a word that is not ASCII.
			kept := s.word(run)
			if kept {
				s.camelParts(run)
			}
			s.pairs(run, kept)
		}
		if !slices.Equal(fast, slow) {
			t.Fatalf("%q gives %q in ASCII, %q in Unicode", text, fast, slow)
		}
	}
}

func checkTokens(t *testing.T, text string) {
	tokens := Tokenize(text)
	for _, token := range tokens {
		n := utf8.RuneCountInString(token)
		first, _ := utf8.DecodeRuneInString(token)
		if !utf8.ValidString(token) || n > maxToken || n < minToken && !isPaired(first) || unicode.IsMark(first) {
			t.Fatalf("%q gives the token %q", text, token)
		}
		// Only folding may spell a stopword; then what was folded stands in the text.
		if isStopword([]byte(token)) {
			lower := strings.ToLower(norm.NFKC.String(text))
			if !strings.Contains(lower, token+"s") && !strings.Contains(lower, strings.TrimSuffix(token, "y")+"ies") {
				t.Fatalf("%q gives the stopword %q", text, token)
			}
		}
	}
	if again := Tokenize(norm.NFKC.String(text)); !slices.Equal(tokens, again) {
		t.Fatalf("%q gives %q, normalised %q", text, tokens, again)
	}
	if joined := Tokenize(text + " " + text); !slices.Equal(joined, append(slices.Clone(tokens), tokens...)) {
		t.Fatalf("%q twice gives %q", text, joined)
	}
}

func TestTokensKeepTheirRules(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		checkTokens(t, randomText(r, pieces, 20))
	}
}

func FuzzTokenize(f *testing.F) {
	for _, text := range []string{"", "Which branch do we release from?", "HTTPServer URLs", "日本語のテスト", "ที่นี่คือ", "İΣ\xff\u0301"} {
		f.Add(text)
	}
	f.Fuzz(checkTokens)
}

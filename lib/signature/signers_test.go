package signature

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
)

var now = kxmtest.Now() // 2026-09-01T12:00:00Z

const nowText = "20260901120000Z"

// zones are POSIX time zones: 12 hours behind UTC, UTC and 14 hours ahead of it.
var zones = []string{"WEST12", "UTC", "EAST-14"}

// TestAllowedSignersTable asks ssh-keygen about each line in each zone. In a line,
// KEY is the key that signed.
func TestAllowedSignersTable(t *testing.T) {
	path := keyFile(t, "ed25519")
	sig := keygenSign(t, path, namespace, message)
	s, err := Parse(sig)
	if err != nil {
		t.Fatal(err)
	}
	key := s.Key.Authorized()
	kind, digits, _ := strings.Cut(key, " ")
	other := public(t, keyFile(t, "ecdsa256")).Authorized()
	rsa := public(t, keyFile(t, "rsa2048")).Authorized()
	short := read(t, makeKey(t, "rsa1024", "", "-t", "rsa", "-b", "1024")+".pub")

	const yes, no, differ = "yyy", "nnn", "" // ssh-keygen's answer in each zone; "": versions differ
	type row struct {
		name, file string
		ours       bool
		theirs     string
		reason     string // in a problem; "": none is expected
	}
	ns := `namespaces="kxm-human"`
	rows := []row{
		{"a plain line", `alice ` + ns + ` KEY`, true, yes, ""},
		{"with comment", `alice ` + ns + ` KEY alice's key # x`, true, yes, ""},
		{"with blanks", " \t alice \t " + ns + " \t " + kind + " \t " + digits + "  ", true, yes, ""},
		{"CRLF", "# x\r\n\r\nalice " + ns + " KEY\r\n", true, yes, ""},
		{"CRLF and comment", "alice " + ns + " KEY x\r\n", true, yes, ""},
		{"no last line end", "\n\nalice " + ns + " KEY", true, yes, ""},
		{"a comment", `#alice ` + ns + ` KEY`, false, no, ""},
		{"an indented comment", ` 	# alice ` + ns + ` KEY`, false, no, ""},
		{"nothing", ``, false, no, ""},

		{"no namespaces", `alice KEY`, false, yes, "it has no namespaces"},
		{"no namespaces, other options", `alice valid-after="20200101Z" KEY`, false, yes, "it has no namespaces"},
		{"empty namespaces", `alice namespaces="" KEY`, false, no, "name none"},
		{"namespaces that only exclude", `alice namespaces="!git" KEY`, false, no, "name none"},
		{"other namespace", `alice namespaces="git" KEY`, false, no, ""},
		{"prefix of a namespace", `alice namespaces="kxm" KEY`, false, no, ""},
		{"namespace in another case", `alice namespaces="KXM-human" KEY`, false, no, ""},
		{"a list", `alice namespaces="git,kxm-human,x" KEY`, true, yes, ""},
		{"a list with blanks", `alice namespaces="git, kxm-human" KEY`, false, no, ""},
		{"a list with empty members", `alice namespaces=",,kxm-human," KEY`, true, yes, ""},
		{"star", `alice namespaces="*" KEY`, true, yes, ""},
		{"star at the end", `alice namespaces="kxm-*" KEY`, true, yes, ""},
		{"stars", `alice namespaces="k*-*m*n" KEY`, true, yes, ""},
		{"question mark", `alice namespaces="kxm?huma?" KEY`, true, yes, ""},
		{"question mark too many", `alice namespaces="kxm-human?" KEY`, false, no, ""},
		{"exclusion after", `alice namespaces="kxm-*,!kxm-human" KEY`, false, no, ""},
		{"exclusion before", `alice namespaces="!kxm-human,*" KEY`, false, no, ""},
		{"exclusion pattern", `alice namespaces="*,!*hum*" KEY`, false, no, ""},
		{"exclusion of another", `alice namespaces="!kxm-workflow,*" KEY`, true, yes, ""},
		{"no class of characters", `alice namespaces="kxm-[a-z]uman" KEY`, false, no, ""},
		{"an escaped quote", `alice namespaces="a\"b,kxm-human" KEY`, true, yes, ""},
		{"a comma in quotes", `alice namespaces="a\",kxm-human" KEY`, true, yes, ""},
		{"a backslash", `alice namespaces="a\b,kxm-human" KEY`, true, yes, ""},
		{"the longest pattern", `alice namespaces="` + strings.Repeat("*", 1022) + `" KEY`, true, yes, ""},
		{"a longer pattern", `alice namespaces="kxm-human,` + strings.Repeat("*", 1023) + `" KEY`, false, no, "longer than 1022"},

		{"option in another case", `alice NameSpaces="kxm-human" KEY`, true, yes, ""},
		{"options in another case", `alice VALID-AFTER="20260101Z",NAMESPACES="kxm-human",Valid-Before="20270101Z" KEY`, true, yes, ""},
		{"option that folds to ours", "alice name\u017fpaces=\"kxm-human\" KEY", false, no, "unknown"},
		{"not quoted", `alice namespaces=kxm-human KEY`, false, no, "double quotes"},
		{"single quotes", `alice namespaces='kxm-human' KEY`, false, no, "double quotes"},
		{"no value", `alice namespaces KEY`, false, no, "double quotes"},
		{"blank before =", `alice namespaces ="kxm-human" KEY`, false, no, "not base64"},
		{"not closed", `alice namespaces="kxm-human KEY`, false, no, "not closed"},
		{"not opened", `alice namespaces=kxm-human" KEY`, false, no, "not closed"},
		{"twice", `alice ` + ns + `,` + ns + ` KEY`, false, no, "twice"},
		{"a list in two fields", `alice ` + ns + ` valid-after="20200101Z" KEY`, false, no, "not base64"},
		{"unknown option", `alice ` + ns + `,verify-required KEY`, false, no, "unknown"},
		{"unknown option first", `alice no-touch-required,` + ns + ` KEY`, false, no, "unknown"},
		{"unknown option with value", `alice ` + ns + `,from="10.0.0.0/8" KEY`, false, no, "unknown"},
		{"something behind the quotes", `alice namespaces="kxm-human"x KEY`, false, no, "no comma"},
		{"comma at the end", `alice ` + ns + `, KEY`, false, no, "no comma"},
		{"empty option", `alice ,` + ns + ` KEY`, false, yes, "unknown"},
		{"empty option within", `alice ` + ns + `,,valid-after="20200101Z" KEY`, false, yes, "unknown"},

		{"cert-authority", `alice cert-authority,` + ns + ` KEY`, false, no, "cert-authority"},
		{"cert-authority in another case", `alice ` + ns + `,Cert-Authority KEY`, false, no, "cert-authority"},

		{"valid", `alice ` + ns + `,valid-after="20260101Z",valid-before="20270101Z" KEY`, true, yes, ""},
		{"valid from this second", `alice ` + ns + `,valid-after="20260901120000Z" KEY`, true, yes, ""},
		{"valid from the next second", `alice ` + ns + `,valid-after="20260901120001Z" KEY`, false, no, ""},
		{"valid to this second", `alice ` + ns + `,valid-before="20260901120000Z" KEY`, true, yes, ""},
		{"valid to the second before", `alice ` + ns + `,valid-before="20260901115959Z" KEY`, false, no, ""},
		{"to the minute", `alice ` + ns + `,valid-after="202609011200Z" KEY`, true, yes, ""},
		{"to the next minute", `alice ` + ns + `,valid-after="202609011201Z" KEY`, false, no, ""},
		{"of the day", `alice ` + ns + `,valid-after="20260901Z",valid-before="20260902Z" KEY`, true, yes, ""},
		{"from tomorrow", `alice ` + ns + `,valid-after="20260902Z" KEY`, false, no, ""},
		{"until the day's first second", `alice ` + ns + `,valid-before="20260901Z" KEY`, false, no, ""},
		{"leap day", `alice ` + ns + `,valid-after="20240229Z" KEY`, true, yes, ""},
		{"from noon of the reader", `alice ` + ns + `,valid-after="20260901120000" KEY`, false, "nyy", "no Z"},
		{"from noon and 14 hours", `alice ` + ns + `,valid-after="202609020200" KEY`, false, "nny", "no Z"},
		{"until noon of the reader", `alice ` + ns + `,valid-before="202609011200" KEY`, false, "yyn", "no Z"},
		{"until midnight of the reader", `alice ` + ns + `,valid-before="20260901" KEY`, false, "ynn", "no Z"},
		{"an old day of the reader", `alice ` + ns + `,valid-after="20200101" KEY`, false, yes, "no Z"},
		{"a small z", `alice ` + ns + `,valid-after="20200101z" KEY`, false, yes, "no Z"},
		{"an offset", `alice ` + ns + `,valid-after="20200101+00" KEY`, false, no, "no Z"},
		{"RFC 3339", `alice ` + ns + `,valid-after="2020-01-01T00:00:00Z" KEY`, false, no, "is not YYYYMMDD"},
		{"only a Z", `alice ` + ns + `,valid-after="Z" KEY`, false, no, "is not YYYYMMDD"},
		{"a year", `alice ` + ns + `,valid-after="2020Z" KEY`, false, no, "is not YYYYMMDD"},
		{"nine digits", `alice ` + ns + `,valid-after="202001011Z" KEY`, false, no, "is not YYYYMMDD"},
		{"no digits", `alice ` + ns + `,valid-after="2020o1o1Z" KEY`, false, no, "is not YYYYMMDD"},
		{"month 13", `alice ` + ns + `,valid-after="20201301Z" KEY`, false, no, "is no time"},
		{"30 February", `alice ` + ns + `,valid-after="20200230Z" KEY`, false, yes, "is no time"},
		{"a 25th hour", `alice ` + ns + `,valid-after="202001012500Z" KEY`, false, no, "is no time"},
		{"a leap second", `alice ` + ns + `,valid-after="20161231235960Z" KEY`, false, yes, "is no time"},
		{"1970", `alice ` + ns + `,valid-after="19700101Z" KEY`, false, no, "is no time"},
		{"before 1970, which newer ssh-keygen take for never", `alice ` + ns + `,valid-before="19690101Z" KEY`, false, differ, "is no time"},
		{"not quoted time", `alice ` + ns + `,valid-after=20200101Z KEY`, false, no, "double quotes"},
		{"bounds the wrong way round", `alice ` + ns + `,valid-after="20270101Z",valid-before="20260101Z" KEY`, false, no, "is not after"},
		{"equal bounds", `alice ` + ns + `,valid-after="20260901120000Z",valid-before="20260901120000Z" KEY`, false, no, "is not after"},
		{"valid-after twice", `alice ` + ns + `,valid-after="20200101Z",valid-after="20200102Z" KEY`, false, no, "twice"},

		{"several names", `alice,al@example.com,ally ` + ns + ` KEY`, true, yes, ""},
		{"alice is not first", `bob,alice ` + ns + ` KEY`, true, yes, ""},
		{"quoted name", `"alice" ` + ns + ` KEY`, true, yes, ""},
		{"quoted names", `"Alice A. Smith,alice" ` + ns + ` KEY`, true, yes, ""},
		{"quotes inside", `ali"ce" ` + ns + ` KEY`, false, yes, "a quote is inside"},
		{"quotes not closed", `"alice ` + ns[:10] + ` KEY`, false, no, "not closed"},
		{"no blank behind the quotes", `"alice"` + ns + ` KEY`, false, yes, "no blank"},
		{"star for a name", `* ` + ns + ` KEY`, false, yes, "pattern"},
		{"pattern of names", `*@example.com,ali?e ` + ns + ` KEY`, false, yes, "pattern"},
		{"pattern beside a name", `alice,*@example.com ` + ns + ` KEY`, false, yes, "pattern"},
		{"exclusion beside a name", `alice,!bob ` + ns + ` KEY`, false, yes, "pattern"},
		{"excluded name", `alice,!alice ` + ns + ` KEY`, false, no, "pattern"},
		{"empty name", `alice,,bob ` + ns + ` KEY`, false, yes, "empty"},
		{"no name", `"" ` + ns + ` KEY`, false, no, "empty"},
		{"an exclamation mark inside", `ali!ce,alice ` + ns + ` KEY`, true, yes, ""},
		{"BOM", "\ufeffalice " + ns + ` KEY`, false, no, "cannot be seen"},
		{"a name with a hidden letter", "alice,al\u200bice " + ns + ` KEY`, false, yes, "cannot be seen"},
		{"not UTF-8", "alice,\xff " + ns + ` KEY`, false, yes, "cannot be seen"},
		{"a name that is too long", "alice," + strings.Repeat("x", 1023) + " " + ns + ` KEY`, false, no, "longer than 1022"},

		{"control character", "alice " + ns + " KEY \x1b[1m", false, yes, "control character"},
		{"NUL", "alice " + ns + " KEY \x00", false, yes, "control character"},
		{"CR for the line end", "#x\ralice " + ns + " KEY", false, no, ""},
		{"CR for a blank", "alice\r" + ns + " KEY", false, yes, "control character"},

		{"no key", `alice ` + ns, false, no, "no key"},
		{"only a name", `alice`, false, no, "no key"},
		{"only a type", `alice ` + ns + ` ` + kind, false, no, "no key"},
		{"no type", `alice ` + ns + ` ` + digits, false, no, "no key"},
		{"another type", `alice ` + ns + ` ssh-rsa ` + digits, false, no, "type"},
		{"unknown type", `alice ` + ns + ` ssh-ed448 ` + digits, false, no, "type"},
		{"no options and broken base64", `alice ` + kind + ` !` + digits, false, no, "not base64"},
		{"broken base64", `alice ` + ns + ` ` + key[:len(key)-3], false, no, "base64"},
		{"key cut short", `alice ` + ns + ` ` + kind + ` ` + digits[:len(digits)-4], false, no, "does not decode"},
		{"blank in the key", `alice ` + ns + ` ` + kind + ` ` + digits[:20] + " " + digits[20:], false, no, "does not decode"},
		{"another's key", `alice ` + ns + ` ` + other, false, no, ""},
		{"another's key, RSA", `alice ` + ns + ` ` + rsa, false, no, ""},
		{"short RSA key", `alice ` + ns + ` ` + strings.TrimSpace(short), false, no, "2,048"},
		{"PEM", "alice -----BEGIN PUBLIC KEY-----", false, no, "not base64"},

		{"several keys", `alice ` + ns + ` ` + other + "\nalice " + ns + " KEY\n", true, yes, ""},
		{"two lines of one key, the second fits", "alice namespaces=\"git\" KEY\nalice " + ns + " KEY\n", true, yes, ""},
		{"two lines of one key, the first fits", "alice " + ns + " KEY\nalice namespaces=\"git\" KEY\n", true, yes, ""},
		{"expired and renewed", "alice " + ns + ",valid-before=\"20250101Z\" KEY\nalice " + ns + ",valid-after=\"20250101Z\" KEY\n", true, yes, ""},
		{"no line fits", "alice namespaces=\"git\" KEY\nalice " + ns + ",valid-before=\"20250101Z\" KEY\n", false, no, ""},
		{"broken lines around", "alice\nalice x KEY\nalice namespaces=\" KEY\nalice " + ns + " KEY\nbob " + ns + " ssh-rsa AAAA\n", true, yes, "any"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			file := strings.ReplaceAll(r.file, "KEY", key)
			signers, problems := ParseAllowedSigners([]byte(file))
			principal, ok, why := signers.Allows(s.Key, namespace, now)
			if ok != r.ours || ok == (why != "") || ok == (principal == "") {
				t.Errorf("ours: %v %q %q, want %v", ok, principal, why, r.ours)
			}
			if ok && !slices.Contains(signers.Lines()[0].Principals, "alice") {
				t.Errorf("the line is not alice's: %+v", signers.Lines())
			}
			if r.reason != "any" {
				if (len(problems) > 0) != (r.reason != "") || len(problems) > 1 {
					t.Errorf("problems %+v, want %q", problems, r.reason)
				}
				for _, p := range problems {
					if p.Line != 1 || !strings.Contains(p.Reason, r.reason) {
						t.Errorf("problem %+v, want %q in line 1", p, r.reason)
					}
				}
			}
			for i, tz := range zones {
				q := question{file, "alice", namespace, sig, message, nowText, tz}
				theirs, out := keygenAccepts(t, q)
				if r.theirs != differ && theirs != (r.theirs[i] == 'y') {
					t.Errorf("ssh-keygen in %s: %v, want %s\n%s", tz, theirs, r.theirs, out)
				}
				if ok && !theirs {
					t.Errorf("granted here, but not by ssh-keygen in %s", tz)
				}
			}
		})
	}
}

// TestNothingIsGrantedThatOpenSSHDoesNot makes files of random pieces and asks
// ssh-keygen about every line that grants something here. Files of plain pieces, in
// which there is no difference, must agree both ways.
func TestNothingIsGrantedThatOpenSSHDoesNot(t *testing.T) {
	path := keyFile(t, "ed25519")
	sig := keygenSign(t, path, namespace, message)
	key := public(t, path)
	other := public(t, keyFile(t, "ecdsa256")).Authorized()
	names := []string{"alice", "bob", "alice,bob", "bob,alice", `"alice"`, `"bob,alice"`}
	oddNames := []string{`"alice,*"`, "ali*", "alice,!bob", "", "al\"i\"ce", ",alice", "Alice"}
	options := []string{
		`namespaces="kxm-human"`, `namespaces="kxm-*"`, `namespaces="git,kxm-*"`, `namespaces="*,!git"`, `namespaces="*,!kxm-h*"`, `NAMESPACES="???-human"`, `namespaces="git"`,
		`valid-after="20260901120000Z"`, `valid-after="20260902Z"`, `valid-before="202609011200Z"`, `valid-before="20250101Z"`, `Valid-After="20200101Z"`, `unknown`, `unknown="x"`,
	}
	oddOptions := []string{`cert-authority`, ``, `valid-after="20200101"`, `valid-before="20300101"`, `valid-before="19000101Z"`, `namespaces=kxm-human`, `namespaces="kxm-human`, `valid-after="20200132Z"`, `namespaces="kxm-human"x`, `namespaces="a\"b,*"`, `namespaces="\"`}
	blanks := []string{" ", "  ", "\t", " \t"}
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(lists ...[]string) string {
		all := slices.Concat(lists...)
		return all[random.IntN(len(all))]
	}
	granted, refused := 0, 0
	for round := range 200 {
		plain := round%2 == 0
		var file strings.Builder
		for range 1 + random.IntN(3) {
			if plain {
				line := pick(names) + pick(blanks) + `namespaces=` + pick([]string{`"kxm-human"`, `"*"`, `"git"`, `"*,!kxm-human"`, `"x,k*n"`})
				for range random.IntN(2) {
					line += "," + pick(options[7:])
				}
				file.WriteString(line + pick(blanks) + pick([]string{key.Authorized(), key.Authorized(), other}) + pick([]string{"\n", "\r\n", " comment\n"}))
				continue
			}
			line := pick(names, oddNames) + pick(blanks) + pick(options[:7], oddOptions)
			for range random.IntN(3) {
				line += pick([]string{",", ",", ",", " ", ""}) + pick(options, oddOptions)
			}
			line += pick(blanks) + pick([]string{key.Authorized(), key.Authorized(), key.Authorized(), other})
			if random.IntN(8) == 0 { // a typing error
				i := random.IntN(len(line))
				line = line[:i] + pick([]string{"", `"`, ",", " ", "=", `\`, "\r"}) + line[i+random.IntN(2):]
			}
			file.WriteString(line + pick([]string{"\n", "\r\n"}))
		}
		tz := zones[random.IntN(len(zones))]
		text := file.String()
		signers, _ := ParseAllowedSigners([]byte(text))
		for _, name := range []string{"alice", "bob"} {
			ours := slices.ContainsFunc(signers.Lines(), func(l Signer) bool {
				return l.Key == key && slices.Contains(l.Principals, name) && l.refuses(namespace, now) == ""
			})
			theirs, out := keygenAccepts(t, question{text, name, namespace, sig, message, nowText, tz})
			if ours && !theirs || plain && ours != theirs {
				t.Fatalf("%s: ours %v, ssh-keygen in %s %v\n%s\n%s", name, ours, tz, theirs, text, out)
			}
			if ours {
				granted++
			} else {
				refused++
			}
		}
	}
	if granted < 50 || refused < 50 {
		t.Errorf("%d granted, %d refused: the pieces prove little", granted, refused)
	}
}

func TestAllowsSaysWhoAndWhy(t *testing.T) {
	a, b := public(t, keyFile(t, "ed25519")), public(t, keyFile(t, "ecdsa256"))
	file := fmt.Sprintf(`# operators
"Alice A.,alice" namespaces="kxm-human",valid-before="20250101Z" %[1]s
bob namespaces="git" %[1]s
carol %[1]s
alice@new namespaces="kxm-human",valid-after="20260901Z" %[1]s
second namespaces="kxm-*" %[1]s
`, a.Authorized())
	signers, problems := ParseAllowedSigners([]byte(file))
	if len(problems) != 1 || problems[0] != (LineProblem{4, "it has no namespaces"}) {
		t.Errorf("%+v", problems)
	}
	var numbers []int
	for _, l := range signers.Lines() {
		numbers = append(numbers, l.Line)
	}
	if !slices.Equal(numbers, []int{2, 3, 5, 6}) || signers.Len() != 4 {
		t.Errorf("lines %v", numbers)
	}
	day := func(s string) time.Time {
		d, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, c := range []struct{ namespace, at, who string }{
		{"kxm-human", "2024-12-31T23:59:59Z", "Alice A."},
		{"kxm-human", "2025-01-01T00:00:00.999Z", "Alice A."}, // the second counts, as for OpenSSH
		{"kxm-human", "2025-01-01T00:00:01Z", "second"},
		{"kxm-human", "2026-08-31T23:59:59.999Z", "second"},
		{"kxm-human", "2026-09-01T00:00:00Z", "alice@new"},
		{"kxm-human", "2026-09-01T02:00:00+02:00", "alice@new"},
		{"kxm-workflow", "2026-09-01T00:00:00Z", "second"},
		{"git", "2026-09-01T00:00:00Z", "bob"},
	} {
		if who, ok, why := signers.Allows(a, c.namespace, day(c.at)); who != c.who || !ok || why != "" {
			t.Errorf("%+v: %q %v %q", c, who, ok, why)
		}
	}
	if _, ok, why := signers.Allows(b, "kxm-human", now); ok || why != "no line is for "+b.Fingerprint() {
		t.Error(why)
	}
	signers, _ = ParseAllowedSigners([]byte(strings.Join(strings.Split(file, "\n")[:5], "\n")))
	want := `line 2 was valid only before 2025-01-01T00:00:00Z; line 3 does not allow the namespace "kxm-human"; line 5 is valid only after 2026-09-01T00:00:00Z; line 4 grants nothing: it has no namespaces`
	if _, ok, why := signers.Allows(a, "kxm-human", day("2026-01-01T00:00:00Z")); ok || why != want {
		t.Error(why)
	}
	if _, ok, why := (Signers{}).Allows(a, "kxm-human", now); ok || why == "" || (Signers{}).Len() != 0 {
		t.Error("the zero Signers allows")
	}
}

func TestPersons(t *testing.T) {
	var keys []Key
	for _, name := range keyNames() {
		keys = append(keys, public(t, keyFile(t, name)))
	}
	line := func(names string, k int) string {
		return names + ` namespaces="kxm-human" ` + keys[k].Authorized() + "\n"
	}
	// al and ally are connected by the third line only, bob and rob by their key.
	file := line("alice,al", 0) + line("ally", 1) + line("al,ally", 2) + line("bob", 3) + line("rob", 3) + line("Alice", 4) +
		`alice,bob ` + keys[5].Authorized() + "\n" // grants nothing, so it connects nothing
	signers, _ := ParseAllowedSigners([]byte(file))
	same := func(a, b Person) {
		t.Helper()
		if a != b || a == 0 {
			t.Errorf("%d and %d are two", a, b)
		}
	}
	same(signers.PersonNamed("alice"), signers.PersonNamed("ally"))
	same(signers.PersonNamed("al"), signers.PersonOf(keys[1]))
	same(signers.PersonOf(keys[0]), signers.PersonOf(keys[2]))
	same(signers.PersonNamed("bob"), signers.PersonNamed("rob"))
	same(signers.PersonNamed("bob"), signers.PersonOf(keys[3]))
	same(signers.PersonNamed("Alice"), signers.PersonOf(keys[4]))
	three := []Person{signers.PersonNamed("alice"), signers.PersonNamed("bob"), signers.PersonNamed("Alice")}
	slices.Sort(three)
	if len(slices.Compact(three)) != 3 {
		t.Errorf("%v are not three", three)
	}
	if signers.PersonNamed("nobody") != 0 || signers.PersonOf(keys[5]) != 0 || signers.PersonOf(Key{}) != 0 || (Signers{}).PersonNamed("alice") != 0 {
		t.Error("somebody where nobody is")
	}
}

// slowMatch is the definition of a pattern.
func slowMatch(pattern, s string) bool {
	switch {
	case pattern == "":
		return s == ""
	case pattern[0] == '*':
		return slowMatch(pattern[1:], s) || s != "" && slowMatch(pattern, s[1:])
	case s == "":
		return false
	}
	return (pattern[0] == '?' || pattern[0] == s[0]) && slowMatch(pattern[1:], s[1:])
}

func TestMatch(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	word := func(alphabet string, n int) string {
		b := make([]byte, random.IntN(n))
		for i := range b {
			b[i] = alphabet[random.IntN(len(alphabet))]
		}
		return string(b)
	}
	matched := 0
	for range 20_000 {
		pattern, s := word("ab*?", 8), word("ab", 9)
		got := match(pattern, s)
		if got != slowMatch(pattern, s) {
			t.Fatalf("match(%q, %q) = %v", pattern, s, got)
		}
		if got {
			matched++
		}
	}
	if matched < 1000 {
		t.Errorf("only %d matches", matched)
	}
	// A pattern that costs exponential time in OpenSSH's way of going back.
	if match(strings.Repeat("*a", 500)+"b", strings.Repeat("a", 5000)) {
		t.Error("matches")
	}
	for _, p := range []string{"*?", "?"} {
		if match(p, "") || !match(p, fault.Quote("")[:1]) {
			t.Errorf("%s", p)
		}
	}
}

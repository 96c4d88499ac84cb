package textdiff

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kxm/lib/kxmtest"
)

func TestUnified(t *testing.T) {
	const ten = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	for _, c := range []struct {
		name, from, to string
		context        int
		want           string
	}{
		{"equal", "a\n", "a\n", 3, ""},
		{"both empty", "", "", 3, ""},
		{"to empty", "a\nb\n", "", 3, "@@ -1,2 +0,0 @@\n-a\n-b\n"},
		{"from empty", "", "a\n", 3, "@@ -0,0 +1 @@\n+a\n"},
		{"deletion before insertion", "a\nb\nc\n", "a\nB\nc\n", 3, "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
		{"final line feed added", "a", "a\n", 3, "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{"final line feed removed", "a\nb\n", "a\nb", 3, "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n"},
		{"no final line feed in context", "a\nb", "A\nb", 3, "@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n"},
		{"carriage returns", "a\r\nb\r\n", "a\r\nb\n", 3, "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+b\n"},
		{"not UTF-8", "\xff\n", "\xfe\n", 3, "@@ -1 +1 @@\n-\xff\n+\xfe\n"},
		{"context is cut", ten, strings.Replace(ten, "5\n", "five\n", 1), 2, "@@ -3,5 +3,5 @@\n 3\n 4\n-5\n+five\n 6\n 7\n"},
		{"touching hunks are one", ten, strings.NewReplacer("2\n", "two\n", "7\n", "seven\n").Replace(ten), 2,
			"@@ -1,9 +1,9 @@\n 1\n-2\n+two\n 3\n 4\n 5\n 6\n-7\n+seven\n 8\n 9\n"},
		{"hunks apart are two", ten, strings.NewReplacer("2\n", "two\n", "8\n", "eight\n").Replace(ten), 2,
			"@@ -1,4 +1,4 @@\n 1\n-2\n+two\n 3\n 4\n@@ -6,5 +6,5 @@\n 6\n 7\n-8\n+eight\n 9\n 10\n"},
		{"no context", "a\nb\nc\n", "a\nc\nd\n", 0, "@@ -2 +1,0 @@\n-b\n@@ -3,0 +3 @@\n+d\n"},
		{"negative context is none", "a\nb\n", "a\n", -4, "@@ -2 +1,0 @@\n-b\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.want
			if want != "" {
				want = "--- a/f\n+++ b/f\n" + want
			}
			if got := string(Unified("a/f", "b/f", []byte(c.from), []byte(c.to), c.context)); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

// randomText returns lines of a small alphabet, so that many repeat.
func randomText(r *rand.Rand) []byte {
	alphabet := []string{"", "a", "b", "c", "}", "\t", "-x", "+x", " x", "@@ -1 +1 @@", "--- a", "\\ No newline", "é", "\xff\xfe", "\r", "x\r", "d\re"}
	alphabet = alphabet[:1+r.IntN(len(alphabet))]
	var text []byte
	for range r.IntN(40) {
		text = append(text, alphabet[r.IntN(len(alphabet))]...)
		text = append(text, '\n')
	}
	if len(text) > 0 && r.IntN(4) == 0 {
		text = text[:len(text)-1]
	}
	return text
}

// edited returns the text with some lines changed.
func edited(r *rand.Rand, text []byte) []byte {
	var out []byte
	for line := range bytes.Lines(text) {
		switch r.IntN(12) {
		case 0:
		case 1:
			out = append(append(out, line...), line...)
		case 2:
			out = append(append(out, "new\n"...), line...)
		default:
			out = append(out, line...)
		}
	}
	return out
}

func randomPair(r *rand.Rand) (from, to []byte) {
	from = randomText(r)
	if r.IntN(4) == 0 {
		return from, randomText(r)
	}
	return from, edited(r, from)
}

// apply applies a patch by the letter: every hunk at the line that it names, every
// count right, no line left over.
func apply(from, patch []byte) ([]byte, error) {
	if len(patch) == 0 {
		return from, nil
	}
	source, lines := splitLines(from), splitLines(patch)
	if len(lines) < 3 || !strings.HasPrefix(lines[0], "--- ") || !strings.HasPrefix(lines[1], "+++ ") {
		return nil, fmt.Errorf("no header")
	}
	lines = lines[2:]
	var out []string
	at := 0 // lines of source used
	for len(lines) > 0 {
		var ranges [2][2]int
		head := strings.Fields(lines[0])
		if len(head) != 4 || head[0] != "@@" || head[3] != "@@" {
			return nil, fmt.Errorf("no hunk: %q", lines[0])
		}
		for side, mark := range []string{"-", "+"} {
			text, ok := strings.CutPrefix(head[1+side], mark)
			start, count, counted := strings.Cut(text, ",")
			if !counted {
				count = "1"
			}
			var err [2]error
			ranges[side][0], err[0] = strconv.Atoi(start)
			ranges[side][1], err[1] = strconv.Atoi(count)
			if !ok || err[0] != nil || err[1] != nil || counted && count == "1" {
				return nil, fmt.Errorf("bad range %q", head[1+side])
			}
			if ranges[side][1] > 0 {
				ranges[side][0]-- // to the line before, as an empty range has it
			}
		}
		lines = lines[1:]
		old, fresh := ranges[0], ranges[1]
		if old[0] < at || old[0] > len(source) {
			return nil, fmt.Errorf("hunk at line %d, used are %d of %d", old[0], at, len(source))
		}
		out = append(out, source[at:old[0]]...)
		at = old[0]
		if len(out) != fresh[0] {
			return nil, fmt.Errorf("hunk goes to line %d, there are %d", fresh[0], len(out))
		}
		inserted := false
		for old[1] > 0 || fresh[1] > 0 {
			if len(lines) == 0 {
				return nil, fmt.Errorf("hunk ends early")
			}
			mark, text := lines[0][0], lines[0][1:]
			lines = lines[1:]
			if len(lines) > 0 && lines[0] == "\\ No newline at end of file\n" {
				text, lines = strings.TrimSuffix(text, "\n"), lines[1:]
			}
			if mark != '+' {
				if at >= len(source) || source[at] != text {
					return nil, fmt.Errorf("line %d is not %q", at+1, text)
				}
				at++
				old[1]--
			}
			if mark != '-' {
				out = append(out, text)
				fresh[1]--
			}
			if mark == '-' && inserted {
				return nil, fmt.Errorf("deletion after insertion at line %d", at)
			}
			inserted = mark == '+'
		}
	}
	return []byte(strings.Join(append(out, source[at:]...), "")), nil
}

func checkApplies(t *testing.T, from, to []byte, context int) {
	patch := Unified("a", "b", from, to, context)
	if (len(patch) == 0) != bytes.Equal(from, to) {
		t.Fatalf("from %q to %q: patch %q", from, to, patch)
	}
	got, err := apply(from, patch)
	if err != nil || !bytes.Equal(got, to) {
		t.Fatalf("from %q to %q: patch\n%s\ngives %q, %v", from, to, patch, got, err)
	}
	if again := Unified("a", "b", from, to, context); !bytes.Equal(patch, again) {
		t.Fatalf("from %q to %q: two patches differ", from, to)
	}
}

func TestPatchesApplyByTheLetter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 5000 {
		from, to := randomPair(r)
		checkApplies(t, from, to, i%5)
	}
}

func FuzzUnified(f *testing.F) {
	f.Add([]byte("a\nb\nc"), []byte("a\nc\n"), 3)
	f.Add([]byte(""), []byte("\r\n\x00"), 0)
	f.Add([]byte("x\nx\ny\nx\n"), []byte("x\ny\nx\nx\n"), 1)
	f.Fuzz(func(t *testing.T, from, to []byte, context int) {
		checkApplies(t, from, to, context%10)
	})
}

// TestPatchesAreSmallest compares with the longest common subsequence.
func TestPatchesAreSmallest(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		from, to := randomPair(r)
		a, b := splitLines(from), splitLines(to)
		longest := make([][]int, len(a)+1)
		longest[0] = make([]int, len(b)+1)
		for i := range a {
			longest[i+1] = make([]int, len(b)+1)
			for j := range b {
				longest[i+1][j+1] = max(longest[i][j+1], longest[i+1][j])
				if a[i] == b[j] {
					longest[i+1][j+1] = longest[i][j] + 1
				}
			}
		}
		changed := 0
		for _, c := range compare(a, b) {
			changed += c.fromEnd - c.fromStart + c.toEnd - c.toStart
		}
		if want := len(a) + len(b) - 2*longest[len(a)][len(b)]; changed != want {
			t.Fatalf("from %q to %q: %d lines changed, %d would do", from, to, changed, want)
		}
	}
}

// gitApplies applies a patch of many files with Git. Each pair has a file of its own.
func gitApplies(t *testing.T, names []string, pairs [][2][]byte, context int) {
	t.Helper()
	dir := t.TempDir()
	var patch bytes.Buffer
	for i, name := range names {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, pairs[i][0], 0o644); err != nil {
			t.Fatal(err)
		}
		if diff := Unified("a/"+name, "b/"+name, pairs[i][0], pairs[i][1], context); len(diff) > 0 {
			// Without this line Git takes a file that becomes empty for one that goes.
			fmt.Fprintf(&patch, "diff --git %s %s\n", strings.TrimSuffix(headerName("a/"+name), "\t"), strings.TrimSuffix(headerName("b/"+name), "\t"))
			patch.Write(diff)
		}
	}
	args := []string{"apply", "--whitespace=nowarn"}
	if context == 0 {
		args = append(args, "--unidiff-zero")
	}
	kxmtest.GitInput(t, dir, patch.Bytes(), append(args, "--check")...)
	kxmtest.GitInput(t, dir, patch.Bytes(), args...)
	for i, name := range names {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, pairs[i][1]) {
			t.Errorf("context %d: from %q to %q: Git makes %q", context, pairs[i][0], pairs[i][1], got)
		}
	}
}

func TestGitAppliesPatches(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for context := range 5 {
		var names []string
		var pairs [][2][]byte
		for i := range 300 {
			from, to := randomPair(r)
			names, pairs = append(names, fmt.Sprintf("f%d", i)), append(pairs, [2][]byte{from, to})
		}
		gitApplies(t, names, pairs, context)
	}
}

func TestGitAppliesPatchesOfOddNames(t *testing.T) {
	names := []string{"with space", "tab\there", "new\nline", `quote"d`, `back\slash`, "ünï", "日本", "\x01\x7f", "\a\b\v\f\r", "-dash", "--- a"}
	var pairs [][2][]byte
	for i := range names {
		pairs = append(pairs, [2][]byte{[]byte("a\nb\n"), fmt.Appendf(nil, "a\n%d\n", i)})
	}
	gitApplies(t, names, pairs, 3)
}

func TestGitAppliesNewAndDeletedFiles(t *testing.T) {
	dir := t.TempDir()
	kxmtest.WriteFiles(t, dir, map[string]string{"gone": "a\nb"})
	patch := append(Unified("/dev/null", "b/made", nil, []byte("x\ny\n"), 3), Unified("a/gone", "/dev/null", []byte("a\nb"), nil, 3)...)
	kxmtest.GitInput(t, dir, patch, "apply")
	if got, err := os.ReadFile(filepath.Join(dir, "made")); err != nil || string(got) != "x\ny\n" {
		t.Errorf("made: %q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "gone")); !os.IsNotExist(err) {
		t.Errorf("gone: %v", err)
	}
}

// numbered returns n distinct lines.
func numbered(prefix string, n int) []byte {
	var text []byte
	for i := range n {
		text = fmt.Appendf(text, "%s%d\n", prefix, i)
	}
	return text
}

// The code points of lines pass the surrogates, and there are more lines than code
// points.
func TestManyDistinctLines(t *testing.T) {
	from := numbered("line ", 6000)
	to := bytes.Replace(bytes.Replace(from, []byte("line 3\n"), nil, 1), []byte("line 5990\n"), []byte("new\nnewer\n"), 1)
	wide := append([]byte("z\n"), bytes.Replace(numbered("x ", 60_000), []byte("x 59000\n"), []byte("mark\n"), 1)...)
	for _, c := range []struct {
		from, to []byte
		changed  int
	}{
		{from, to, 2 * (6000 - 3 - 9)},                        // too large a middle: replaced whole
		{wide, []byte("q\nmark\nr\n"), 60_001 - 1 + 2},        // one line in common, above the surrogates
		{[]byte("q\nmark\nr\n"), wide, 60_001 - 1 + 2},        // and the other way
		{[]byte("a\n"), numbered("b ", 1_200_000), 1_200_001}, // more lines than code points
	} {
		if len(c.to) < 4<<20 {
			checkApplies(t, c.from, c.to, 3)
		}
		changed := 0
		for _, h := range compare(splitLines(c.from), splitLines(c.to)) {
			changed += h.fromEnd - h.fromStart + h.toEnd - h.toStart
		}
		if changed != c.changed {
			t.Errorf("%d lines changed, want %d", changed, c.changed)
		}
	}
}

func BenchmarkUnified(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 8))
	const lines = 4500 // the largest middle that is compared exactly has 5000
	noise := func(alphabet int) (text []byte) {
		for range lines {
			text = fmt.Appendf(text, "%d\n", r.IntN(alphabet))
		}
		return text
	}
	from := numbered("line ", lines)
	for _, c := range []struct {
		name     string
		from, to []byte
	}{
		{"one line", from, bytes.Replace(from, []byte("line 2500\n"), []byte("x\n"), 1)},
		{"a quarter", from, edited(r, from)},
		{"all", from, numbered("other ", lines)},
		{"noise of 2", noise(2), noise(2)},
		{"noise of 100", noise(100), noise(100)},
		{"noise of 4000", noise(4000), noise(4000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				Unified("a", "b", c.from, c.to, 3)
			}
		})
	}
}

package prompt

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"kxm/lib/fault"
)

const someDigest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// update is the entry that a harness appends.
func update(id, parent, title string) string {
	return fmt.Sprintf(`{"type":"custom_message","id":%q,"parentId":%q,"customType":"kxm-context","content":"x","display":false,"details":{"kxmContext":{"schema":"kxm.prompt-snapshot.v1","system":%q,"systemSections":[],"sections":[{"id":"wiki","title":%q,"digest":%q}]}}}`,
		id, parent, someDigest, title, someDigest)
}

func message(id, parent string) string {
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%q,"message":{"role":"user","content":[{"text":"a \"quoted\" \\ [text"}]},"n":[1,-2.5e3,null,true,{}]}`, id, parent)
}

func find(text, leaf string) (Found, error) {
	return Delivered(strings.NewReader(text), int64(len(text)), leaf)
}

func TestDelivered(t *testing.T) {
	head := `{"type":"session","version":3,"cwd":"/a"}`
	compacted := func(id, parent string) string {
		return fmt.Sprintf(`{"type":"compaction","id":%q,"parentId":%q}`, id, parent)
	}
	lines := func(l ...string) string { return strings.Join(l, "\n") + "\n" }
	other := `{"type":"custom_message","id":"o","parentId":"b","customType":"other","details":{"kxmContext":1}}`
	for _, c := range []struct {
		name, text, leaf, want string
	}{
		{"an empty history", "", "", ""},
		{"a header alone", lines(head), "", ""},
		{"the newest", lines(head, message("a", ""), update("b", "a", "old"), message("c", "b"), update("d", "c", "new"), message("e", "d")), "", "new"},
		{"from a leaf", lines(head, message("a", ""), update("b", "a", "old"), message("c", "b"), update("d", "c", "new")), "c", "old"},
		{"the leaf itself", lines(update("a", "", "it")), "a", "it"},
		{"another branch", lines(message("a", ""), update("b", "a", "main"), message("c", "b"), update("d", "a", "side"), message("e", "c")), "", "main"},
		{"a branch that leaves it behind", lines(message("a", ""), update("b", "a", "gone"), message("c", "a")), "", ""},
		{"a compaction behind it", lines(update("a", "", "old"), compacted("b", "a"), message("c", "b")), "", ""},
		{"a compaction before it", lines(compacted("a", ""), update("b", "a", "new"), message("c", "b")), "", "new"},
		{"a compaction on another branch", lines(message("a", ""), update("b", "a", "it"), compacted("c", "a"), message("d", "b")), "", "it"},
		{"another program's message", lines(message("a", ""), update("b", "a", "it"), other, message("c", "o")), "", "it"},
		{"a parent that is not there", lines(update("a", "", "it"), message("b", "x")), "", ""},
		{"a torn last line", lines(update("a", "", "it")) + `{"type":"mess`, "", "it"},
		{"a torn last line with its end", lines(update("a", "", "it"), `{"type":"mess`), "", "it"},
		{"blank lines and returns", "\r\n\n" + update("a", "", "it") + "\r\n\n \n", "", "it"},
		{"no newline at the end", update("a", "", "it"), "", "it"},
		{"entries that are no objects", lines(update("a", "", "it"), "[1]", `"a"`, "null"), "", "it"},
		{"escaped keys", lines(update("a", "", "it"), `{"\u0069d":"b","parentId":"\u0061","type":"message"}`), "", "it"},
		{"nothing before the answer is read", lines(`{"broken`, update("a", "", "it")), "", "it"},
	} {
		found, err := find(c.text, c.leaf)
		got := ""
		if found.Snapshot != nil {
			got = found.Snapshot.Sections[0].Title
		}
		if err != nil || found.Malformed != nil || got != c.want {
			t.Errorf("%s: %q, %v, %v, want %q", c.name, got, found.Malformed, err, c.want)
		}
	}
}

func TestDeliveredRefuses(t *testing.T) {
	text := message("a", "") + "\n{\"broken\n" + message("c", "a") + "\n"
	_, err := find(text, "")
	e, _ := err.(*fault.Error)
	if e == nil || e.Code != fault.PromptHistoryInvalid || e.Line != 2 {
		t.Errorf("a broken line: %v", err)
	}
	if _, err := find(message("a", "")+"\n", "b"); !fault.Is(err, fault.PromptHistoryInvalid) {
		t.Errorf("an unknown leaf: %v", err)
	}
	for _, details := range []string{`1`, `{}`, `{"kxmContext":{}}`, `{"kxmContext":{"schema":"kxm.prompt-snapshot.v2","system":"` + someDigest + `"}}`, `{"kxmContext":{"schema":"kxm.prompt-snapshot.v1","system":"x"}}`} {
		found, err := find(`{"type":"custom_message","id":"a","customType":"kxm-context","details":`+details+"}\n", "")
		if err != nil || found.Snapshot != nil || found.Malformed == nil {
			t.Errorf("details %s: %v, %v", details, found, err)
		}
	}
}

// counting counts the bytes that are read.
type counting struct {
	*strings.Reader
	bytes int64
}

func (c *counting) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.Reader.ReadAt(p, at)
	c.bytes += int64(n)
	return n, err
}

func TestDeliveredReadsFromTheEnd(t *testing.T) {
	var b strings.Builder
	b.WriteString("{broken\n")
	for i := range 20_000 {
		b.WriteString(message(fmt.Sprint(i), fmt.Sprint(i-1)) + "\n")
	}
	b.WriteString(update("u", "19999", "it") + "\n" + message("v", "u") + "\n")
	c := &counting{Reader: strings.NewReader(b.String())}
	found, err := Delivered(c, c.Size(), "")
	if err != nil || found.Snapshot == nil || c.bytes > tailChunk {
		t.Errorf("%v, %v, %d of %d bytes read", found, err, c.bytes, c.Size())
	}
}

// repeated is a history of the same text many times over, which nobody holds.
type repeated struct {
	text string
	size int64
}

func (r repeated) ReadAt(p []byte, at int64) (int, error) {
	n := 0
	for n < len(p) && at+int64(n) < r.size {
		from := (at + int64(n)) % int64(len(r.text))
		n += copy(p[n:min(int64(len(p)), r.size-at)], r.text[from:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestDeliveredNeedsLittleMemory counts all that is allocated, which is more than what
// is held at a time: 16 MiB and one line.
func TestDeliveredNeedsLittleMemory(t *testing.T) {
	line := message("a", "a") + "\n"
	short := repeated{strings.Repeat(line, 200), int64(len(line)) * 350_000}
	long := repeated{"x", 40 << 20}
	for name, c := range map[string]struct {
		r    repeated
		most uint64
	}{"50 MB of short lines": {short, 16 << 20}, "one line of 40 MiB": {long, 16<<20 + 40<<20}} {
		if got := allocated(func() {
			if _, err := Delivered(c.r, c.r.size, ""); err != nil {
				t.Error(err)
			}
		}); got > c.most {
			t.Errorf("%s: %d bytes are allocated, at most %d are allowed", name, got, c.most)
		}
	}
}

// TestTailReadsEveryLine compares the lines from the end with those of a split, with
// lines around the size of a chunk.
func TestTailReadsEveryLine(t *testing.T) {
	for _, sizes := range [][]int{{}, {0}, {0, 0}, {5}, {tailChunk}, {tailChunk - 1, tailChunk, tailChunk + 1}, {3 * tailChunk}, {1, 3*tailChunk + 7, 2, 2 * tailChunk, 0, 9}} {
		for _, end := range []string{"", "\n"} {
			var lines []string
			for i, n := range sizes {
				lines = append(lines, strings.Repeat(string(rune('a'+i)), n))
			}
			text := strings.Join(lines, "\n") + end
			want := strings.Split(text, "\n")
			tl := newTail(bytes.NewReader([]byte(text)), int64(len(text)))
			at := int64(len(text))
			for i := len(want) - 1; i >= 0; i-- {
				line, begin, err := tl.next()
				if at -= int64(len(want[i])); err != nil || string(line) != want[i] || begin != at {
					t.Fatalf("sizes %v: line %d has %d bytes at %d, %v; want %d at %d", sizes, i, len(line), begin, err, len(want[i]), at)
				}
				at--
			}
			if _, _, err := tl.next(); err == nil {
				t.Errorf("sizes %v: there is a line before the first", sizes)
			}
		}
	}
}

func FuzzHistory(f *testing.F) {
	f.Add([]byte(message("a", "")+"\n"+update("b", "a", "t")+"\n"), "")
	f.Add([]byte("{\"id\":\"a\",\"details\":[]}\n{\"x"), "a")
	f.Fuzz(func(t *testing.T, text []byte, leaf string) {
		found, err := Delivered(bytes.NewReader(text), int64(len(text)), leaf)
		if err != nil && found.Snapshot != nil {
			t.Error("a snapshot beside an error")
		}
	})
}

package repo

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gogit "github.com/go-git/go-git/v5/plumbing/format/index"

	"kxm/lib/kxmtest"
)

func deflated(text string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

// FuzzPackIndex: never panics, never reads for ever, and what it finds is one of
// the ids that the file lists.
func FuzzPackIndex(f *testing.F) {
	dir := kxmtest.NewRepo(f, map[string]string{"a": "a\n", "b": "b\n"})
	for _, version := range []string{"1", "2"} {
		data, err := os.ReadFile(onePack(f, dir, "-c", "pack.indexVersion="+version) + ".idx")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, data[8+fanoutSize:][:rawLen])
		f.Add(data[:len(data)/2], data[:rawLen])
	}
	f.Fuzz(func(t *testing.T, data, id []byte) {
		x, err := openIndex(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		var raw [rawLen]byte
		copy(raw[:], id)
		if offset, ok, err := x.find(raw); ok && (err != nil || !bytes.Contains(data, raw[:]) || offset < 0) {
			t.Errorf("found %x at %d, %v", raw, offset, err)
		}
	})
}

// TestPackIndexFindsEveryID looks every id of a large made-up index up, and its
// neighbours, which are not there.
func TestPackIndexFindsEveryID(t *testing.T) {
	const n = 70_000
	var ids [][rawLen]byte
	for i := range n {
		var id [rawLen]byte
		binary.BigEndian.PutUint64(id[:], uint64(i)*0x9E3779B97F4A7C15)
		if i%5 == 0 {
			id[0], id[1] = 7, byte(i) // a bucket that is not uniform
		}
		id[rawLen-1] = 2
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b [rawLen]byte) int { return bytes.Compare(a[:], b[:]) })
	ids = slices.Compact(ids)
	for _, version := range []int{1, 2} {
		data := packIndexFile(version, ids)
		x, err := openIndex(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for i, id := range ids {
			if at, ok, err := x.find(id); err != nil || !ok || at != int64(12+i) {
				t.Fatalf("version %d: %x at %d, %v, %v; want %d", version, id, at, ok, err, 12+i)
			}
			for _, other := range []byte{1, 3} {
				id[rawLen-1] = other
				if at, ok, err := x.find(id); err != nil || ok {
					t.Fatalf("version %d: %x at %d, %v, which is not there", version, id, at, err)
				}
			}
		}
	}
}

// packIndexFile is an index in which the i-th id has the offset 12+i.
func packIndexFile(version int, ids [][rawLen]byte) []byte {
	var b []byte
	if version == 2 {
		b = append(b, "\377tOc\x00\x00\x00\x02"...)
	}
	for i := range 256 {
		n, _ := slices.BinarySearchFunc(ids, i+1, func(id [rawLen]byte, first int) int { return int(id[0]) - first })
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	for i, id := range ids {
		if version == 1 {
			b = binary.BigEndian.AppendUint32(b, uint32(12+i))
		}
		b = append(b, id[:]...)
	}
	if version == 2 {
		b = append(b, make([]byte, 4*len(ids))...)
		for i := range ids {
			b = binary.BigEndian.AppendUint32(b, uint32(12+i))
		}
	}
	return append(b, make([]byte, trailer)...)
}

func FuzzPackEntry(f *testing.F) {
	f.Add([]byte{0x95, 0x0a}, int64(12))
	f.Add([]byte{0xe5, 0x0a, 0x81, 0x02}, int64(5000))
	f.Add(append([]byte{0x75}, make([]byte, rawLen)...), int64(99))
	f.Fuzz(func(t *testing.T, data []byte, at int64) {
		e, used, ok := parseEntry(data, at)
		if ok && (used <= 0 || used > len(data) || e.size < 0 || e.kind == packOffDelta && (e.base < 12 || e.base >= at)) {
			t.Errorf("%+v, %d", e, used)
		}
	})
}

// FuzzDelta: what applyDelta makes has the size that the delta promises.
func FuzzDelta(f *testing.F) {
	f.Add([]byte("hello world"), []byte("\x0b\x05\x91\x06\x05"))
	f.Add([]byte("hello"), []byte("\x05\x08\x90\x05\x03abc"))
	f.Add([]byte("hello"), []byte("\x05\x00"))
	f.Add([]byte(""), []byte("\x00\x03\x03abc"))
	f.Add([]byte("x"), []byte("\x01\xff\xff\xff\xff\x0f\x03abc"))
	f.Fuzz(func(t *testing.T, base, delta []byte) {
		out, err := applyDelta(base, delta)
		if err != nil {
			return
		}
		if _, size, ok := deltaSizes(delta); !ok || size != int64(len(out)) {
			t.Errorf("%d bytes, %v", len(out), ok)
		}
	})
}

func FuzzTree(f *testing.F) {
	id := strings.Repeat("\x12", rawLen)
	f.Add([]byte("100644 a\x00" + id + "40000 b\x00" + id))
	f.Add([]byte("100644 a\x00" + id[1:]))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, ok := parseTree(data, rawLen)
		if !ok {
			return
		}
		// Encoding is a fixed point, except that leading zeroes of a mode are lost.
		var b []byte
		for _, e := range entries {
			b = append(appendOctal(b, e.Mode), ' ')
			b = append(append(b, e.Name...), 0)
			raw, err := hex.DecodeString(string(e.OID))
			if err != nil {
				t.Fatal(err)
			}
			b = append(b, raw...)
		}
		again, ok := parseTree(b, rawLen)
		if !ok || !slices.Equal(again, entries) {
			t.Errorf("%q: %v, then %v", data, entries, again)
		}
	})
}

func appendOctal(b []byte, m Mode) []byte {
	if m >= 8 {
		b = appendOctal(b, m>>3)
	}
	return append(b, '0'+byte(m&7))
}

func FuzzCommitAndTag(f *testing.F) {
	id := strings.Repeat("ab", 20)
	f.Add([]byte("tree " + id + "\nparent " + id + "\nauthor A <a@x> 1 +0100\ncommitter B <b@x> 2 -0030\ngpgsig -----\n \n x\nencoding x\n\nmessage"))
	f.Add([]byte("tree " + id + "\nauthor <> \ncommitter > 1\n"))
	f.Add([]byte("object " + id + "\ntype commit\ntag v1\ntagger A <a@x> 1 +0000\n\nmessage"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, ok := parseCommit(data, 40); ok {
			if !isHex(string(c.Tree)) || len(c.Tree) != 40 || !strings.HasSuffix(string(data), c.Message) {
				t.Errorf("%+v", c)
			}
			for _, p := range c.Parents {
				if len(p) != 40 || !isHex(string(p)) {
					t.Errorf("parent %q", p)
				}
			}
		}
		if target, _, ok := parseTag(data, 40); ok && (len(target) != 40 || !isHex(string(target))) {
			t.Errorf("target %q", target)
		}
	})
}

func FuzzPackedRefs(f *testing.F) {
	id := strings.Repeat("ab", 20)
	f.Add([]byte("# pack-refs with: peeled fully-peeled sorted \n"+id+" refs/heads/a\n^"+id+"\n"+id+" refs/heads/b\n"), "refs/heads/b")
	f.Add([]byte(id+" refs/heads/a"), "refs/heads/a")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		found, ok, err := searchPackedRefs(bytes.NewReader(data), int64(len(data)), name, 40)
		if ok && (err != nil || !bytes.Contains(data, []byte(string(found)+" "+name))) {
			t.Errorf("%s, %v", found, err)
		}
	})
}

func FuzzRef(f *testing.F) {
	for _, s := range []string{"", "ref: refs/heads/main\n", "ref:", strings.Repeat("ab", 20) + "\n", strings.Repeat("AB", 20), "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if v, ok := parseRef(text, 40); ok && (v.symbolic == "") == (v.id == "") {
			t.Errorf("%+v", v)
		}
		if validRefName(text) && (strings.Contains(text, "..") || strings.HasPrefix(text, "/") || strings.ContainsRune(text, 0)) {
			t.Errorf("%q is taken for the name of a ref", text)
		}
	})
}

// FuzzIndexFile holds our decoder to go-git's, which is another reading of the same
// description: where both take a file, they agree about every entry.
func FuzzIndexFile(f *testing.F) {
	dir := kxmtest.NewRepo(f, map[string]string{"a": "a\n", "b/c": "c\n", "b/d": "d\n", strings.Repeat("long/", 20) + "name": "x\n"})
	for _, version := range []string{"2", "3", "4"} {
		kxmtest.Git(f, dir, "update-index", "--index-version", version)
		f.Add(must(os.ReadFile(filepath.Join(dir, ".git/index")))(f))
		kxmtest.WriteFiles(f, dir, map[string]string{"intended" + version: "x"})
		kxmtest.Git(f, dir, "add", "-N", "intended"+version)
		f.Add(must(os.ReadFile(filepath.Join(dir, ".git/index")))(f))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := parseIndex(data, nil)
		if err != nil {
			return
		}
		var other gogit.Index
		if err := gogit.NewDecoder(bytes.NewReader(data)).Decode(&other); err != nil && len(other.Entries) != len(entries) {
			return // go-git wants a right checksum, but has read the entries before it sees it
		}
		if len(other.Entries) != len(entries) {
			t.Fatalf("%d entries, go-git %d", len(entries), len(other.Entries))
		}
		for i, e := range entries {
			o := other.Entries[i]
			if e.Path != o.Name || string(e.OID) != o.Hash.String() || e.Mode != Mode(o.Mode) || e.Stage != int(o.Stage) || e.IntentToAdd != o.IntentToAdd {
				t.Errorf("entry %d is %+v, go-git %+v", i, e, o)
			}
		}
	})
}

// configSeeds are configuration files with all that the syntax has.
var configSeeds = []string{
	"", "[a]b=c", "[a]\n\tb = \"x;y\" ; z\n", "[core]\n\tbare\n", "[a \"B\\\"c\\\\\"]\nk=v", "[A.Foo]\nK=v\n", "[a]\nk = x\\\n y\n", "[a]\nk=a\\bb\\tc\\nd\n",
	"[a]\nk = C:\\\\x\n", "[a]\nk=\"a\"b\"c\"  \n", "\xef\xbb\xbf[a]\nb=c\n", "[a]\r\nb=c\r\n", "[a] b=c\n", "[a]\nb=c#x\n", "[a]\nk=\\d\n", "[a-b]\nc-d=1\n",
	"[a]\n b = x  y  # c\n", "[a]\n1b=1\n", "[user]\nname = Zoë\n", "[a \"x.y\"]\nk=1\n", "[a]\nk=\"\n", "[a]\nk=x \\\n", "[a]\nk = \" x \" \n", "[a]\nk=\n", "[a]\nk = ; c\n",
	"[a  \"b\"]\nk=1\n", "[a \"b\" ]\nk=1\n", "[a\"b\"]\nk=1\n", "[]\nk=1\n", "[a]]\nk=1\n", "k=1\n", "[a]\nk 1\n", "[a]\nk=1\n[b]\nk=2\n[a]\nk=3\n", "# c\n; d\n[a] # e\nk=1", "[a]\nk=x\r", "[a\nb]\n", "[a \"\n\"]\nk=1\n",
	"[.a]\nk=1\n", "[a.]\nk=1\n", "[a \"\"]\nk=1\n", "[a]\nk\\\n=1\n", "[a]\nk=\"x\\\ny\"\n", "[a]\nk= \\\n", "[a]\nk=1\n\\\n", "[a]k", "[a]\nk = 1 \"\" \n",
}

// TestConfigAgreesWithGit compares with `git config --list`.
func TestConfigAgreesWithGit(t *testing.T) {
	for _, text := range configSeeds {
		got, want := configText(text), gitConfigText(t, text)
		if got != want {
			t.Errorf("%q:\n%q\ngit:\n%q", text, got, want)
		}
	}
}

// configText is what our parser reads, as `git config --list -z` writes it.
func configText(text string) string {
	entries, err := parseConfig("config", []byte(text))
	if err != nil {
		return "error"
	}
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(e.key)
		if !e.bare {
			b.WriteString("\n" + e.value)
		}
		b.WriteByte(0)
	}
	return b.String()
}

func gitConfigText(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	writeText(t, path, text)
	cmd := exec.Command("git", "config", "--file", path, "--list", "-z")
	cmd.Env = kxmtest.GitEnv(t.TempDir())
	out, err := cmd.Output()
	if err != nil {
		return "error"
	}
	return string(out)
}

// FuzzConfig: never panics; what was read and is written again reads the same.
func FuzzConfig(f *testing.F) {
	for _, s := range configSeeds {
		f.Add([]byte(s))
	}
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`)
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := parseConfig("config", data)
		if err != nil {
			return
		}
		var b strings.Builder
		for _, e := range entries {
			first, last := strings.IndexByte(e.key, '.'), strings.LastIndexByte(e.key, '.')
			if first <= 0 {
				return // Git reads it, and writes no such key
			}
			if canonical, ok := canonicalKey(e.key); !ok || canonical != e.key {
				t.Fatalf("key %q is not canonical", e.key)
			}
			b.WriteString("[" + e.key[:first])
			if first < last {
				b.WriteString(` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(e.key[first+1:last]) + `"`)
			}
			b.WriteString("]\n" + e.key[last+1:])
			if !e.bare {
				b.WriteString(` = "` + escape.Replace(e.value) + `"`)
			}
			b.WriteByte('\n')
		}
		if got, want := configText(b.String()), configText(string(data)); got != want {
			t.Errorf("%q, then %q", want, got)
		}
	})
}

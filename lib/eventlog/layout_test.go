package eventlog

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"
	"testing"
	"time"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
	"kxm/lib/repo"
)

func TestNames(t *testing.T) {
	sum := sha256.Sum256([]byte("event\n"))
	if got, want := EventID([]byte("event\n"), "0198f2a3b4c50001"), "0198f2a3b4c50001-"+hex.EncodeToString(sum[:16]); got != want || !ValidID(got) {
		t.Errorf("id %s, want %s", got, want)
	}
	// Computed with: printf 'p\0release.branch' | sha256sum
	if got := KeyFolder("p", "release.branch"); got != "55/16334125367053" {
		t.Errorf("folder %s", got)
	}
	if KeyFolder("a", "b") == KeyFolder("a\x00b", "") || KeyFolder("ab", "c") == KeyFolder("a", "bc") {
		t.Error("two keys share a folder")
	}
	id := EventID([]byte("event\n"), "0198f2a3b4c50001")
	name := SignatureName(id, []byte("sig"))
	if got, ok := signatureName(name); !ok || got != id {
		t.Errorf("%s is a signature of %q, %v", name, got, ok)
	}
	if _, ok := eventName(name); ok {
		t.Errorf("%s is an event", name)
	}
}

func TestStamps(t *testing.T) {
	for hlc, want := range map[string]string{
		"0000000000000000": "j/1970/0101",
		stamp(time.Date(2026, 9, 1, 23, 59, 59, 999e6, time.UTC).UnixMilli(), 7):       "j/2026/0901",
		stamp(time.Date(2026, 9, 2, 0, 0, 0, 0, time.UTC).UnixMilli(), 0):              "j/2026/0902",
		stamp(time.Date(2038, 1, 19, 3, 14, 8, 0, time.UTC).UnixMilli(), 0):            "j/2038/0119",
		stamp(time.Date(2262, 4, 12, 0, 0, 0, 0, time.UTC).UnixMilli(), 0):             "j/2262/0412",
		stamp(time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC).UnixMilli(), 65535): "j/9999/1231",
		stamp(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(), 0):             "",
		"ffffffffffffffff":  "",
		"000000000000000":   "",
		"00000000000000000": "",
		"000000000000000G":  "",
		"00000000000000AB":  "",
		"":                  "",
	} {
		got := DayFolder(hlc)
		_, ok := StampTime(hlc)
		if got != want || ok != (want != "") {
			t.Errorf("%s lies in %q, %v; want %q", hlc, got, ok, want)
		}
	}
}

func TestPlaces(t *testing.T) {
	for folder, want := range map[string]placeKind{
		"aa": shard, "j": journal, "aa/00112233445566": eventFolder, "j/2026": year, "j/2026/0901": eventFolder,
		"AA": elsewhere, "aaa": elsewhere, "a": elsewhere, "k": elsewhere, "aa/0011223344556": elsewhere, "aa/0011223344556G": elsewhere,
		"j/26": elsewhere, "j/2026/901": elsewhere, "j/2026/0901/x": elsewhere, "aa/00112233445566/x": elsewhere, "": elsewhere, "x/aa": elsewhere,
	} {
		if got := placeOf(folder).kind; got != want {
			t.Errorf("%s is %d, want %d", folder, got, want)
		}
	}
	// A name with a slash is one name.
	if (place{kind: top}).child("aa/00112233445566").kind != elsewhere {
		t.Error("a name with a slash leads into a folder of ours")
	}
}

// FuzzName: a name that is taken for one of ours is spelled as ours are, and belongs
// into no other place.
func FuzzName(f *testing.F) {
	w := newEvent("p", "k", at(1), "x", "s")
	f.Add(w.ID+".json", w.Folder)
	f.Add(SignatureName(w.ID, w.Signatures[0]), w.Folder)
	f.Add(w.ID+".json", DayFolder(at(1)))
	f.Add("../x", "..")
	f.Fuzz(func(t *testing.T, name, folder string) {
		p := placeOf(folder)
		if p.kind == elsewhere {
			return
		}
		if path.Clean("/"+folder) != "/"+folder || strings.ToLower(folder) != folder {
			t.Errorf("folder %q", folder)
		}
		if !p.isOurs(repo.TreeEntry{Name: name, Mode: repo.ModeFile}) {
			return
		}
		if p.kind != eventFolder || path.Base(name) != name || strings.ToLower(name) != name {
			t.Errorf("file %q in %q", name, folder)
		}
		id, event := eventName(name)
		sigID, signature := signatureName(name)
		if event == signature || event && name != id+".json" || signature && !strings.HasPrefix(name, sigID+".") {
			t.Errorf("%q is an event %v and a signature %v", name, event, signature)
		}
	})
}

// placeFor returns the folder of an event.
func placeFor(project, key, hlc string) string {
	if key == "" {
		return DayFolder(hlc)
	}
	return KeyFolder(project, key)
}

// TestOneFolderForEachEvent: an event of a key is not read in the journal, nor an
// entry as one of a key, however well the folder's name fits.
func TestOneFolderForEachEvent(t *testing.T) {
	event, entry := newEvent("p", "k", at(1), "x"), newEntry("p", at(1), "x")
	for _, tt := range []struct {
		w      Write
		folder string
		ok     bool
	}{
		{event, event.Folder, true},
		{event, entry.Folder, false},
		{event, KeyFolder("p", ""), false},
		{entry, entry.Folder, true},
		{entry, KeyFolder("p", ""), false},
		{entry, event.Folder, false},
		{entry, DayFolder(at(86400)), false},
	} {
		if _, err := checkEvent(tt.folder, tt.w.ID, tt.w.Event, fields{}); (err == nil) != tt.ok {
			t.Errorf("%s in %s: %v", tt.w.Event, tt.folder, err)
		}
	}
}

// FuzzEvent: whatever a file holds, checking it ends, and what passes lies where its
// fields say; what is valid JSON is read as encoding/json would.
func FuzzEvent(f *testing.F) {
	w := newEvent("p", "k", at(1), "x")
	f.Add(w.Event, w.Folder, w.ID[:hlcLen])
	e := newEntry("p", at(1), "x")
	f.Add(e.Event, e.Folder, e.ID[:hlcLen])
	f.Add([]byte(`{"hlc":"`+at(1)+`","project":1,"hlc":"x"}`), e.Folder, at(1))
	f.Add([]byte("{"), "aa/00112233445566", at(1))
	f.Fuzz(func(t *testing.T, event []byte, folder, hlc string) {
		got, err := checkEvent(folder, EventID(event, hlc), event, fields{})
		if err != nil {
			if !fault.Is(err, fault.InvalidStateEvent) && !fault.Is(err, fault.InvalidJSON) {
				t.Errorf("%v", err)
			}
			return
		}
		if want := placeFor(got.project, got.key, hlc); got.hlc != hlc || folder != want {
			t.Errorf("%+v in %s, want %s", got, folder, want)
		}
		if ndjson.Validate(event) != nil {
			return
		}
		again, err := readFields(event)
		if err != nil || again != got {
			t.Errorf("%+v, then %+v, %v", got, again, err)
		}
	})
}

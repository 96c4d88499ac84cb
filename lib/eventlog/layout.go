package eventlog

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"kxm/lib/repo"
)

// Lengths of the parts of names, in hexadecimal digits.
const (
	hlcLen    = 16 // 12 of milliseconds, 4 of a counter
	digestLen = 32 // of the 64 of a SHA-256
	idLen     = hlcLen + 1 + digestLen
)

// The file that says how the tree is laid out.
const (
	formatName = "format-1"
	formatText = "kxm-state 1\n"
)

// digest is the part of a SHA-256 that stands in names. 16 digits would not do: an
// author can find two texts that share them in minutes.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:digestLen/2])
}

// EventID returns the id of an event: its stamp and the digest of the file's bytes.
func EventID(event []byte, hlc string) string { return hlc + "-" + digest(event) }

// SignatureName returns the file name of an event's signature. It follows from the
// signature's bytes, so that under no name a worthless file can replace a good one.
func SignatureName(id string, sig []byte) string { return id + "." + digest(sig) + ".sig" }

// KeyFolder returns the folder of a key's events: "aa/<14 hex digits>", the first
// eight bytes of the SHA-256 of project, NUL and key. Two keys may be made to
// share one, so events are told apart by what they say.
func KeyFolder(project, key string) string {
	sum := sha256.Sum256([]byte(project + "\x00" + key))
	name := hex.EncodeToString(sum[:8])
	return name[:2] + "/" + name[2:]
}

// DayFolder returns the folder of journal entries with this stamp: "j/YYYY/MMDD", in
// UTC. For what is no stamp it is "".
func DayFolder(hlc string) string {
	t, ok := StampTime(hlc)
	if !ok {
		return ""
	}
	return t.Format("j/2006/0102")
}

// lastStamp is the end of the year 9999, in milliseconds: later times have no RFC
// 3339 form.
var lastStamp = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() - 1

// StampTime returns the time of a stamp to the millisecond, in UTC; ok is false when
// it is not 16 lower-case hexadecimal digits, or later than the year 9999.
func StampTime(hlc string) (t time.Time, ok bool) {
	if len(hlc) != hlcLen || !isHex(hlc) {
		return time.Time{}, false
	}
	ms, err := strconv.ParseInt(hlc[:12], 16, 64)
	if err != nil || ms > lastStamp {
		return time.Time{}, false
	}
	return time.UnixMilli(ms).UTC(), true
}

// ValidID reports whether id has the form of an event's id.
func ValidID(id string) bool {
	if len(id) != idLen || id[hlcLen] != '-' || !isHex(id[hlcLen+1:]) {
		return false
	}
	_, ok := StampTime(id[:hlcLen])
	return ok
}

func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return false
		}
	}
	return true
}

func isDigits(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// place is a folder of the tree by what belongs into it.
type place struct {
	kind placeKind
	path string
}

type placeKind byte

const (
	elsewhere   placeKind = iota // a folder that is not ours
	top                          // the root
	shard                        // aa
	journal                      // j
	year                         // j/YYYY
	eventFolder                  // aa/<14> or j/YYYY/MMDD: holds files
)

// child is the folder of that name in a place. Names of a tree that a stranger made
// may hold slashes; none of ours does, so these lead elsewhere.
func (p place) child(name string) place {
	c := place{path: name}
	if p.path != "" {
		c.path = p.path + "/" + name
	}
	switch {
	case p.kind == top && len(name) == 2 && isHex(name):
		c.kind = shard
	case p.kind == top && name == "j":
		c.kind = journal
	case p.kind == shard && len(name) == 14 && isHex(name):
		c.kind = eventFolder
	case p.kind == journal && len(name) == 4 && isDigits(name):
		c.kind = year
	case p.kind == year && len(name) == 4 && isDigits(name):
		c.kind = eventFolder
	}
	return c
}

// placeOf is the place of a folder's path.
func placeOf(path string) place {
	p := place{kind: top}
	for name := range strings.SplitSeq(path, "/") {
		p = p.child(name)
	}
	return p
}

// eventName cuts "<id>.json".
func eventName(name string) (id string, ok bool) {
	id, ok = strings.CutSuffix(name, ".json")
	return id, ok && ValidID(id)
}

// signatureName cuts "<id>.<digest>.sig".
func signatureName(name string) (id string, ok bool) {
	rest, ok := strings.CutSuffix(name, ".sig")
	if !ok || len(rest) != idLen+1+digestLen || rest[idLen] != '.' || !isHex(rest[idLen+1:]) {
		return "", false
	}
	return rest[:idLen], ValidID(rest[:idLen])
}

// isOurs reports whether an entry belongs where it is, by its name and mode.
func (p place) isOurs(e repo.TreeEntry) bool {
	if e.Mode == repo.ModeFolder {
		return p.child(e.Name).kind != elsewhere
	}
	return e.Mode == repo.ModeFile && p.holdsFile(e.Name)
}

// holdsFile reports whether a file of that name belongs into the place.
func (p place) holdsFile(name string) bool {
	if p.kind == top {
		return name == formatName
	}
	if p.kind != eventFolder {
		return false
	}
	_, event := eventName(name)
	_, signature := signatureName(name)
	return event || signature
}

package repo

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strconv"
	"strings"
	"time"

	githash "github.com/go-git/go-git/v5/plumbing/hash"

	"kxm/lib/fault"
)

// OID is the id of an object in lower-case hexadecimal digits: 40 in a SHA-1
// repository, 64 in a SHA-256 one.
type OID string

// MaxObject is the largest object, in bytes, that is read: facts, events and
// trees are far smaller, and what is larger need not fit into memory.
const MaxObject = 1 << 30

// Mode is the mode of a tree or index entry, as Git stores it.
type Mode uint32

// The modes that Git writes. Others were written by old versions of it; see
// [Mode.Kind].
const (
	ModeFolder     Mode = 0o40000
	ModeFile       Mode = 0o100644
	ModeExecutable Mode = 0o100755
	ModeSymlink    Mode = 0o120000
	ModeSubmodule  Mode = 0o160000
)

// Kind returns the mode of the list above that m means: by its type bits and, for
// a file, the owner's permission to execute.
func (m Mode) Kind() Mode {
	switch m & 0o170000 {
	case ModeFolder, ModeSymlink, ModeSubmodule:
		return m & 0o170000
	}
	if m&0o100 != 0 {
		return ModeExecutable
	}
	return ModeFile
}

// TreeEntry is one name in a tree.
type TreeEntry struct {
	Name string
	Mode Mode
	OID  OID
}

// Person is who made or recorded a commit, and when.
type Person struct {
	Name  string
	Email string
	When  time.Time
}

// Commit is a decoded commit. Parents is empty at the boundary of a shallow clone.
type Commit struct {
	Tree      OID
	Parents   []OID
	Author    Person
	Committer Person
	Message   string
}

func missing(id OID) error {
	return fault.New(fault.ObjectMissing, "object %s is not in the repository", id)
}

func corrupt(id OID, format string, args ...any) error {
	return fault.New(fault.ObjectCorrupt, "object "+string(id)+" "+format, args...)
}

func tooLarge(id OID, size, limit int64) error {
	return fault.New(fault.ObjectTooLarge, "object %s has %d bytes, more than the %d that are read", id, size, limit)
}

// checkID refuses what is no full id before it becomes part of a path or of a
// question to git.
func (r *Repo) checkID(id OID) error {
	if len(id) != r.idLength() || !isHex(string(id)) {
		return fault.New(fault.ObjectMissing, "%s is no object id", fault.Quote(string(id)))
	}
	return nil
}

// isHex accepts lower-case digits only: ids are compared as text.
func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return false
		}
	}
	return true
}

// Object returns an object's type ("blob", "tree", "commit" or "tag") and its
// content, which the caller owns. The content is proved to match the id:
// ObjectCorrupt otherwise, ObjectMissing when there is none, ObjectTooLarge above
// [MaxObject].
func (r *Repo) Object(ctx context.Context, id OID) (typ string, data []byte, err error) {
	if err := r.checkID(id); err != nil {
		return "", nil, err
	}
	return r.b.object(ctx, id, MaxObject)
}

// BlobUpTo returns the content of a blob of at most limit bytes, which the caller
// owns. A larger one is ObjectTooLarge and is not read, so that content from
// strangers costs no memory.
func (r *Repo) BlobUpTo(ctx context.Context, id OID, limit int64) ([]byte, error) {
	if err := r.checkID(id); err != nil {
		return nil, err
	}
	typ, data, err := r.b.object(ctx, id, min(limit, MaxObject))
	if err != nil {
		return nil, err
	}
	if typ != "blob" {
		return nil, corrupt(id, "is a %s where a blob is needed", fault.Printable(typ))
	}
	return data, nil
}

// Header returns an object's type and its size in bytes without reading the
// content, so that a caller can refuse a large one. It proves neither.
func (r *Repo) Header(ctx context.Context, id OID) (typ string, size int64, err error) {
	if err := r.checkID(id); err != nil {
		return "", 0, err
	}
	return r.b.header(ctx, id)
}

// typed is Object for a caller that needs one type.
func (r *Repo) typed(ctx context.Context, id OID, want string) ([]byte, error) {
	typ, data, err := r.Object(ctx, id)
	if err != nil {
		return nil, err
	}
	if typ != want {
		return nil, corrupt(id, "is a %s where a %s is needed", fault.Printable(typ), want)
	}
	return data, nil
}

// Blob returns the content of a blob, which the caller owns.
func (r *Repo) Blob(ctx context.Context, id OID) ([]byte, error) { return r.typed(ctx, id, "blob") }

// Tree returns the entries of a tree in the order in which Git stores them: by
// name, a folder's as if it ended in a slash.
func (r *Repo) Tree(ctx context.Context, id OID) ([]TreeEntry, error) {
	data, err := r.typed(ctx, id, "tree")
	if err != nil {
		return nil, err
	}
	entries, ok := parseTree(data, r.idLength()/2)
	if !ok {
		return nil, corrupt(id, "does not decode as a tree")
	}
	return entries, nil
}

// Commit returns a decoded commit.
func (r *Repo) Commit(ctx context.Context, id OID) (Commit, error) {
	data, err := r.typed(ctx, id, "commit")
	if err != nil {
		return Commit{}, err
	}
	c, ok := parseCommit(data, r.idLength())
	if !ok {
		return Commit{}, corrupt(id, "does not decode as a commit")
	}
	if len(c.Parents) > 0 {
		cut, err := r.shallow.contains(r, id)
		if err != nil {
			return Commit{}, err
		}
		if cut {
			c.Parents = nil
		}
	}
	return c, nil
}

// HashBlob returns the id that a blob with this content has in the repository; it
// stores nothing and applies no filter or line-ending conversion.
func (r *Repo) HashBlob(data []byte) OID { return hashObject(r.format, "blob", data) }

// hashObject computes an object's id. SHA-1 is computed with detection of the known
// collision attacks, as in Git: content that is part of one has no id, so it matches
// nothing and is not written.
func hashObject(format, typ string, data []byte) OID {
	var h hash.Hash
	if format == "sha256" {
		h = sha256.New()
	} else {
		h = githash.New(crypto.SHA1)
	}
	var head [32]byte
	h.Write(append(strconv.AppendInt(append(append(head[:0], typ...), ' '), int64(len(data)), 10), 0))
	h.Write(data)
	return sumID(h)
}

// sumID is the id that a hash has arrived at.
func sumID(h hash.Hash) OID {
	var sum [sha256.Size]byte
	if d, ok := h.(collisionDetector); ok {
		id, attack := d.CollisionResistantSum(sum[:0])
		if attack {
			return ""
		}
		return OID(hex.EncodeToString(id))
	}
	return OID(hex.EncodeToString(h.Sum(sum[:0])))
}

// collisionDetector is what go-git's SHA-1 also is.
type collisionDetector interface {
	CollisionResistantSum([]byte) (sum []byte, attack bool)
}

// parseTree decodes "<octal mode> <name>\0<raw id>" repeated. Names and ids are
// parts of two texts made for the whole tree, since a folder may hold thousands.
func parseTree(data []byte, rawLen int) ([]TreeEntry, bool) {
	text := string(data)
	// An entry has at least 8 bytes besides its id; 24 is a usual one.
	entries := make([]TreeEntry, 0, len(data)/(rawLen+24)+1)
	raw := make([]byte, 0, cap(entries)*rawLen)
	for at := 0; at < len(data); {
		space := bytes.IndexByte(data[at:], ' ')
		if space <= 0 || space > 7 {
			return nil, false
		}
		var mode Mode
		for _, c := range data[at : at+space] {
			if c < '0' || c > '7' {
				return nil, false
			}
			mode = mode<<3 | Mode(c-'0')
		}
		at += space + 1
		end := bytes.IndexByte(data[at:], 0)
		if end <= 0 || len(data)-at-end-1 < rawLen {
			return nil, false
		}
		entries = append(entries, TreeEntry{Name: text[at : at+end], Mode: mode})
		at += end + 1
		raw = append(raw, data[at:at+rawLen]...)
		at += rawLen
	}
	ids := hex.EncodeToString(raw)
	for i := range entries {
		entries[i].OID = OID(ids[i*2*rawLen : (i+1)*2*rawLen])
	}
	return entries, true
}

// headerLine cuts the first line of a commit or tag.
func headerLine(data []byte) (key, value string, rest []byte, ok bool) {
	line, rest, ok := bytes.Cut(data, []byte("\n"))
	if !ok {
		return "", "", nil, false
	}
	key, value, _ = strings.Cut(string(line), " ")
	return key, value, rest, true
}

// parseCommit decodes a commit: tree, parents, author and committer in this
// order, other headers (with their continuation lines), an empty line, the message.
func parseCommit(data []byte, idLen int) (Commit, bool) {
	var c Commit
	key, value, rest, ok := headerLine(data)
	if !ok || key != "tree" || len(value) != idLen || !isHex(value) {
		return c, false
	}
	c.Tree = OID(value)
	for {
		key, value, after, ok := headerLine(rest)
		if !ok {
			// A commit may end without a message and without the empty line.
			return c, len(rest) == 0 && c.Committer != (Person{})
		}
		rest = after
		switch key {
		case "parent":
			if len(value) != idLen || !isHex(value) {
				return c, false
			}
			c.Parents = append(c.Parents, OID(value))
		case "author":
			c.Author = parsePerson(value)
		case "committer":
			c.Committer = parsePerson(value)
		case "":
			if value == "" {
				c.Message = string(rest)
				return c, true
			}
		}
	}
}

// parsePerson decodes "Name <email> seconds +hhmm". Old tools wrote all kinds of
// damage here; like Git, it keeps what can be read and never fails.
func parsePerson(s string) Person {
	open, closing := strings.IndexByte(s, '<'), strings.LastIndexByte(s, '>')
	if open < 0 || closing < open {
		return Person{Name: strings.TrimSpace(s)}
	}
	p := Person{Name: strings.TrimSpace(s[:open]), Email: s[open+1 : closing]}
	fields := strings.Fields(s[closing+1:])
	if len(fields) == 0 {
		return p
	}
	seconds, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return p
	}
	p.When = time.Unix(seconds, 0).UTC()
	if len(fields) > 1 {
		if n, err := strconv.Atoi(fields[1]); err == nil && len(fields[1]) == 5 {
			offset := (n/100*60 + n%100) * 60
			if offset != 0 {
				p.When = p.When.In(time.FixedZone(fields[1], offset))
			}
		}
	}
	return p
}

// parseTag returns what an annotated tag points at.
func parseTag(data []byte, idLen int) (target OID, typ string, ok bool) {
	key, value, rest, ok := headerLine(data)
	if !ok || key != "object" || len(value) != idLen || !isHex(value) {
		return "", "", false
	}
	key, typ, _, ok = headerLine(rest)
	return OID(value), typ, ok && key == "type"
}

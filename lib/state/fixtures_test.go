package state

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/kxmtest"
	"kxm/lib/signature"
)

// project is the project of all tests.
const project = "demo"

// secret is one that the rules know.
const secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

// Those who hold keys. Mallory is on no list.
const (
	alice   = "alice@example.com"
	bob     = "bob@example.com"
	ci      = "ci@example.com"
	bot     = "bot@example.com"
	mallory = "mallory@example.com"
)

// keys are made once: what the tests sign is real.
var keys = sync.OnceValues(func() (map[string]signature.PrivateKey, error) {
	dir, err := os.MkdirTemp("", "kxm-state-keys-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) // a key stays usable without its file
	made := map[string]signature.PrivateKey{}
	for _, name := range []string{alice, bob, ci, bot, mallory, "spare"} {
		if made[name], err = signature.GenerateKey(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return made, nil
})

func keyOf(t testing.TB, name string) signature.PrivateKey {
	t.Helper()
	all, err := keys()
	if err != nil {
		t.Fatal(err)
	}
	k, ok := all[name]
	if !ok {
		t.Fatalf("nobody is called %s", name)
	}
	return k
}

// line is a line of the allowed signers.
func line(t testing.TB, names, options, key string) string {
	return names + " " + options + " " + keyOf(t, key).Key().Authorized() + "\n"
}

// everyone is the usual list.
func everyone(t testing.TB) string {
	return line(t, alice, `namespaces="kxm-human"`, alice) + line(t, bob, `namespaces="kxm-human"`, bob) +
		line(t, ci, `namespaces="kxm-workflow"`, ci) + line(t, bot, `namespaces="kxm-peer"`, bot)
}

var resolved = Point{Resolved: true, Commit: strings.Repeat("1", 40), Name: "HEAD", Why: "the test says so"}

func trusting(t testing.TB, list, configuration string) *Trust {
	t.Helper()
	trust, err := NewTrust(resolved, []byte(list), []byte(configuration))
	if err != nil {
		t.Fatal(err)
	}
	return trust
}

// world is a store in memory with the clock of whoever writes next.
type world struct {
	testing.TB
	trust   *Trust
	now     time.Time
	records []Record
	nonces  int
}

func newWorld(t testing.TB) *world {
	return &world{TB: t, trust: trusting(t, everyone(t), ""), now: kxmtest.Now()}
}

// tick lets a minute pass.
func (w *world) tick() *world { w.now = w.now.Add(time.Minute); return w }

// as returns a writer for an actor, who signs with an origin unless it is "". The
// key's owner is the actor's own name, if there is a key of that name.
func (w *world) as(actor string, origin item.Origin) *Writer {
	writer := &Writer{Project: project, Actor: actor, Clone: "0123abcd", Head: strings.Repeat("a", 40), Now: w.now, Trust: w.trust,
		Nonce: func() string { w.nonces++; return fmt.Sprintf("%016x", w.nonces) }}
	if origin != "" {
		writer.Signing = &Signing{Key: keyOf(w, actor).Key(), Origin: origin}
	}
	return writer
}

func (w *world) set() Set { return Check(w.records, w.trust, project) }

func (w *world) key(name string) *Key { return w.keyAt(name, time.Time{}) }

func (w *world) keyAt(name string, asOf time.Time) *Key {
	k := FoldKey(name, w.set().Events, w.trust, asOf)
	return &k
}

func (w *world) journal() *Journal {
	j := FoldJournal(w.set().Events, w.trust, time.Time{})
	return &j
}

// listing is what a reader lists, folder by folder, and through the cache's form where
// the cache is read.
func (w *world) listing(asOf time.Time, ended bool) *Listing {
	w.Helper()
	folders := map[string][]Record{}
	for _, r := range w.records {
		e, err := Parse(r.Event)
		if err != nil {
			w.Fatal(err)
		}
		folder := "k/" + e.Key
		if e.Type().journal() {
			folder = "j/" + timeText(e.Clock.Time())[:10]
		}
		folders[folder] = append(folders[folder], r)
	}
	var parts [2][]folded
	limit := through(asOf)
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		var computed folded
		records := unite(folders[name])          // as a folder holds them
		for name[0] == 'j' && len(records) > 1 { // in pieces
			computed.fold(records[:1], w.trust, project, true, limit, ended)
			records = records[1:]
		}
		computed.fold(records, w.trust, project, name[0] == 'j', limit, ended)
		if !ended && !computed.decode(encoded(&computed)) {
			w.Fatalf("the folder %s does not survive its encoding", name)
		}
		kind := 0
		if name[0] == 'j' {
			kind = 1
		}
		parts[kind] = append(parts[kind], computed)
	}
	l := &Listing{}
	for _, folders := range parts {
		whole := unitedFolders(folders, limit)
		if !ended && !whole.decode(encoded(&whole)) {
			w.Fatal("the whole does not survive its encoding")
		}
		l.parts = append(l.parts, whole)
	}
	l.finish(w.trust)
	return l
}

// encoded is the form of the cache.
func encoded(f *folded) string {
	var text strings.Builder
	f.encode(&text)
	return text.String()
}

func (w *world) find(id string) *Checked {
	s := w.set()
	for i := range s.Events {
		if s.Events[i].ID == id {
			return &s.Events[i]
		}
	}
	return nil
}

// signed returns a signature file.
func signed(t testing.TB, who, namespace string, event []byte) SignatureFile {
	t.Helper()
	data, err := signature.Sign(context.Background(), keyOf(t, who), namespace, event)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return SignatureFile{Name: hex.EncodeToString(sum[:16]), Data: data}
}

// add stores a draft, signed by whoever holds its key.
func (w *world) add(d *Draft, err error) string {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
	r := Record{ID: d.ID, Event: d.Bytes}
	if d.Signing != nil {
		all, _ := keys()
		for name, k := range all {
			if k.Key() == d.Signing.Key {
				r.Signatures = append(r.Signatures, signed(w, name, Namespace(d.Signing.Origin), d.Bytes))
			}
		}
	}
	w.records = append(w.records, r)
	return d.ID
}

// forge stores an event that no verb would make, signed in a namespace by each of who.
func (w *world) forge(e Event, namespace string, who ...string) string {
	w.Helper()
	if e.Project == "" {
		e.Project = project
	}
	if e.At == "" {
		e.At = timeText(w.now)
	}
	if e.Clock == 0 {
		e.Clock = at(w.now)
	}
	if e.Actor == "" {
		e.Actor = "forger"
	}
	w.nonces++
	e.Nonce, e.Clone = fmt.Sprintf("%016x", w.nonces), "0123abcd"
	data := e.Encode()
	r := Record{ID: ID(data, e.Clock), Event: data}
	for _, name := range who {
		r.Signatures = append(r.Signatures, signed(w, name, namespace, data))
	}
	w.records = append(w.records, r)
	return r.ID
}

// sign adds a signature to a stored event.
func (w *world) sign(id, who, namespace string) {
	w.Helper()
	for i := range w.records {
		if r := &w.records[i]; r.ID == id {
			r.Signatures = append(r.Signatures, signed(w, who, namespace, r.Event))
			return
		}
	}
	w.Fatalf("no event %s", id)
}

const branch = "release.branch"

// propose stores an unsigned proposal for branch.
func (w *world) propose(actor, summary string) string {
	w.Helper()
	w.tick()
	return w.add(w.as(actor, "").Propose(w.key(branch), Propose{Key: branch, Summary: summary, EvidenceRefs: []string{"pr:12"}}))
}

// promote stores a promotion.
func (w *world) promote(who, proposal string, expect ...string) string {
	w.Helper()
	w.tick()
	return w.add(w.as(who, item.OriginHuman).Promote(w.key(branch), Promote{Proposal: proposal, EvidenceRefs: []string{"review:pr-12"}, Expect: expect}))
}

// current returns the summaries of the current values.
func current(k *Key) []string {
	all := []string{}
	for i := range k.Current {
		all = append(all, k.Current[i].Item.Summary)
	}
	slices.Sort(all)
	return all
}

func wantCode(t testing.TB, err error, code fault.Code) {
	t.Helper()
	if fault.CodeOf(err) != code {
		t.Errorf("error %v, want %s", err, code)
	}
}

func wantList(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// ruleOf returns the rules of the findings about an event.
func ruleOf(findings []Finding, id string) []string {
	rules := []string{}
	for _, f := range findings {
		if f.ID == id {
			rules = append(rules, string(f.Rule))
		}
	}
	return rules
}

// dump writes all that a store answers, to compare stores by.
func dump(s Set, t *Trust, asOf time.Time) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d events, %d foreign, %d unknown\n", len(s.Events), s.Foreign, s.Unknown)
	keys := FoldKeys(s.Events, t, asOf)
	for i := range keys {
		k := &keys[i]
		for _, it := range k.Items() {
			b.Write(it.AppendJSON(nil))
			b.WriteByte('\n')
		}
		for _, h := range k.History() {
			b.Write(h.AppendJSON(nil))
			b.WriteByte('\n')
		}
		for _, g := range k.Gaps() {
			b.Write(g.AppendJSON(nil))
			b.WriteByte('\n')
		}
	}
	j := FoldJournal(s.Events, t, asOf)
	for _, it := range j.Items() {
		b.Write(it.AppendJSON(nil))
		b.WriteByte('\n')
	}
	for _, g := range j.Gaps() {
		b.Write(g.AppendJSON(nil))
		b.WriteByte('\n')
	}
	if asOf.IsZero() {
		for _, f := range Verify(s, t) {
			b.Write(f.AppendJSON(nil))
			b.WriteByte('\n')
		}
	}
	return b.String()
}

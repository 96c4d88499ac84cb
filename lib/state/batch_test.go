package state

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/ndjson"
)

// Key, Find and Reviews make a world the store of a batch.
func (w *world) Key(string) ([]Checked, error) { return w.set().Events, nil }

func (w *world) Find(id string) (*Checked, error) { return w.find(id), nil }

func (w *world) Reviews(*Checked) ([]Checked, error) { return w.set().Events, nil }

func (w *world) batch(actor string) *Batch {
	return &Batch{Writer: *w.as(actor, ""), Source: w, Signing: func(o item.Origin) (Signing, error) {
		who := map[item.Origin]string{item.OriginHuman: alice, item.OriginWorkflow: ci, item.OriginPeer: bot}[o]
		return Signing{Key: keyOf(w, who).Key(), Origin: o}, nil
	}}
}

// run carries out the commands of a stream.
func run(t *testing.T, b *Batch, stream string) error {
	t.Helper()
	d := ndjson.NewDecoder(strings.NewReader(stream), "stdin")
	for {
		v, err := d.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		c, err := ParseCommand(v.Raw, "")
		if err != nil {
			return err
		}
		if _, err := b.Do(c, v.Line); err != nil {
			return err
		}
	}
}

const wholeStory = `{"type":"propose","key":"release.branch","summary":"main","evidenceRefs":["pr:12"],"as":"agent-1"}
{"type":"propose","key":"release.branch","summary":"trunk","evidence":["pr:13"],"as":"agent-2"}

{"type":"promote","proposal":"@1","evidence":"review:1"}
{"type":"reject","proposal":"@2","why":"no"}
{"type":"journal","category":"lesson","summary":"cut from main","run":"run-1","as":"agent-1"}
{"type":"journal-review","entry":"@6","to":"approved","why":"so it is"}
{"type":"episode","runId":"run-1","summary":"a release","entries":["@6"],"outcome":"released"}
{"type":"propose","key":"release.branch","summary":"main again","evidence":["pr:14"],"as":"agent-3"}
{"type":"promote","proposal":"@9","evidence":["review:2"],"expect":["@4"]}
{"type":"propose","key":"other","summary":"x","evidence":["pr:15"],"as":"agent-3","origin":"workflow"}
{"type":"withdraw","proposal":"@11","origin":"workflow"}
`

func TestABatchSeesWhatItsEarlierCommandsDid(t *testing.T) {
	w := newWorld(t)
	b := w.batch("operator")
	if err := run(t, b, wholeStory); err != nil {
		t.Fatal(err)
	}
	if err := b.Recheck(w); err != nil {
		t.Fatal(err)
	}
	for _, d := range b.Drafts {
		w.add(d, nil)
	}
	k := w.key(branch)
	wantList(t, "current", current(k), "main again")
	if len(k.Superseded) != 1 || k.Proposals[1].Outcome != OutcomeRejected || len(k.Findings) != 0 {
		t.Errorf("key %+v", k)
	}
	if got := w.key("other").Proposals[0].Outcome; got != OutcomeWithdrawn {
		t.Errorf("the other key's proposal is %s", got)
	}
	j := w.journal()
	if len(j.Records) != 2 || j.Records[0].Verdict != VerdictApproved || j.Records[1].Item.Provenance.DerivedFrom[0] != j.Records[0].Item.ID {
		t.Errorf("journal %+v", j)
	}
	if found := Verify(w.set(), w.trust); len(found) != 0 {
		t.Errorf("findings %v", found)
	}
}

func TestABatchIsRefusedWhenTheStoreMoved(t *testing.T) {
	w := newWorld(t)
	b := w.batch("operator")
	if err := run(t, b, wholeStory); err != nil {
		t.Fatal(err)
	}
	w.promote(bob, w.propose("agent-9", "elsewhere"))
	wantCode(t, b.Recheck(w), fault.StateConflict)
}

func TestWhatABatchRefuses(t *testing.T) {
	propose := `{"type":"propose","key":"k","summary":"s","evidence":["r"]}`
	for name, c := range map[string]struct {
		stream string
		code   fault.Code
	}{
		"no object":             {`1`, fault.InvalidStateEvent},
		"no type":               {`{"key":"k"}`, fault.InvalidStateEvent},
		"unknown type":          {`{"type":"merge"}`, fault.InvalidStateEvent},
		"unknown field":         {`{"type":"propose","key":"k","sumary":"s","evidence":["r"]}`, fault.InvalidStateEvent},
		"another verb's field":  {`{"type":"propose","key":"k","summary":"s","evidence":["r"],"why":"x"}`, fault.InvalidStateEvent},
		"text of another kind":  {`{"type":"propose","key":1,"summary":"s","evidence":["r"]}`, fault.InvalidStateEvent},
		"list of another kind":  {`{"type":"propose","key":"k","summary":"s","evidence":{"a":1}}`, fault.InvalidStateEvent},
		"entry of another kind": {`{"type":"propose","key":"k","summary":"s","evidence":[1]}`, fault.InvalidStateEvent},
		"redact as a text":      {`{"type":"propose","key":"k","summary":"s","evidence":["r"],"redact":"yes"}`, fault.InvalidStateEvent},
		"two runs":              {`{"type":"journal","category":"plan","summary":"s","run":"a","runId":"b"}`, fault.InvalidStateEvent},
		"no such line":          {propose + "\n" + `{"type":"promote","proposal":"@7","evidence":["r"]}`, fault.InvalidStateEvent},
		"a later line":          {`{"type":"promote","proposal":"@2","evidence":["r"]}` + "\n" + propose, fault.InvalidStateEvent},
		"no line":               {`{"type":"promote","proposal":"@x","evidence":["r"]}`, fault.InvalidStateEvent},
		"two on one line":       {propose + strings.Replace(propose, `"k"`, `"l"`, 1) + "\n" + `{"type":"promote","proposal":"@1","evidence":["r"]}`, fault.InvalidStateEvent},
		"no such proposal":      {`{"type":"promote","proposal":"` + idAt(1) + `","evidence":["r"]}`, fault.StateProposalNotFound},
		"no id":                 {`{"type":"reject","proposal":"x","why":"r"}`, fault.StateProposalNotFound},
		"a journal entry":       {`{"type":"journal","category":"plan","summary":"s"}` + "\n" + `{"type":"promote","proposal":"@1","evidence":["r"]}`, fault.StateProposalNotFound},
		"no such entry":         {`{"type":"journal-review","entry":"` + idAt(1) + `","to":"approved","why":"r"}`, fault.StateEventNotFound},
		"review of a proposal":  {propose + "\n" + `{"type":"journal-review","entry":"@1","to":"approved","why":"r"}`, fault.StateEventNotFound},
		"review without a word": {`{"type":"journal","category":"plan","summary":"s"}` + "\n" + `{"type":"journal-review","entry":"@1","to":"approved"}`, fault.InvalidStateEvent},
		"no such verdict":       {`{"type":"journal","category":"plan","summary":"s"}` + "\n" + `{"type":"journal-review","entry":"@1","to":"fine","why":"r"}`, fault.InvalidStateEvent},
		"review as peer":        {`{"type":"journal","category":"plan","summary":"s"}` + "\n" + `{"type":"journal-review","entry":"@1","to":"approved","why":"r","origin":"peer"}`, fault.InvalidAuth},
		"category":              {`{"type":"journal","category":"gossip","summary":"s"}`, fault.InvalidStateEvent},
		"secret in the journal": {`{"type":"journal","category":"plan","summary":"` + secret + `"}`, fault.SecretFound},
		"secret run":            {`{"type":"journal","category":"plan","summary":"s","run":"` + secret + `","redact":true}`, fault.SecretFound},
		"too much evidence":     {`{"type":"journal","category":"plan","summary":"s","evidence":["` + strings.Join(numbered(17), `","`) + `"]}`, fault.InvalidStateEvent},
		"episode without a run": {`{"type":"episode","summary":"s"}`, fault.InvalidStateEvent},
		"episode of proposals":  {propose + "\n" + `{"type":"episode","run":"r","summary":"s","entries":["@1"]}`, fault.StateEventNotFound},
		"episode of nothing":    {`{"type":"episode","run":"r","summary":"s","entries":["` + idAt(1) + `"]}`, fault.StateEventNotFound},
		"own proposal":          {`{"type":"propose","key":"k","summary":"s","evidence":["r"],"origin":"human"}` + "\n" + `{"type":"promote","proposal":"@1","evidence":["r"]}`, fault.StatePromotionInvalid},
		"expect none of one":    {propose + "\n" + `{"type":"promote","proposal":"@1","evidence":["r"],"expect":"none"}` + "\n" + propose + "\n" + `{"type":"promote","proposal":"@3","evidence":["r"],"expect":["none"]}`, fault.StateConflict},
		"expect nothing of one": {propose + "\n" + `{"type":"promote","proposal":"@1","evidence":["r"],"expect":[]}` + "\n" + propose + "\n" + `{"type":"promote","proposal":"@3","evidence":["r"],"expect":[]}`, fault.StateConflict},
	} {
		err := run(t, newWorld(t).batch("agent-1"), c.stream)
		if fault.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the message holds the secret", name)
		}
	}
}

func TestNoKeyIsLookedForWhereNoneCanCount(t *testing.T) {
	w := newWorld(t)
	p := w.propose("agent-1", "one")
	b := w.batch("operator")
	b.Signing = func(item.Origin) (Signing, error) {
		t.Error("a key was looked for")
		return Signing{}, nil
	}
	promote := Command{Verb: TypePromote, Proposal: p, Evidence: []string{"r"}}
	b.Writer.Trust = trusting(t, "", "")
	_, err := b.Do(promote, 0)
	wantCode(t, err, fault.AdminAuthNotConfigured)
	b.Writer.Trust = w.trust
	b.Writer.Unattended = true
	_, err = b.Do(promote, 0)
	wantCode(t, err, fault.StatePersonRequired)
}

func TestTheSeedsProposalIsACommand(t *testing.T) {
	raw := []byte(`{"key": "release.branch", "summary": "Releases are cut from the main branch", "authority": "evidence", "confidence": "verified", "evidenceRefs": ["pr:12"]}`)
	c, err := ParseCommand(raw, TypePropose)
	if err != nil || c.Key != "release.branch" || c.Confidence != "verified" || len(c.Evidence) != 1 || c.Expect != nil {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := ParseCommand([]byte(`{"type":"promote"}`), TypePropose); !fault.Is(err, fault.InvalidStateEvent) {
		t.Errorf("another verb: %v", err)
	}
	raw = []byte(`{"key":"k","summary":"s","agent":{"id":1},"origin":"human","as":"root","redact":1}`)
	c, err = ParseCommand(raw, TypePropose)
	if err != nil || c.Key != "k" || c.Origin != "" || c.As != "" || c.Redact {
		t.Errorf("data says who signs: %+v, %v", c, err)
	}
}

func TestRecordsSurviveAnExport(t *testing.T) {
	w := newWorld(t)
	w.sign(w.propose("agent-1", "a \"q\" \u2028 é"), alice, "kxm-human")
	w.promote(bob, w.records[0].ID)
	w.records[0].Signatures = append(w.records[0].Signatures, SignatureFile{Data: []byte("\xff")})
	for _, r := range w.records {
		raw, err := AppendRecord(nil, &r)
		if err != nil {
			t.Fatal(err)
		}
		if err := ndjson.Validate(raw); err != nil {
			t.Fatal(err)
		}
		back, err := ParseRecord(raw)
		if err != nil || back.ID != r.ID || !bytes.Equal(back.Event, r.Event) || len(back.Signatures) != 1 || !bytes.Equal(back.Signatures[0].Data, r.Signatures[0].Data) {
			t.Errorf("%+v became %+v, %v", r, back, err)
		}
	}
	for _, bad := range []string{`[]`, `{}`, `{"schema":"x"}`, `{"schema":"kxm.state-record.v1","id":"x","event":"y"}`,
		`{"schema":"kxm.state-record.v1","id":"` + id1 + `"}`, `{"schema":"kxm.state-record.v1","id":"` + id1 + `","event":"x","signatures":[1]}`} {
		if _, err := ParseRecord([]byte(bad)); !fault.Is(err, fault.InvalidStateEvent) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, err := AppendRecord(nil, &Record{ID: id1, Event: []byte("\xff")}); !fault.Is(err, fault.InvalidStateEvent) {
		t.Errorf("not UTF-8: %v", err)
	}
}

func FuzzParseCommand(f *testing.F) {
	for l := range strings.Lines(wholeStory) {
		f.Add([]byte(l))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if ndjson.Validate(raw) != nil {
			return
		}
		if c, err := ParseCommand(raw, ""); err == nil {
			w := newWorld(t)
			b := w.batch("agent-1")
			d, err := b.Do(c, 1)
			if err != nil {
				if fault.CodeOf(err) == "" {
					t.Fatalf("%v", err)
				}
				return
			}
			if _, err := Parse(d.Bytes); err != nil {
				t.Fatalf("%s became %s: %v", raw, d.Bytes, err)
			}
		}
	})
}

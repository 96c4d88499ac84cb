package state

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/kxmtest"
)

const (
	id1 = "01990d2f0c000000-00112233445566778899aabbccddeeff"
	id2 = "01990d2f0c000001-00112233445566778899aabbccddeeff"
)

// samples holds one event of each type.
func samples() []Event {
	base := func(key string, body Body) Event {
		return Event{Project: project, Key: key, Clock: 0x01990d2f0c000005, At: "2026-09-01T12:00:00.000Z", Nonce: "0011223344556677",
			Actor: "agent-1", Clone: "0123abcd", Head: strings.Repeat("a", 40), Body: body}
	}
	digest := strings.Repeat("f", 64)
	p := base(branch, &Proposal{Summary: "a <b> &\u2028 \"q\"\n\tc", Authority: item.AuthorityEvidence, Confidence: item.ConfidenceProbable, EvidenceRefs: []string{"pr:12"}})
	p.After = []string{id1}
	return []Event{
		p,
		base(branch, &Promotion{Proposal: id1, Digest: digest, EvidenceRefs: []string{"r"}, Expect: []string{id2}}),
		base(branch, &Promotion{Proposal: id1, Digest: digest, EvidenceRefs: []string{"r"}}),
		base(branch, &Ending{How: TypeReject, Proposal: id1, Digest: digest, Why: "no"}),
		base(branch, &Ending{How: TypeWithdraw, Proposal: id1, Digest: digest}),
		base("", &Entry{Category: "lesson", Summary: "s", Severity: "high", Area: "ci", RunID: "run-1", StageID: "test", Evidence: []string{"e"}}),
		base("", &Entry{Category: "plan", Summary: "s"}),
		base("", &Review{Entry: id1, Digest: digest, To: VerdictApproved, Why: "checked"}),
		base("", &Episode{RunID: "run-1", Summary: "s", Entries: []string{id1, id2}, Outcome: "done"}),
		base("k", &Unknown{Name: "merge", Raw: `{"x":[1,2]}`}),
	}
}

func TestEventsAreWrittenInOneForm(t *testing.T) {
	want := []string{
		`{"schema":"kxm.state-event.v1","type":"propose","project":"demo","key":"release.branch","hlc":"01990d2f0c000005","at":"2026-09-01T12:00:00.000Z","nonce":"0011223344556677","actor":"agent-1","clone":"0123abcd","after":["` + id1 + `"],"head":"` + strings.Repeat("a", 40) + `","body":{"summary":"a <b> &` + "\u2028" + ` \"q\"\n\tc","authority":"evidence","confidence":"probable","evidenceRefs":["pr:12"]}}` + "\n",
	}
	all := samples()
	if got := string(all[0].Encode()); got != want[0] {
		t.Errorf("got  %swant %s", got, want[0])
	}
	for _, e := range all {
		data := e.Encode()
		if !json.Valid(data) {
			t.Errorf("%s: not JSON", data)
		}
		back, err := Parse(data)
		if err != nil {
			t.Errorf("%s: %v", data, err)
			continue
		}
		if !bytes.Equal(back.Encode(), data) {
			t.Errorf("%s became %s", data, back.Encode())
		}
		if back.Type() != e.Type() || reflect.TypeOf(back.Body) != reflect.TypeOf(e.Body) {
			t.Errorf("%s became a %s", e.Type(), back.Type())
		}
	}
}

func TestWhatAnEventMayNotBe(t *testing.T) {
	all := samples()
	propose, promote, reject, withdraw, note, review, episode := all[0], all[1], all[3], all[4], all[5], all[7], all[8]
	edit := func(e Event, pairs ...string) string {
		text := string(e.Encode())
		changed := strings.NewReplacer(pairs...).Replace(text)
		if changed == text {
			t.Fatalf("%q changes nothing in %s", pairs, text)
		}
		return changed
	}
	long := strings.Repeat("é", MaxSummary)
	for name, c := range map[string]struct {
		data  string
		field string // "": the event as a whole; "json": not JSON
	}{
		"empty":                    {"", ""},
		"no newline":               {strings.TrimSuffix(string(propose.Encode()), "\n"), ""},
		"two newlines":             {string(propose.Encode()) + "\n", ""},
		"white space":              {edit(propose, `,"key"`, `, "key"`), ""},
		"carriage return":          {edit(propose, "}\n", "}\r\n"), ""},
		"array":                    {"[]\n", ""},
		"broken":                   {"{\"schema\":\n", "json"},
		"duplicate key":            {edit(propose, `"project"`, `"type"`), "json"},
		"not UTF-8":                {edit(propose, "agent-1", "agent\xff"), "json"},
		"too large":                {edit(propose, `"body"`, `"x":"`+strings.Repeat("x", MaxEvent)+`","body"`), ""},
		"order":                    {edit(propose, `"nonce":"0011223344556677","actor":"agent-1"`, `"actor":"agent-1","nonce":"0011223344556677"`), "nonce"},
		"order in the body":        {edit(reject, `"digest":"`+strings.Repeat("f", 64)+`","why":"no"`, `"why":"no","digest":"`+strings.Repeat("f", 64)+`"`), "body.digest"},
		"other schema":             {edit(propose, "event.v1", "event.v2"), "schema"},
		"no schema":                {edit(propose, `"schema":"kxm.state-event.v1",`, ""), "schema"},
		"no type":                  {edit(propose, `"type":"propose",`, ""), "type"},
		"shared project":           {edit(propose, `"demo"`, `"_shared"`), "project"},
		"blank project":            {edit(propose, `"demo"`, `" "`), "project"},
		"long project":             {edit(propose, `"demo"`, `"`+strings.Repeat("x", 201)+`"`), "project"},
		"no key":                   {edit(propose, `"key":"release.branch",`, ""), "key"},
		"key of a journal entry":   {edit(note, `"hlc"`, `"key":"k","hlc"`), "key"},
		"key with a control":       {edit(propose, "release.branch", `a\u0001`), "key"},
		"key with a C1 control":    {edit(propose, "release.branch", "a\u0085b"), "key"},
		"key not in NFC":           {edit(propose, "release.branch", "e\u0301"), "key"},
		"key with space around":    {edit(propose, "release.branch", "a "), "key"},
		"long key":                 {edit(propose, "release.branch", strings.Repeat("é", 201)), "key"},
		"short clock":              {edit(propose, "01990d2f0c000005", "1990d2f0c000005"), "hlc"},
		"upper case clock":         {edit(propose, "01990d2f0c000005", "01990D2F0C000005"), "hlc"},
		"year 10000":               {edit(propose, "01990d2f0c000005", "e677d21fdc000000"), "hlc"},
		"at without zone":          {edit(propose, "00.000Z", "00.000"), "at"},
		"at with an offset":        {edit(propose, "00.000Z", "00.000+00:00"), "at"},
		"at as a date":             {edit(propose, "2026-09-01T12:00:00.000Z", "2026-09-01"), "at"},
		"nonce":                    {edit(propose, "0011223344556677", "00112233445566"), "nonce"},
		"no actor":                 {edit(propose, `"actor":"agent-1",`, ""), "actor"},
		"null actor":               {edit(propose, `"agent-1"`, "null"), "actor"},
		"actor is a number":        {edit(propose, `"agent-1"`, "1"), "actor"},
		"actor of two lines":       {edit(propose, "agent-1", `a\nb`), "actor"},
		"clone":                    {edit(propose, "0123abcd", "0123abcg"), "clone"},
		"after is no list":         {edit(propose, `["`+id1+`"]`, `"x"`), "after"},
		"after is no id":           {edit(propose, `["`+id1+`"]`, `["x"]`), "after"},
		"after twice":              {edit(propose, `["`+id1+`"]`, `["`+id1+`","`+id1+`"]`), "after"},
		"head":                     {edit(propose, strings.Repeat("a", 40), "main"), "head"},
		"no body":                  {edit(withdraw, `"body":{"proposal":"`+id1+`","digest":"`+strings.Repeat("f", 64)+`"}`, `"x":1`), "body"},
		"body is a list":           {edit(withdraw, `{"proposal":"`+id1+`","digest":"`+strings.Repeat("f", 64)+`"}`, `[]`), "body"},
		"empty summary":            {edit(note, `"summary":"s"`, `"summary":""`), "body.summary"},
		"blank summary":            {edit(note, `"summary":"s"`, `"summary":"\n "`), "body.summary"},
		"long summary":             {edit(note, `"summary":"s"`, `"summary":"`+long+`x"`), "body.summary"},
		"control in a summary":     {edit(note, `"summary":"s"`, `"summary":"a\rb"`), "body.summary"},
		"escape in a summary":      {edit(note, `"summary":"s"`, `"summary":"a\u001b[2J"`), "body.summary"},
		"authority":                {edit(propose, `"authority":"evidence"`, `"authority":"law"`), "body.authority"},
		"confidence":               {edit(propose, `"probable"`, `"sure"`), "body.confidence"},
		"no evidence":              {edit(propose, `["pr:12"]`, `[]`), "body.evidenceRefs"},
		"evidence twice":           {edit(propose, `["pr:12"]`, `["a","a"]`), "body.evidenceRefs"},
		"too much evidence":        {edit(propose, `["pr:12"]`, `["1`+strings.Repeat(`","x`, 32)+`"]`), "body.evidenceRefs"},
		"long evidence":            {edit(propose, `pr:12`, strings.Repeat("é", 1001)), "body.evidenceRefs"},
		"evidence is a number":     {edit(propose, `"pr:12"`, `1`), "body.evidenceRefs"},
		"promotion of no id":       {edit(promote, `"proposal":"`+id1+`"`, `"proposal":"x"`), "body.proposal"},
		"short digest":             {edit(promote, strings.Repeat("f", 64), strings.Repeat("f", 63)), "body.digest"},
		"promotion on no evidence": {edit(promote, `["r"]`, `[]`), "body.evidenceRefs"},
		"expect is no id":          {edit(promote, `"expect":["`+id2+`"]`, `"expect":["x"]`), "body.expect"},
		"expect twice":             {edit(promote, `"expect":["`+id2+`"]`, `"expect":["`+id2+`","`+id2+`"]`), "body.expect"},
		"proposal is later":        {edit(promote, `"proposal":"01990d2f0c000000`, `"proposal":"01990d2f0c000006`), "hlc"},
		"expect is as late":        {edit(promote, `"expect":["01990d2f0c000001`, `"expect":["01990d2f0c000005`), "hlc"},
		"rejection without why":    {edit(reject, `,"why":"no"`, ""), "body.why"},
		"category":                 {edit(note, `"lesson"`, `"gossip"`), "body.category"},
		"severity of two lines":    {edit(note, `"high"`, `"a\tb"`), "body.severity"},
		"journal evidence":         {edit(note, `["e"]`, `["`+strings.Repeat("x", 201)+`"]`), "body.evidence"},
		"too much of it":           {edit(note, `["e"]`, `["1`+strings.Repeat(`","x`, 16)+`"]`), "body.evidence"},
		"verdict":                  {edit(review, `"approved"`, `"fine"`), "body.to"},
		"review without why":       {edit(review, `,"why":"checked"`, ""), "body.why"},
		"review of a later entry":  {edit(review, `"entry":"01990d2f0c000000`, `"entry":"01990d2f0d000000`), "hlc"},
		"episode without a run":    {edit(episode, `"runId":"run-1",`, ""), "body.runId"},
		"entry is no id":           {edit(episode, `"entries":["`+id1, `"entries":["x`), "body.entries"},
	} {
		_, err := Parse([]byte(c.data))
		want := fault.InvalidStateEvent
		if c.field == "json" {
			want, c.field = fault.InvalidJSON, ""
		}
		if fault.CodeOf(err) != want {
			t.Errorf("%s: error %v, want %s", name, err, want)
			continue
		}
		if got := err.(*fault.Error).Field; got != c.field {
			t.Errorf("%s: field %q, want %q (%v)", name, got, c.field, err)
		}
	}
}

func TestLimitsAreInclusive(t *testing.T) {
	e := samples()[0]
	refs := []string{}
	for i := range MaxEvidenceRefs {
		refs = append(refs, strings.Repeat("é", MaxEvidenceRef-2)+string(rune('a'+i/26))+string(rune('a'+i%26)))
	}
	e.Project, e.Key, e.Actor = strings.Repeat("é", MaxProject), strings.Repeat("é", MaxKey), strings.Repeat("é", MaxLabel)
	e.Clock = maxHLC
	e.At = "9999-12-31T23:59:59.999999999Z"
	e.Body = &Proposal{Summary: strings.Repeat("é", MaxSummary), Authority: item.AuthorityPolicy, Confidence: item.ConfidenceUncertain, EvidenceRefs: refs}
	if _, err := Parse(e.Encode()); err != nil {
		t.Error(err)
	}
	if got := timeText(maxHLC.Time()); got != "9999-12-31T23:59:59.999Z" {
		t.Errorf("the last clock is %s", got)
	}
}

func TestUnknownFieldsAndTypesArePassedOver(t *testing.T) {
	e := samples()[0]
	data := bytes.Replace(e.Encode(), []byte(`"body":{`), []byte(`"zeta":[1, 2],"body":{"extra":{"a":null},`), 1)
	if _, err := Parse(data); err == nil {
		t.Error("white space in an unknown field is taken for compact")
	}
	data = bytes.Replace(data, []byte("1, 2"), []byte("1,2"), 1)
	got, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Encode(), e.Encode()) {
		t.Errorf("got %s", got.Encode())
	}
	w := newWorld(t)
	w.forge(Event{Key: "k", Body: &Unknown{Name: "merge", Raw: `{}`}}, "")
	other := samples()[0]
	other.Project = "other"
	w.records = append(w.records, Record{ID: ID(other.Encode(), other.Clock), Event: other.Encode()})
	if s := w.set(); s.Unknown != 1 || s.Foreign != 1 || len(s.Events) != 0 || len(s.Findings) != 0 {
		t.Errorf("set %+v", s)
	}
}

func TestIDsCoverTheBytes(t *testing.T) {
	e := samples()[0]
	data := e.Encode()
	id := ID(data, e.Clock)
	if clock, ok := ParseID(id); !ok || clock != e.Clock || !strings.HasPrefix(id, "01990d2f0c000005-") {
		t.Errorf("id %s", id)
	}
	for _, bad := range []string{"", id[1:], strings.ToUpper(id), id + "0", strings.Replace(id, "-", "_", 1), "e677d21fdc000000" + id[16:]} {
		if _, ok := ParseID(bad); ok {
			t.Errorf("%q is taken for an id", bad)
		}
	}
	for _, form := range []string{id, " " + id + "\n", "ctx_" + id, "journal_" + id, "episode_" + id, "proposal:" + id} {
		if got := BareID(form); got != id {
			t.Errorf("%q gives %q", form, got)
		}
	}
	w := newWorld(t)
	for _, wrong := range []string{id2, id[:len(id)-1] + "0", ""} {
		w.records = []Record{{ID: wrong, Path: "aa/x.json", Event: data}}
		s := w.set()
		if len(s.Events) != 0 || len(s.Findings) != 1 || s.Findings[0].Rule != RuleMisplaced || len(s.Gaps()) != 1 {
			t.Errorf("%s: %+v", wrong, s)
		}
	}
}

func TestSkewIsShown(t *testing.T) {
	e := samples()[0]
	for d, want := range map[time.Duration]time.Duration{0: 0, time.Minute: 0, -time.Minute: 0, time.Minute + time.Millisecond: time.Minute + time.Millisecond, -time.Hour: -time.Hour} {
		e.At, e.Clock = timeText(kxmtest.Now()), at(kxmtest.Now().Add(d))
		if got := e.Skew(); got != want {
			t.Errorf("%s: %s", d, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, e := range samples() {
		f.Add(e.Encode())
	}
	f.Add([]byte(`{"schema":"kxm.state-event.v1","type":"x","body":{"a":"\"}"}}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := Parse(data)
		if err != nil {
			if c := fault.CodeOf(err); c != fault.InvalidStateEvent && c != fault.InvalidJSON {
				t.Fatalf("error %v", err)
			}
			return
		}
		once := e.Encode()
		again, err := Parse(once)
		if err != nil {
			t.Fatalf("%s\nbecame\n%s\n%v", data, once, err)
		}
		if twice := again.Encode(); !bytes.Equal(once, twice) {
			t.Fatalf("%s\nbecame\n%s", once, twice)
		}
		if bytes.Count(once, []byte("\n")) != 1 {
			t.Fatalf("%q is not one line", once)
		}
	})
}

package prompt

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// The laws of section 12 over random conversations.

const turnsOfAConversation = 20

// conversation is a growing one: what it was given, and its history as a provider
// sees it.
type conversation struct {
	t       *testing.T
	r       *rand.Rand
	in      obj
	before  *Snapshot
	answers Answers
	bytes   []string // each request, written out
	history string
}

func newConversation(t *testing.T, seed uint64) *conversation {
	c := &conversation{t: t, r: rand.New(rand.NewPCG(seed, 12)), in: base()}
	if c.r.IntN(2) == 0 {
		delete(launchOf(c.in), "spawn")
	}
	return c
}

// turn launches, appends what is to be appended, and a message or two.
func (c *conversation) turn(compacted bool) *Launched {
	c.t.Helper()
	before := c.before
	if compacted {
		before = nil
		c.history = "summary of everything\n"
	}
	l := started(c.t, c.in, before)
	c.history += l.Update
	c.bytes = append(c.bytes, l.System+c.history)
	said := fmt.Sprintf("message %d\n", c.r.IntN(1_000))
	c.history += said
	if l.Update != "" {
		c.before = l.Snapshot
	}
	raw := l.AppendJSON(nil)
	if compacted && len(c.answers.turns) > 0 {
		c.add([]byte(`{"history":"summary of everything\n","compacted":true}`))
	}
	c.add(raw)
	c.add([]byte(fmt.Sprintf(`{"history":%q}`, said)))
	return l
}

func (c *conversation) add(raw []byte) {
	if err := c.answers.Add(raw); err != nil {
		c.t.Fatal(err)
	}
}

// change changes something that may change between turns.
func (c *conversation) change() {
	l := launchOf(c.in)
	text := fmt.Sprintf("now %d", c.r.IntN(100))
	switch c.r.IntN(8) {
	case 0:
		l["wiki"] = obj{"text": text}
	case 1:
		delete(l, "wiki")
	case 2:
		l["sessionState"] = obj{"name": text, "todo": []obj{{"text": text, "status": "open"}}}
	case 3:
		l["references"] = []obj{{"title": text, "text": text}}
	case 4:
		delete(l, "references")
	case 5:
		c.in["sections"].([]obj)[0]["body"] = text
	case 6:
		l["mode"] = []string{"normal", "plan"}[c.r.IntN(2)]
	}
}

func TestRequestsExtendOneAnother(t *testing.T) {
	for seed := range uint64(30) {
		c := newConversation(t, seed)
		system := ""
		for n := range turnsOfAConversation {
			l := c.turn(false)
			if n > 0 && l.System != system {
				t.Fatalf("seed %d: the system prompt changed in turn %d", seed, n)
			}
			system = l.System
			if n > 0 && !strings.HasPrefix(c.bytes[n], c.bytes[n-1]) {
				t.Fatalf("seed %d: request %d is no prefix of the next", seed, n-1)
			}
			c.change()
		}
		for n, common := range Compare(c.answers.Turns()) {
			if common.Share() != 1 || common.First != nil || common.Common != len(c.bytes[n]) || common.New != len(c.bytes[n+1]) {
				t.Fatalf("seed %d: request %d: %+v, and it has %d bytes, the next %d", seed, n, common, len(c.bytes[n]), len(c.bytes[n+1]))
			}
		}
	}
}

func TestAcrossACompaction(t *testing.T) {
	for seed := range uint64(30) {
		c := newConversation(t, seed)
		at := 1 + c.r.IntN(turnsOfAConversation-2)
		first := c.turn(false)
		for n := 1; n < turnsOfAConversation; n++ {
			c.change()
			l := c.turn(n == at)
			if n != at {
				continue
			}
			if whole := started(t, c.in, nil); l.Update != whole.Update {
				t.Fatalf("seed %d: after a compaction not everything is sent", seed)
			}
		}
		for n, common := range Compare(c.answers.Turns()) {
			switch {
			case n+1 != at && common.Share() != 1:
				t.Fatalf("seed %d: request %d shares %v", seed, n, common.Share())
			case n+1 == at && common.Common < len(first.System):
				t.Fatalf("seed %d: across the compaction %d bytes are shared, and the system prompt has %d", seed, common.Common, len(first.System))
			case common.Old != len(c.bytes[n]) || common.New != len(c.bytes[n+1]):
				t.Fatalf("seed %d: request %d has %d bytes, and %+v", seed, n, len(c.bytes[n]), common)
			}
		}
	}
}

// TestAChangeCostsWhatStandsBehindIt edits one stable section in turn.
func TestAChangeCostsWhatStandsBehindIt(t *testing.T) {
	in := base()
	old := started(t, in, nil)
	heading := func(id string) int {
		s := old.Pack.section(id)
		return strings.Index(old.System, "\n## "+s.Title+"\n")
	}
	for id, edit := range map[string]func(in obj){
		"tools":       func(in obj) { in["capabilities"] = capabilities(allTools[:10]...) },
		"guardrails":  func(in obj) { in["variant"].(obj)["sections"].([]obj)[1]["body"] = "Another." },
		"memory":      func(in obj) { in["variant"].(obj)["sections"].([]obj)[2]["body"] = "Another." },
		"addon-style": func(in obj) { in["sections"].([]obj)[1]["body"] = "Another." },
		"workspace":   func(in obj) { launchOf(in)["standard"].(obj)["cwd"] = "/other" },
	} {
		in := base()
		edit(in)
		var a Answers
		for _, l := range []*Launched{old, started(t, in, nil)} {
			if err := a.Add(l.AppendJSON(nil)); err != nil {
				t.Fatal(err)
			}
		}
		common := Compare(a.Turns())[0]
		if common.First == nil || common.First.Part != "system" || common.First.Section != id || common.Common < heading(id) || common.First.Offset != common.Common {
			t.Errorf("%s: %+v, %+v; its heading begins at %d", id, common, common.First, heading(id))
		}
	}
	other := base()
	other["variant"] = obj{"scope": "other", "fingerprint": "kxt1:1", "sections": []obj{{"id": "system", "body": "Answer in French."}}}
	l := started(t, other, nil)
	behind := strings.Index(old.System, "\n## Instructions\n")
	if n := commonPrefix(old.System, l.System); n < behind {
		t.Errorf("two variants share %d bytes, and identity to workspace are %d", n, behind)
	}
}

// TestUpdatesStaySmall has one dynamic section change every fifth turn.
func TestUpdatesStaySmall(t *testing.T) {
	for seed := range uint64(10) {
		c := newConversation(t, seed)
		delete(launchOf(c.in), "references")
		delete(launchOf(c.in), "requiredSkills")
		whole, total, silent, largest := 0, 0, 0, 0
		for n := range turnsOfAConversation {
			if n%5 == 4 {
				c.in["sections"].([]obj)[0]["body"] = prose(c.r, 500)
			}
			l := c.turn(false)
			switch {
			case n == 0:
				whole = len(l.Update)
			case l.Update == "":
				silent++
			default:
				largest = max(largest, len(l.Update))
			}
			total += len(l.Update)
		}
		if silent != 15 || total > whole+4*largest {
			t.Errorf("seed %d: %d turns append nothing, the updates take %d bytes, the first %d, the largest other %d", seed, silent, total, whole, largest)
		}
	}
}

func TestAnswersRefuse(t *testing.T) {
	for _, raw := range []string{`7`, `{}`, `{"history":"a"}`, `{"system":"a"}`, `{"schema":"kxm.context-pack.v1"}`, `{"schema":"kxm.prompt-launch.v1","system":7}`} {
		var a Answers
		if err := a.Add([]byte(raw)); err == nil {
			t.Errorf("%s is taken for a launch answer", raw)
		}
	}
	var a Answers
	for _, raw := range []string{
		`{"schema":"kxm.prompt-launch.v1","system":"aé","update":"u","history":"h"}`,
		`{"schema":"kxm.prompt-launch.v1","system":"aè","update":"v"}`,
	} {
		if err := a.Add([]byte(raw)); err != nil {
			t.Fatal(err)
		}
	}
	common := Compare(a.Turns())[0]
	if got := string(common.AppendJSON(nil)); got != `{"schema":"kxm.prompt-prefix.v1","commonBytes":2,"oldBytes":4,"newBytes":6,"share":0.5,"estimatedTokens":1,"first":{"part":"system","offset":2}}` {
		t.Errorf("two answers without packs give %s", got)
	}
}

func TestThousandths(t *testing.T) {
	for _, c := range []struct {
		part, whole int
		want        string
	}{{0, 0, "1"}, {0, 1, "0"}, {1, 1, "1"}, {1, 3, "0.333"}, {2, 3, "0.666"}, {1, 2, "0.5"}, {9_999, 10_000, "0.999"}, {1, 10_000, "0"}, {50, 1_000, "0.05"}} {
		if got := thousandths(c.part, c.whole); got != c.want {
			t.Errorf("%d of %d is %s, want %s", c.part, c.whole, got, c.want)
		}
	}
}

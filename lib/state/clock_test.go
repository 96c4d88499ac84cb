package state

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
)

func idAt(clock HLC) string { return clock.String() + "-" + strings.Repeat("0", 32) }

func TestClocksComeAfterWhatTheyMust(t *testing.T) {
	now := kxmtest.Now()
	tick := at(now)
	day := HLC(24*time.Hour/time.Millisecond) << counterBits
	for name, c := range map[string]struct {
		seen []Seen
		want HLC
		code fault.Code
	}{
		"nothing":                             {nil, tick, ""},
		"the past":                            {[]Seen{{ID: idAt(tick - 1), Named: true}}, tick, ""},
		"the same millisecond":                {[]Seen{{ID: idAt(tick), Credentialed: true}}, tick + 1, ""},
		"several":                             {[]Seen{{ID: idAt(tick + 7), Credentialed: true}, {ID: idAt(tick + 3), Named: true}}, tick + 8, ""},
		"a full counter":                      {[]Seen{{ID: idAt(tick + 0xffff), Named: true}}, at(now.Add(time.Millisecond)), ""},
		"neither named nor credentialed":      {[]Seen{{ID: idAt(maxHLC)}}, tick, ""},
		"named, a day ahead":                  {[]Seen{{ID: idAt(tick + day), Named: true}}, tick + day + 1, ""},
		"named, more than a day ahead":        {[]Seen{{ID: idAt(tick + day + 1<<counterBits), Named: true}}, 0, fault.StateEventFuture},
		"named, credentialed, ten years":      {[]Seen{{ID: idAt(tick + 3650*day), Named: true, Credentialed: true}}, tick + 3650*day + 1, ""},
		"credentialed, ten years":             {[]Seen{{ID: idAt(tick + 3650*day), Credentialed: true}}, tick + 3650*day + 1, ""},
		"credentialed, the last of times":     {[]Seen{{ID: idAt(maxHLC), Credentialed: true}}, 0, fault.InvalidStateEvent},
		"named, the year 9000":                {[]Seen{{ID: idAt(at(time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC))), Named: true}}, 0, fault.StateEventFuture},
		"named, after a signer's wrong clock": {[]Seen{{ID: idAt(tick + 3650*day), Credentialed: true}, {ID: idAt(tick + 3650*day + 1), Named: true}}, tick + 3650*day + 2, ""},
		"named, far after it":                 {[]Seen{{ID: idAt(tick + 3650*day), Credentialed: true}, {ID: idAt(tick + 3651*day), Named: true}}, 0, fault.StateEventFuture},
		"named, within a minute after it":     {[]Seen{{ID: idAt(tick + 3650*day), Credentialed: true}, {ID: idAt(tick + 3650*day + 60_000<<counterBits), Named: true}}, tick + 3650*day + 60_000<<counterBits + 1, ""},
		"named, a minute and more after it":   {[]Seen{{ID: idAt(tick + 3650*day), Credentialed: true}, {ID: idAt(tick + 3650*day + 60_001<<counterBits), Named: true}}, 0, fault.StateEventFuture},
		"no id":                               {[]Seen{{ID: "x", Named: true}}, 0, fault.InvalidStateEvent},
	} {
		got, err := Next(now, c.seen)
		if fault.CodeOf(err) != c.code || got != c.want {
			t.Errorf("%s: %s, %v; want %s, %q", name, got, err, c.want, c.code)
		}
	}
	for _, now := range []time.Time{time.Date(1969, 12, 31, 23, 0, 0, 0, time.UTC), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)} {
		_, err := Next(now, nil)
		wantCode(t, err, fault.InvalidStateEvent)
	}
	wantList(t, "ahead", Ahead([]string{idAt(tick - 1), idAt(tick), idAt(tick + 1), "x"}, now), idAt(tick), idAt(tick+1))
}

func TestAWriterWhoseClockIsBehindIsWarnedAndComesLater(t *testing.T) {
	w := newWorld(t)
	w.now = w.now.AddDate(10, 0, 0)
	w.promote(alice, w.propose("agent-1", "one"))
	w.now = kxmtest.Now()
	p := w.propose("agent-2", "two")
	d, err := w.as(bob, "human").Promote(w.key(branch), Promote{Proposal: p, EvidenceRefs: []string{"r"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Warnings) != 1 || d.Event.Skew() < 9*365*24*time.Hour {
		t.Errorf("warnings %q, skew %s", d.Warnings, d.Event.Skew())
	}
	w.add(d, nil)
	wantList(t, "current", current(w.key(branch)), "two")
	// An unsigned proposal from the future must be made again.
	w.now = kxmtest.Now().AddDate(1, 0, 0)
	w.tick()
	far := w.add(w.as("agent-3", "").Propose(&Key{}, Propose{Key: "fresh", Summary: "x", EvidenceRefs: []string{"r"}}))
	w.now = kxmtest.Now()
	_, err = w.as(bob, "human").Promote(w.key("fresh"), Promote{Proposal: far, EvidenceRefs: []string{"r"}})
	wantCode(t, err, fault.StateEventFuture)
	// Its presence holds nobody up.
	d, err = w.as("agent-3", "").Propose(w.key("fresh"), Propose{Key: "fresh", Summary: "x", EvidenceRefs: []string{"r"}})
	if err != nil || d.Event.Clock != at(w.now) || len(d.Event.After) != 0 {
		t.Errorf("%v, %+v", err, d)
	}
	w.sign(far, alice, "kxm-human")
	if _, err = w.as(bob, "human").Promote(w.key("fresh"), Promote{Proposal: far, EvidenceRefs: []string{"r"}}); err != nil {
		t.Errorf("signed: %v", err)
	}
}

func TestTheTrustPointIsNeverGuessed(t *testing.T) {
	commits := map[string]string{"refs/heads/main": "m", originHead: "o", "HEAD": "h"}
	for name, c := range map[string]struct {
		flag    string
		config  string // "-": not set
		missing string // revisions that do not resolve
		remote  bool
		want    string // the commit; "": none
		state   string // resolved, unresolved or a code
	}{
		"flag":                              {"refs/heads/main", "HEAD", "", true, "m", "resolved"},
		"flag that names nothing":           {"gone", "HEAD", "", false, "", "revision_not_found"},
		"configured":                        {"", "refs/heads/main", "", true, "m", "resolved"},
		"configured and gone":               {"", "gone", "", false, "", "unresolved"},
		"configured as nothing":             {"", "", "", false, "", "unresolved"},
		"the remote's branch":               {"", "-", "", true, "o", "resolved"},
		"a remote without a default branch": {"", "-", originHead, true, "", "unresolved"},
		"no remote":                         {"", "-", originHead, false, "h", "resolved"},
		"no remote and no commit":           {"", "-", originHead + " HEAD", false, "", "resolved"},
	} {
		p, err := FindPoint(Lookups{
			TrustRef:    c.flag,
			ConfigValue: func(key string) (string, bool, error) { return c.config, c.config != "-" && key == trustKey, nil },
			Resolve: func(rev string) (string, bool, error) {
				if slices.Contains(strings.Fields(c.missing), rev) {
					return "", false, nil
				}
				commit, ok := commits[rev]
				return commit, ok, nil
			},
			HasRemote: func() (bool, error) { return c.remote, nil },
		})
		state := string(fault.CodeOf(err))
		if err == nil {
			state = "unresolved"
			if p.Resolved {
				state = "resolved"
			}
			if p.Why == "" {
				t.Errorf("%s: no reason", name)
			}
		}
		if state != c.state || p.Commit != c.want {
			t.Errorf("%s: %s, %+v, %v", name, state, p, err)
		}
	}
	broken := errors.New("broken")
	fail := func(string) (string, bool, error) { return "", false, broken }
	none := func(string) (string, bool, error) { return "", false, nil }
	for name, l := range map[string]Lookups{
		"flag":          {TrustRef: "x", Resolve: fail},
		"configuration": {ConfigValue: fail},
		"revision":      {ConfigValue: none, Resolve: fail},
		"remote":        {ConfigValue: none, Resolve: none, HasRemote: func() (bool, error) { return false, broken }},
	} {
		if p, err := FindPoint(l); !errors.Is(err, broken) || p.Resolved {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

func TestTheDigestOfTrustIsOfAllThatAnswersDependOn(t *testing.T) {
	base := everyone(t)
	point := resolved
	point.Name = "another"
	renamed, err := NewTrust(point, []byte(base), nil)
	if err != nil {
		t.Fatal(err)
	}
	none, err := NewTrust(Point{}, []byte(base), nil)
	if err != nil {
		t.Fatal(err)
	}
	digests := map[string]string{
		"base":            trusting(t, base, "").digestFor("demo", "1"),
		"another signer":  trusting(t, base+line(t, "x", `namespaces="kxm-human"`, "spare"), "").digestFor("demo", "1"),
		"a comment":       trusting(t, base+"# x\n", "").digestFor("demo", "1"),
		"require signed":  trusting(t, base, "[state]\nrequireSigned = true\n").digestFor("demo", "1"),
		"self promotion":  trusting(t, base, "[state]\nselfPromotion = true\n").digestFor("demo", "1"),
		"format":          trusting(t, base, "[state]\nformat = 2\n").digestFor("demo", "1"),
		"another project": trusting(t, base, "").digestFor("demo2", "1"),
		"another version": trusting(t, base, "").digestFor("demo", "2"),
		"the two run on":  trusting(t, base, "").digestFor("demo1", ""),
		"no trust point":  none.digestFor("demo", "1"),
	}
	seen := map[string]string{}
	for name, d := range digests {
		if other, ok := seen[d]; ok {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[d] = name
	}
	// Where the files stand, and what is in others, does not matter.
	for name, other := range map[string]*Trust{"another name": renamed, "another table": trusting(t, base, "project = 'x'\n")} {
		if other.digestFor("demo", "1") != digests["base"] {
			t.Errorf("%s has another digest", name)
		}
	}
}

func TestABrokenConfigurationAtTheTrustPointIsNotGuessed(t *testing.T) {
	_, err := NewTrust(resolved, nil, []byte("[state]\nrequireSigned = 'yes'\n"))
	wantCode(t, err, fault.ConfigInvalid)
}

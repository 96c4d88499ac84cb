package state

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"kxm/lib/fault"
	"kxm/lib/item"
)

// refusals runs verbs that must be refused on one world, which they must not change.
type attempt struct {
	code  fault.Code
	field string
	do    func() error
}

func TestWhatProposeRefuses(t *testing.T) {
	w := newWorld(t)
	propose := func(writer *Writer, edit func(*Propose)) func() error {
		return func() error {
			r := Propose{Key: branch, Summary: "s", EvidenceRefs: []string{"pr:12"}}
			if edit != nil {
				edit(&r)
			}
			d, err := writer.Propose(&Key{}, r)
			if err == nil {
				if _, err := Parse(d.Bytes); err != nil {
					t.Errorf("what was written does not parse: %v", err)
				}
			}
			return err
		}
	}
	agent := w.as("agent-1", "")
	with := func(edit func(*Writer)) *Writer { c := *w.as("agent-1", ""); edit(&c); return &c }
	signed := w.trust
	unresolved, _ := NewTrust(Point{Why: "there is a remote"}, nil, nil)
	strict := trusting(t, everyone(t), "[state]\nrequireSigned = true\n")
	newer := trusting(t, everyone(t), "[state]\nformat = 2\n")
	as := func(who string, origin item.Origin, trust *Trust) *Writer {
		c := w.as(who, origin)
		c.Trust = trust
		return c
	}
	for name, a := range map[string]attempt{
		"fine":                              {"", "", propose(agent, nil)},
		"fine with all":                     {"", "", propose(agent, func(r *Propose) { r.ProposedBy, r.Authority, r.Confidence = "agent-1", "hypothesis", "verified" })},
		"windows line ends":                 {"", "", propose(agent, func(r *Propose) { r.Summary = "a\r\nb\n" })},
		"evidence twice":                    {"", "", propose(agent, func(r *Propose) { r.EvidenceRefs = []string{"a", " a "} })},
		"no actor":                          {fault.ActorUnknown, "", propose(with(func(w *Writer) { w.Actor = " " }), nil)},
		"no key":                            {fault.InvalidStateEvent, "key", propose(agent, func(r *Propose) { r.Key = " " })},
		"key with a newline":                {fault.InvalidStateEvent, "key", propose(agent, func(r *Propose) { r.Key = "a\nb" })},
		"long key":                          {fault.InvalidStateEvent, "key", propose(agent, func(r *Propose) { r.Key = strings.Repeat("k", 201) })},
		"no summary":                        {fault.InvalidStateEvent, "summary", propose(agent, func(r *Propose) { r.Summary = "\n" })},
		"long summary":                      {fault.InvalidStateEvent, "summary", propose(agent, func(r *Propose) { r.Summary = strings.Repeat("s", 4001) })},
		"escape in the summary":             {fault.InvalidStateEvent, "summary", propose(agent, func(r *Propose) { r.Summary = "\x1b[2J" })},
		"summary is not UTF-8":              {fault.InvalidStateEvent, "summary", propose(agent, func(r *Propose) { r.Summary = "\xff" })},
		"no evidence":                       {fault.InvalidStateEvent, "evidence", propose(agent, func(r *Propose) { r.EvidenceRefs = nil })},
		"blank evidence":                    {fault.InvalidStateEvent, "evidence", propose(agent, func(r *Propose) { r.EvidenceRefs = []string{" "} })},
		"33 references":                     {fault.InvalidStateEvent, "evidence", propose(agent, func(r *Propose) { r.EvidenceRefs = numbered(33) })},
		"authority":                         {fault.InvalidStateEvent, "authority", propose(agent, func(r *Propose) { r.Authority = "law" })},
		"confidence":                        {fault.InvalidStateEvent, "confidence", propose(agent, func(r *Propose) { r.Confidence = "sure" })},
		"unsigned instruction":              {fault.ContextAuthorityViolation, "authority", propose(agent, func(r *Propose) { r.Authority = "instruction" })},
		"peer's policy":                     {fault.ContextAuthorityViolation, "authority", propose(w.as(bot, "peer"), func(r *Propose) { r.Authority = "policy" })},
		"human's policy":                    {"", "", propose(w.as(alice, "human"), func(r *Propose) { r.Authority = "policy" })},
		"workflow's policy":                 {"", "", propose(w.as(ci, "workflow"), func(r *Propose) { r.Authority = "policy" })},
		"proposed by another":               {fault.StateProposerMismatch, "proposedBy", propose(agent, func(r *Propose) { r.ProposedBy = "agent-2" })},
		"proposed by the signer":            {"", "", propose(w.as(alice, "human"), func(r *Propose) { r.ProposedBy = alice })},
		"proposed by the signer's label":    {fault.StateProposerMismatch, "proposedBy", propose(with(func(c *Writer) { c.Signing = w.as(alice, "human").Signing }), func(r *Propose) { r.ProposedBy = "agent-1" })},
		"unsigned under a signer's name":    {"", "", propose(w.as(alice, ""), nil)},
		"secret in the summary":             {fault.SecretFound, "summary", propose(agent, func(r *Propose) { r.Summary = "use " + secret })},
		"secret in the evidence":            {fault.SecretFound, "evidence", propose(agent, func(r *Propose) { r.EvidenceRefs = []string{secret} })},
		"secret in the key":                 {fault.SecretFound, "key", propose(agent, func(r *Propose) { r.Key = secret })},
		"secret in the actor":               {fault.SecretFound, "actor", propose(with(func(w *Writer) { w.Actor = secret }), nil)},
		"secret in the key, to be masked":   {fault.SecretFound, "key", propose(with(func(w *Writer) { w.Redact = true }), func(r *Propose) { r.Key = secret })},
		"secret in the summary, masked":     {"", "", propose(with(func(w *Writer) { w.Redact = true }), func(r *Propose) { r.Summary = "use " + secret })},
		"shared project":                    {fault.InvalidStateEvent, "project", propose(with(func(w *Writer) { w.Project = "_shared" }), nil)},
		"bad clone":                         {fault.InvalidStateEvent, "clone", propose(with(func(w *Writer) { w.Clone = "" }), nil)},
		"human, unattended":                 {fault.StatePersonRequired, "", propose(func() *Writer { c := w.as(alice, "human"); c.Unattended = true; return c }(), nil)},
		"workflow, unattended":              {"", "", propose(func() *Writer { c := w.as(ci, "workflow"); c.Unattended = true; return c }(), nil)},
		"signed without a trust point":      {fault.StateTrustUnresolved, "", propose(as(alice, "human", unresolved), nil)},
		"unsigned without a trust point":    {"", "", propose(as("agent-1", "", unresolved), nil)},
		"signed where nobody may":           {fault.AdminAuthNotConfigured, "", propose(as(alice, "human", trusting(t, "", "")), nil)},
		"signed by a stranger":              {fault.InvalidAuth, "", propose(as(mallory, "human", signed), nil)},
		"signed in another namespace":       {fault.InvalidAuth, "", propose(as(ci, "human", signed), nil)},
		"signed as git":                     {fault.Usage, "", propose(as(alice, "git", signed), nil)},
		"unsigned where signing is a must":  {fault.InvalidAuth, "", propose(as("agent-1", "", strict), nil)},
		"signed where it is a must":         {"", "", propose(as(bot, "peer", strict), nil)},
		"newer format":                      {fault.StateFormatUnknown, "", propose(as("agent-1", "", newer), nil)},
		"first of all: who may not act":     {fault.ActorUnknown, "", propose(with(func(w *Writer) { w.Actor = "" }), func(r *Propose) { r.Summary = "" })},
		"signer whose line begins tomorrow": {fault.InvalidAuth, "", propose(as(alice, "human", trusting(t, line(t, alice, `namespaces="kxm-human",valid-after="20260902Z"`, alice), "")), nil)},
	} {
		err := a.do()
		if fault.CodeOf(err) != a.code {
			t.Errorf("%s: %v, want %q", name, err, a.code)
			continue
		}
		if err == nil {
			continue
		}
		if f := err.(*fault.Error); f.Field != a.field && a.field != "" {
			t.Errorf("%s: field %q, want %q", name, f.Field, a.field)
		}
		if strings.Contains(fmt.Sprintf("%+v", err), secret) {
			t.Errorf("%s: the message holds the secret", name)
		}
	}
}

func numbered(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("r%d", i)
	}
	return list
}

func TestARedactedProposalHoldsNoSecret(t *testing.T) {
	w := newWorld(t)
	writer := w.as("agent-1", "")
	writer.Redact = true
	d, err := writer.Propose(&Key{}, Propose{Key: branch, Summary: "use " + secret + " now", EvidenceRefs: []string{secret, secret[:len(secret)-1] + "x"}})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(d.Bytes), secret[4:20]) || d.Masked != 3 {
		t.Errorf("%d masked in %s", d.Masked, d.Bytes)
	}
	if body := d.Event.Body.(*Proposal); body.Summary != "use [redacted:github-pat] now" || len(body.EvidenceRefs) != 1 {
		t.Errorf("body %+v", body)
	}
}

func TestKeysAreWrittenInOneForm(t *testing.T) {
	w := newWorld(t)
	d, err := w.as("agent-1", "").Propose(&Key{}, Propose{Key: " e\u0301tat ", Summary: "s", EvidenceRefs: []string{"r"}})
	if err != nil || d.Event.Key != "\u00e9tat" {
		t.Errorf("%v, %+v", err, d)
	}
}

func TestWhatDecisionsRefuse(t *testing.T) {
	w := newWorld(t)
	p, own := w.propose("agent-1", "one"), w.propose(alice, "two")
	w.tick()
	claim := w.forge(Event{Key: branch, Body: &Proposal{Summary: "s", Authority: "policy", Confidence: "verified", EvidenceRefs: []string{"r"}}}, "")
	m := w.promote(bob, w.propose("agent-3", "now"))
	closed := w.key(branch).Current[0].Proposal.ID
	w.tick()
	k := w.key(branch)
	missing := idAt(at(w.now))
	writer := func(who string, origin item.Origin, edit func(*Writer)) *Writer {
		c := w.as(who, origin)
		if edit != nil {
			edit(c)
		}
		return c
	}
	human := writer(alice, "human", nil)
	unresolved, _ := NewTrust(Point{Why: "there is a remote"}, nil, nil)
	promote := func(writer *Writer, id string, expect []string, refs ...string) func() error {
		return func() error {
			_, err := writer.Promote(k, Promote{Proposal: id, EvidenceRefs: refs, Expect: expect})
			return err
		}
	}
	end := func(how Type, writer *Writer, id, why string) func() error {
		return func() error {
			_, err := writer.end(how, k, End{Proposal: id, Why: why})
			return err
		}
	}
	none := []string{}
	for name, a := range map[string]attempt{
		"promote":                               {"", "", promote(human, p, nil, "r")},
		"promote by an item's id":               {"", "", promote(human, "ctx_"+p, nil, "r")},
		"promote as workflow":                   {"", "", promote(writer(ci, "workflow", nil), p, nil, "r")},
		"expect what is current":                {"", "", promote(human, p, []string{m}, "r")},
		"expect it twice":                       {"", "", promote(human, p, []string{m, "ctx_" + m}, "r")},
		"expect none":                           {fault.StateConflict, "", promote(human, p, none, "r")},
		"expect another":                        {fault.StateConflict, "", promote(human, p, []string{p}, "r")},
		"expect no id":                          {fault.InvalidStateEvent, "expect", promote(human, p, []string{"none"}, "r")},
		"no evidence":                           {fault.InvalidStateEvent, "evidence", promote(human, p, nil)},
		"secret evidence":                       {fault.SecretFound, "evidence", promote(human, p, nil, secret)},
		"author":                                {fault.StatePromotionInvalid, "", promote(human, own, nil, "r")},
		"no such proposal":                      {fault.StateProposalNotFound, "", promote(human, missing, nil, "r")},
		"no id at all":                          {fault.StateProposalNotFound, "", promote(human, secret, nil, "r")},
		"not a proposal":                        {fault.StateProposalNotFound, "", promote(human, m, nil, "r")},
		"promoted before":                       {fault.StateProposalNotPromotable, "", promote(human, closed, nil, "r")},
		"claims too much":                       {fault.StateProposalNotPromotable, "", promote(human, claim, nil, "r")},
		"peer promotes":                         {fault.InvalidAuth, "", promote(writer(bot, "peer", nil), p, nil, "r")},
		"stranger promotes":                     {fault.InvalidAuth, "", promote(writer(mallory, "human", nil), p, nil, "r")},
		"nobody signs":                          {fault.SigningKeyMissing, "", promote(writer("agent-9", "", nil), p, nil, "r")},
		"unattended":                            {fault.StatePersonRequired, "", promote(writer(alice, "human", func(w *Writer) { w.Unattended = true }), p, nil, "r")},
		"no trust point":                        {fault.StateTrustUnresolved, "", promote(writer(alice, "human", func(w *Writer) { w.Trust = unresolved }), p, nil, "r")},
		"no trust point and no key":             {fault.StateTrustUnresolved, "", promote(writer("x", "", func(w *Writer) { w.Trust = unresolved }), p, nil, "r")},
		"no signers":                            {fault.AdminAuthNotConfigured, "", promote(writer(alice, "human", func(w *Writer) { w.Trust = trusting(t, "", "") }), p, nil, "r")},
		"credentials before the proposal":       {fault.InvalidAuth, "", promote(writer(mallory, "human", nil), missing, nil, "r")},
		"reject":                                {"", "", end(TypeReject, human, p, "no")},
		"reject one's own":                      {"", "", end(TypeReject, human, own, "no")},
		"reject without why":                    {fault.InvalidStateEvent, "why", end(TypeReject, human, p, "")},
		"reject with a secret":                  {fault.SecretFound, "why", end(TypeReject, human, p, "it held "+secret)},
		"reject unsigned":                       {fault.SigningKeyMissing, "", end(TypeReject, writer("agent-1", "", nil), p, "no")},
		"reject as peer":                        {fault.InvalidAuth, "", end(TypeReject, writer(bot, "peer", nil), p, "no")},
		"reject nothing":                        {fault.StateProposalNotFound, "", end(TypeReject, human, missing, "no")},
		"reject what was promoted":              {fault.StateProposalNotPromotable, "", end(TypeReject, human, closed, "no")},
		"withdraw":                              {"", "", end(TypeWithdraw, writer("agent-1", "", nil), p, "")},
		"withdraw another's":                    {fault.StateProposerMismatch, "", end(TypeWithdraw, writer("agent-2", "", nil), p, "")},
		"withdraw what was promoted":            {fault.StateProposalNotPromotable, "", end(TypeWithdraw, writer("agent-3", "", nil), closed, "")},
		"a line that ends before the new clock": {fault.InvalidAuth, "", promote(writer(alice, "human", func(w *Writer) { w.Trust = endsSoon(t); w.Now = w.Now.Add(-6 * time.Minute) }), p, nil, "r")},
	} {
		err := a.do()
		if fault.CodeOf(err) != a.code {
			t.Errorf("%s: %v, want %q", name, err, a.code)
			continue
		}
		if err == nil {
			continue
		}
		if f := err.(*fault.Error); f.Field != a.field && a.field != "" {
			t.Errorf("%s: field %q, want %q", name, f.Field, a.field)
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the message holds the secret", name)
		}
	}
}

// endsSoon trusts alice until a minute after the tests' clock.
func endsSoon(t *testing.T) *Trust {
	return trusting(t, line(t, alice, `namespaces="kxm-human",valid-before="202609011201Z"`, alice)+line(t, bob, `namespaces="kxm-human"`, bob), "")
}

func TestAPromotionComparesAndSets(t *testing.T) {
	w := newWorld(t)
	one, two := w.propose("agent-1", "one"), w.propose("agent-2", "two")
	w.tick()
	before := w.key(branch)
	promote, err := w.as(alice, "human").Promote(before, Promote{Proposal: one, EvidenceRefs: []string{"r"}})
	if err != nil {
		t.Fatal(err)
	}
	reject, err := w.as(alice, "human").Reject(before, End{Proposal: two, Why: "no"})
	if err != nil {
		t.Fatal(err)
	}
	propose, err := w.as("agent-3", "").Propose(before, Propose{Key: branch, Summary: "three", EvidenceRefs: []string{"r"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []*Draft{promote, reject, propose} {
		if err := d.Recheck(w.key(branch)); err != nil {
			t.Errorf("%s on an unchanged key: %v", d.Event.Type(), err)
		}
	}
	w.propose("agent-4", "four") // nothing that any of them depends on
	for _, d := range []*Draft{promote, reject, propose} {
		if err := d.Recheck(w.key(branch)); err != nil {
			t.Errorf("%s beside another proposal: %v", d.Event.Type(), err)
		}
	}
	w.promote(bob, two)
	wantCode(t, promote.Recheck(w.key(branch)), fault.StateConflict)
	again, err := w.as(alice, "human").Promote(w.key(branch), Promote{Proposal: one, EvidenceRefs: []string{"r"}})
	if err != nil {
		t.Fatal(err)
	}
	w.promote(bob, w.propose("agent-5", "five")) // one current value, as before, but another
	wantCode(t, again.Recheck(w.key(branch)), fault.StateConflict)
	wantCode(t, reject.Recheck(w.key(branch)), fault.StateProposalNotPromotable)
	if err := propose.Recheck(w.key(branch)); err != nil {
		t.Error(err)
	}
}

func TestNewEventsNameTheHeads(t *testing.T) {
	w := newWorld(t)
	one := w.propose("agent-1", "one")
	two := w.propose("agent-2", "two")
	m := w.promote(alice, one)
	after := func(id string) []string { return w.find(id).After }
	wantList(t, "first", after(one))
	wantList(t, "second", after(two), one)
	wantList(t, "promotion", after(m), two)
	for i := range MaxAfter + 10 { // as many heads as merges bring
		w.forge(Event{Key: branch, Clock: at(w.now) + HLC(i) + 1, Body: &Proposal{Summary: "x", Authority: "evidence", Confidence: "probable", EvidenceRefs: []string{"r"}}}, "")
	}
	last := w.propose("agent-1", "last")
	if got := after(last); len(got) != MaxAfter || !strings.HasPrefix(got[MaxAfter-1], (at(w.now.Add(-time.Minute))+MaxAfter+10).String()) {
		t.Errorf("%d heads, the last %s", len(got), got[len(got)-1])
	}
}

func TestWhoMayAddASignature(t *testing.T) {
	w := newWorld(t)
	p := w.propose("agent-1", "one")
	m := w.promote(bob, p)
	claim := w.forge(Event{Key: branch, Body: &Proposal{Summary: "s", Authority: "policy", Confidence: "verified", EvidenceRefs: []string{"r"}}}, "")
	byAlice := w.propose(alice, "two")
	mb := w.promote(bob, byAlice)
	w.now = w.now.AddDate(1, 0, 0)
	late := trusting(t, line(t, alice, `namespaces="kxm-human",valid-after="20270101Z"`, alice), "")
	unresolved, _ := NewTrust(Point{Why: "there is a remote"}, nil, nil)
	for name, c := range map[string]struct {
		code   fault.Code
		who    string
		origin item.Origin
		event  string
		edit   func(*Writer)
	}{
		"human":                             {"", alice, "human", p, nil},
		"peer":                              {"", bot, "peer", p, nil},
		"promotion":                         {"", alice, "human", m, nil},
		"promotion as peer":                 {fault.InvalidAuth, bot, "peer", m, nil},
		"claim":                             {"", alice, "human", claim, nil},
		"claim as peer":                     {fault.ContextAuthorityViolation, bot, "peer", claim, nil},
		"author's promotion":                {fault.StatePromotionInvalid, alice, "human", mb, nil},
		"stranger":                          {fault.InvalidAuth, mallory, "human", p, nil},
		"no key":                            {fault.SigningKeyMissing, "x", "", p, nil},
		"no trust point":                    {fault.StateTrustUnresolved, alice, "human", p, func(w *Writer) { w.Trust = unresolved }},
		"unattended":                        {fault.StatePersonRequired, alice, "human", p, func(w *Writer) { w.Unattended = true }},
		"a line that began after the event": {fault.InvalidAuth, alice, "human", p, func(w *Writer) { w.Trust = late }},
	} {
		writer := w.as(c.who, c.origin)
		if c.edit != nil {
			c.edit(writer)
		}
		e := w.find(c.event)
		var about *Checked
		if body, ok := e.Body.(*Promotion); ok {
			about = w.find(body.Proposal)
		}
		got, err := writer.Countersign(e, about)
		if fault.CodeOf(err) != c.code || err == nil && got.Origin != c.origin {
			t.Errorf("%s: %+v, %v, want %q", name, got, err, c.code)
		}
	}
}

func TestASignerInTheWorktreeAloneIsRecognised(t *testing.T) {
	s := Signing{Key: keyOf(t, "spare").Key(), Origin: item.OriginHuman}
	list := []byte(line(t, "new", `namespaces="kxm-human"`, "spare"))
	if !Grants(list, s, time.Now()) || Grants([]byte(everyone(t)), s, time.Now()) {
		t.Error("a list grants what it does not say")
	}
}

package main

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/state"
)

// journalCmd groups the verbs of the journal.
type journalCmd struct {
	Add    journalAddCmd    `cmd:"" help:"Add an entry."`
	List   journalListCmd   `cmd:"" help:"Print entries and episodes, oldest first."`
	Review journalReviewCmd `cmd:"" help:"Approve, reject or quarantine an entry or an episode; signed."`
}

type journalAddCmd struct {
	writing
	signable
	Category string   `arg:"" optional:"" name:"category" oneof:"plan,decision,contradiction,error,lesson,observation,hypothesis,experiment,state-change,skill-candidate" help:"plan, decision, contradiction, error, lesson, observation, hypothesis, experiment, state-change or skill-candidate; without it entries are read as JSON objects from standard input."`
	Summary  string   `arg:"" optional:"" name:"summary" help:"What happened, at most 4,000 characters."`
	RunID    string   `name:"run" placeholder:"ID" help:"The run."`
	StageID  string   `name:"stage" placeholder:"ID" help:"The stage."`
	Severity string   `placeholder:"S" help:"A free label."`
	Area     string   `placeholder:"A" help:"A free label."`
	Evidence []string `placeholder:"REF" sep:"none" help:"A reference; at most 16 of at most 200 characters, one flag each."`
}

// Codes names what the command can end with.
func (*journalAddCmd) Codes() []fault.Code {
	return signCodes(fault.SecretFound, fault.InvalidJSON)
}

// Help says what stands on standard input.
func (*journalAddCmd) Help() string {
	return `Without arguments entries are read from standard input, one object each, and written in one commit:

  {"category":"lesson","summary":"Cut releases from main","runId":"run-1","stageId":"plan",
   "severity":"low","area":"release","evidence":["log:17"]}

The first two are required. What the flags say counts where an object says nothing.`
}

// Run writes the entries in one commit and prints them as items.
func (c *journalAddCmd) Run(s *cli.Session) error {
	entries, err := c.commands(s)
	if err != nil {
		return err
	}
	return c.note(s, entries)
}

// commands is what the arguments say, or the objects on standard input.
func (c *journalAddCmd) commands(s *cli.Session) ([]command, error) {
	flags := state.Command{
		Verb: state.TypeJournal, Category: c.Category, Summary: c.Summary, Severity: c.Severity, Area: c.Area, Run: c.RunID, Stage: c.StageID,
		Evidence: c.Evidence, Origin: item.Origin(c.Origin),
	}
	if c.Category != "" {
		if strings.TrimSpace(c.Summary) == "" {
			return nil, fault.New(fault.Usage, "an entry needs a category and a summary")
		}
		return []command{{Command: flags}}, nil
	}
	all, err := readCommands(s, state.TypeJournal)
	for i := range all {
		all[i].fill(flags)
	}
	return all, err
}

// note carries out commands that write to the journal and prints their items.
func (w writing) note(s *cli.Session, commands []command) error {
	ctx := context.Background()
	d, err := w.open(ctx, s)
	if err != nil {
		return err
	}
	drafts, err := w.act(ctx, d, commands...)
	if err != nil {
		return err
	}
	events := make([]state.Checked, len(drafts))
	for i, draft := range drafts {
		events[i] = *draft.Checked()
	}
	journal := state.FoldJournal(events, d.Trust, time.Time{})
	var out []byte
	for _, draft := range drafts {
		out = append(journal.Find(draft.ID).Item.AppendJSON(out), '\n')
	}
	s.Write(out)
	return nil
}

type journalListCmd struct {
	reading
	past
	Category string `placeholder:"C,C" listof:"plan,decision,contradiction,error,lesson,observation,hypothesis,experiment,state-change,skill-candidate" help:"Only these categories: plan, decision, contradiction, error, lesson, observation, hypothesis, experiment, state-change, skill-candidate."`
	RunID    string `name:"run" placeholder:"ID" help:"Only entries of this run."`
	Status   string `placeholder:"S" enum:"current,rejected,proposed,unreviewed," default:"" help:"Only current (approved), rejected (rejected or quarantined), proposed (skill candidates) or unreviewed ones."`
}

// Codes names what the command can end with.
func (*journalListCmd) Codes() []fault.Code { return storeCodes() }

// Run prints the items, oldest first, then gaps.
func (c *journalListCmd) Run(s *cli.Session) error {
	ctx := context.Background()
	when, err := c.when()
	if err != nil {
		return err
	}
	var categories []string
	if c.Category != "" {
		for _, word := range strings.Split(c.Category, ",") {
			word = strings.TrimSpace(word)
			if !slices.Contains(item.JournalCategories(), word) {
				return fault.New(fault.Usage, "--category: %s is not one of %s", fault.Quote(word), strings.Join(item.JournalCategories(), ", "))
			}
			categories = append(categories, word)
		}
	}
	d, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	listing, err := d.Listing(ctx, when, state.ItemFilter{Journal: true, Ended: true})
	if err != nil {
		return err
	}
	emitRows(s, listing.OldestFirst(), func(r *state.Row) bool {
		status := string(cmp.Or(r.Status, "unreviewed"))
		return (categories == nil || slices.Contains(categories, r.Category)) && (c.RunID == "" || r.RunID == c.RunID) && (c.Status == "" || status == c.Status)
	})
	emitGaps(s, listing.Gaps)
	return nil
}

type journalReviewCmd struct {
	deciding
	Entry    string   `arg:"" name:"entry" help:"The id of an entry or an episode."`
	To       string   `required:"" placeholder:"V" enum:"approved,rejected,quarantined" help:"approved, rejected or quarantined."`
	Why      string   `required:"" placeholder:"TEXT" help:"The reason."`
	Evidence []string `placeholder:"REF" sep:"none" help:"What the verdict rests on; at most 32, one flag each."`
}

// Codes names what the command can end with.
func (*journalReviewCmd) Codes() []fault.Code { return decideCodes(fault.StateEventNotFound) }

// Run writes the review and prints the entry as it is now.
func (c *journalReviewCmd) Run(s *cli.Session) error {
	ctx := context.Background()
	d, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	drafts, err := c.act(ctx, d, command{Command: state.Command{
		Verb: state.TypeReview, Entry: c.Entry, To: state.Verdict(c.To), Why: c.Why, Evidence: c.Evidence, Origin: item.Origin(c.Origin),
	}})
	if err != nil {
		return err
	}
	listing, err := d.Listing(ctx, state.When{}, state.ItemFilter{Journal: true, Ended: true})
	if err != nil {
		return err
	}
	entry := drafts[0].Event.Body.(*state.Review).Entry
	row, ok := listing.Entry(entry)
	if !ok { // its signature was found good before the review was made
		return fault.New(fault.StateEventNotFound, "the entry %s does not count any more", entry)
	}
	s.WriteString(row.JSON + "\n")
	return nil
}

package prompt

import (
	"strings"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
	"kxm/lib/prompt/text"
)

// Budgets of a checkpoint, in code points.
const (
	CheckpointBudget = 12_000 // all of it
	requestBudget    = 4_000
	todoBudget       = 3_000
	planBudget       = 4_000
)

// State is what is left of a run at a compaction: all that a checkpoint is made of.
type State struct {
	Request          string
	Todo             []Todo
	Plan             string // applicable instructions of plan mode
	Compaction       string // the id of the compaction's entry
	StartedCompacted bool   // the run began on compacted history
}

// ParseState reads the state of one JSON object. No other field of it is read.
func ParseState(raw []byte) (State, error) {
	var s State
	m, err := validated(raw)
	if err != nil {
		return s, err
	}
	return s, refused(m.object(func(key string, m member) error {
		switch key {
		case "request":
			return m.text(&s.Request)
		case "todo":
			return readTodo(m, &s.Todo)
		case "plan":
			return m.only("body", &s.Plan)
		case "compaction":
			return m.line(&s.Compaction, MaxLabel)
		case "startedCompacted":
			return m.flag(&s.StartedCompacted)
		}
		return nil
	}))
}

// Checkpoint is the message that a harness inserts directly after the summary of a
// compaction, the same in every later request of the run.
type Checkpoint struct {
	For  string
	Text string
	Cut  []CheckpointCut
}

// CheckpointCut says how much of a field was left out.
type CheckpointCut struct {
	Field      string
	Characters int
}

// NewCheckpoint builds the checkpoint of a state. A run without a todo list or plan,
// and one that began on compacted history, has none: fault.PromptNoCheckpoint.
func NewCheckpoint(s State) (*Checkpoint, error) {
	switch {
	case s.StartedCompacted:
		return nil, fault.New(fault.PromptNoCheckpoint, "the run began on compacted history, whose summary it was given")
	case len(s.Todo) == 0 && s.Plan == "":
		return nil, fault.New(fault.PromptNoCheckpoint, "the run had neither a todo list nor a plan at the compaction")
	}
	c := newCleaner()
	point := &Checkpoint{For: c.cleanName("", s.Compaction, MaxLabel)}
	intro, _ := text.Fixed("checkpoint")
	blocks := []string{intro.Body}
	add := func(field, block string, cut int) {
		blocks = append(blocks, frame("checkpoint."+field), block)
		if cut > 0 {
			point.Cut = append(point.Cut, CheckpointCut{field, cut})
		}
	}
	if s.Request != "" {
		block, cut := fenced(c.clean("", s.Request), requestBudget, "")
		add("request", block, cut)
	}
	if len(s.Todo) > 0 {
		block, cut := Fit(c.todo("", s.Todo), todoBudget, "")
		add("todo", block, cut)
	}
	if s.Plan != "" {
		block, cut := closed(c.clean("", s.Plan), planBudget, "")
		add("plan", block, cut)
	}
	point.Text = strings.Join(blocks, blank) + "\n"
	return point, nil
}

// AppendJSON appends the checkpoint as one compact JSON object.
func (c *Checkpoint) AppendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("schema", CheckpointSchema)
	o.Optional("for", c.For)
	o.Text("place", "after-compaction-summary")
	o.Flag("persist", false)
	o.Text("text", c.Text)
	o.Number("size", length(c.Text))
	o.Name("cut")
	o.Bytes = appendList(o.Bytes, c.Cut, func(o *ndjson.Object, cut *CheckpointCut) {
		o.Text("field", cut.Field)
		o.Number("characters", cut.Characters)
	})
	return o.End()
}

package memory

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"kxm/lib/item"
	"kxm/lib/ndjson"
)

// BriefSchema names the JSON form of a brief.
const BriefSchema = "kxm.memory-brief.v1"

// Brief is the facts that an agent starts with.
type Brief struct {
	GeneratedAt time.Time
	Facts       []Fact // by id
	Omitted     int    // facts that the budget kept out
}

// NewBrief returns the brief of the facts, given by id. A budget above 0 bounds
// the estimated tokens of the fact lines: facts are then taken first-fit in the
// order of authority, confidence and id, and stay sorted by id.
func NewBrief(facts []Fact, budget int, now time.Time) Brief {
	b := Brief{GeneratedAt: now, Facts: facts}
	if budget <= 0 {
		return b
	}
	order := make([]int, len(facts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(facts[j].Authority.Rank(), facts[i].Authority.Rank()),
			cmp.Compare(facts[j].Confidence.Rank(), facts[i].Confidence.Rank()), cmp.Compare(i, j))
	})
	var taken []int
	size := 0
	for _, i := range order {
		n := utf8.RuneCountInString(briefLine(&facts[i])) + 1
		if item.Tokens(size+n) <= budget {
			size += n
			taken = append(taken, i)
		}
	}
	slices.Sort(taken)
	b.Facts = make([]Fact, len(taken))
	for k, i := range taken {
		b.Facts[k] = facts[i]
	}
	b.Omitted = len(facts) - len(taken)
	return b
}

func briefLine(f *Fact) string {
	return "• [" + string(f.Scope) + "] [" + flatten(f.Kind) + "] " + flatten(f.Summary) + " (" + f.ID + ")"
}

// Text returns the brief as people and prompts read it, ended by a line break.
// Facts that a budget kept out are counted in a last line.
func (b Brief) Text() string {
	if len(b.Facts) == 0 && b.Omitted == 0 {
		return "No active project memory facts.\n"
	}
	var s strings.Builder
	n := strconv.Itoa(len(b.Facts))
	if len(b.Facts) == 1 {
		s.WriteString("Project memory (1 active fact):\n\n")
	} else {
		s.WriteString("Project memory (" + n + " active facts):\n\n")
	}
	for i := range b.Facts {
		s.WriteString(briefLine(&b.Facts[i]))
		s.WriteByte('\n')
	}
	if b.Omitted > 0 {
		s.WriteString("(" + strconv.Itoa(b.Omitted) + " more left out by the budget)\n")
	}
	return s.String()
}

// MarshalJSON returns the brief as one object of schema [BriefSchema].
func (b Brief) MarshalJSON() ([]byte, error) {
	dst := append([]byte(nil), `{"schema":"`+BriefSchema+`","generatedAt":`...)
	dst = ndjson.AppendString(dst, b.GeneratedAt.UTC().Format(time.RFC3339))
	dst = append(dst, `,"count":`...)
	dst = strconv.AppendInt(dst, int64(len(b.Facts)), 10)
	if b.Omitted > 0 {
		dst = append(dst, `,"omitted":`...)
		dst = strconv.AppendInt(dst, int64(b.Omitted), 10)
	}
	dst = append(dst, `,"facts":[`...)
	for i := range b.Facts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = b.Facts[i].appendJSON(dst)
	}
	return append(dst, "]}"...), nil
}

func (f *Fact) appendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("id", f.ID)
	o.Text("scope", string(f.Scope))
	o.Text("kind", f.Kind)
	o.Text("summary", f.Summary)
	o.Text("authority", string(f.Authority))
	o.Text("confidence", string(f.Confidence))
	return o.End()
}

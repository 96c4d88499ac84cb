package prompt

import (
	"strconv"

	"kxm/lib/ndjson"
)

// charactersPerToken is the estimate of every part of the toolchain; a provider's
// own count differs.
const charactersPerToken = 4

func estimate(size int) int { return (size + charactersPerToken - 1) / charactersPerToken }

// SizeRow says what one section of a delivered pack occupies.
type SizeRow struct {
	ID          string
	Part        Part
	Size        int
	Share       string // of everything that was delivered, as a decimal of three places, rounded down
	Tokens      int    // estimated
	Cut         int
	Approximate bool // the pack was recorded without measures
}

// Measure returns one row for each section that was delivered, in order, then one for
// the framing of each part, which belongs to no section.
func Measure(p *Pack) []SizeRow {
	sections := map[string]*Section{}
	for i := range p.Sections {
		sections[p.Sections[i].ID] = &p.Sections[i]
	}
	var rows []SizeRow
	row := func(id string, part Part, size int) {
		r := SizeRow{ID: id, Part: part, Size: size, Tokens: estimate(size)}
		if s := sections[id]; s != nil {
			r.Part, r.Cut = s.Part, s.Cut
		}
		rows = append(rows, r)
	}
	if p.Delivery != nil && p.Delivery.Sizes.Known {
		d := &p.Delivery.Sizes
		for _, s := range d.System {
			row(s.ID, Stable, s.Characters)
		}
		for _, s := range d.Update {
			row(s.ID, Dynamic, s.Characters)
		}
		row(framingID, Stable, d.SystemFraming)
		if d.UpdateFraming > 0 {
			row(framingID, Dynamic, d.UpdateFraming)
		}
	} else {
		for i := range p.Sections {
			row(p.Sections[i].ID, p.Sections[i].Part, p.Sections[i].Size)
			rows[i].Approximate = true
		}
	}
	total := 0
	for _, r := range rows {
		total += r.Size
	}
	for i := range rows {
		rows[i].Share = thousandths(rows[i].Size, total)
	}
	return rows
}

// thousandths writes part/whole as a JSON number of at most three decimals, rounded
// down; of nothing everything is shared.
func thousandths(part, whole int) string {
	if part >= whole {
		return "1"
	}
	n := int(int64(part) * 1000 / int64(whole))
	if n == 0 {
		return "0"
	}
	digits := strconv.Itoa(1000 + n)[1:]
	for digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	return "0." + digits
}

// AppendJSON appends the row as a line of its own.
func (r *SizeRow) AppendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("schema", SizeSchema)
	o.Text("id", r.ID)
	o.Text("part", string(r.Part))
	o.Number("size", r.Size)
	o.Name("share")
	o.Bytes = append(o.Bytes, r.Share...)
	o.Number("estimatedTokens", r.Tokens)
	o.Number("cut", r.Cut)
	if r.Approximate {
		o.Flag("approximate", true)
	}
	return o.End()
}

package state

import (
	"fmt"
	"strconv"
	"time"

	"kxm/lib/fault"
)

// HLC is a hybrid logical clock: 48 bits of milliseconds since 1970 and 16 of a
// counter. It is written as 16 hexadecimal digits, so that texts sort as clocks do.
type HLC uint64

const (
	hlcDigits   = 16
	counterBits = 16
	// maxMillis is the last millisecond of the year 9999, beyond which RFC 3339 has no
	// times.
	maxMillis = 253402300799999
	maxHLC    = HLC(maxMillis)<<counterBits | (1<<counterBits - 1)
)

// Bounds of clocks that disagree.
const (
	// MaxSkew is how far an event's clock and its writer's wall clock may lie apart
	// before readers show it and the writer is warned.
	MaxSkew = time.Minute
	// MaxFuture is how far ahead of the writer's clock an event may lie that no
	// credential vouches for and that a new event names. Without a bound, one pushed
	// line would put all later values into the far future.
	MaxFuture = 24 * time.Hour
)

// ParseHLC reads 16 lower-case hexadecimal digits. Clocks later than the year 9999
// are malformed.
func ParseHLC(s string) (clock HLC, ok bool) {
	if !isHex(s, hlcDigits) {
		return 0, false
	}
	v, err := strconv.ParseUint(s, 16, 64)
	return HLC(v), err == nil && HLC(v) <= maxHLC
}

// String returns the 16 digits.
func (h HLC) String() string { return fmt.Sprintf("%016x", uint64(h)) }

// Time returns the clock's time, to the millisecond.
func (h HLC) Time() time.Time { return time.UnixMilli(int64(h >> counterBits)).UTC() }

// at returns the first clock of a time's millisecond; a time before 1970 counts as
// 1970, and one after 9999 is cut to the end of that year.
func at(t time.Time) HLC {
	ms := t.UnixMilli()
	switch {
	case ms < 0 || t.Year() < 1970:
		return 0
	case ms > maxMillis || t.Year() > 9999:
		return HLC(maxMillis) << counterBits
	}
	return HLC(ms) << counterBits
}

// through returns the bound below which lie the clocks at or before a time, to the
// millisecond; the zero time bounds nothing.
func through(t time.Time) HLC {
	switch {
	case t.IsZero():
		return maxHLC + 1
	case t.UnixMilli() < 0 || t.Year() < 1970:
		return 0
	}
	return at(t) + 1<<counterBits
}

// timeText writes a time as events and items hold it: RFC 3339 in UTC, to the
// millisecond.
func timeText(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Seen is an event that a new one may have to come after.
type Seen struct {
	ID           string
	Named        bool // the new event names it
	Credentialed bool // a signature on it counts
}

// Next returns the clock of a new event: not before now, later than every event that
// it names and every credentialed one that is seen. An event without credential drags
// nothing unless it is named, and refuses to be named (StateEventFuture) while it lies
// more than MaxFuture ahead of now.
//
// Where a signer's clock was wrong, all later events of the key lie in the future,
// those without credential right after the signer's: these may still be named, or the
// key could take no unsigned proposal until then.
func Next(now time.Time, seen []Seen) (HLC, error) {
	if y := now.UTC().Year(); y < 1970 || y > 9999 {
		return 0, fault.New(fault.InvalidStateEvent, "the clock says the year %d, which no event can hold", y)
	}
	next := at(now)
	for _, s := range seen {
		if !s.Named && !s.Credentialed {
			continue
		}
		clock, ok := ParseID(s.ID)
		if !ok {
			return 0, fault.New(fault.InvalidStateEvent, "%s is no event id", fault.Quote(s.ID))
		}
		if s.Credentialed {
			next = max(next, clock+1)
		}
	}
	trusted := next.Time()
	for _, s := range seen {
		if !s.Named || s.Credentialed {
			continue
		}
		clock, _ := ParseID(s.ID)
		if clock.Time().Sub(now) > MaxFuture && clock.Time().Sub(trusted) > MaxSkew {
			return 0, fault.New(fault.StateEventFuture, "the event %s says %s, more than a day ahead, and nobody trusted signed it", s.ID, timeText(clock.Time())).
				WithHint("make it again with a clock that is right, or have an allowed signer sign it")
		}
		next = max(next, clock+1)
	}
	if next > maxHLC {
		return 0, fault.New(fault.InvalidStateEvent, "an event that this one must follow says %s, and no time is left after it", timeText(maxHLC.Time()))
	}
	return next, nil
}

// Ahead returns those of the ids whose clock is not before now. Only these can push
// the clock of a new event, so a caller need read no others.
func Ahead(ids []string, now time.Time) []string {
	var ahead []string
	for _, id := range ids {
		if clock, ok := ParseID(id); ok && clock >= at(now) {
			ahead = append(ahead, id)
		}
	}
	return ahead
}

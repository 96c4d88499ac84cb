package item

import (
	"time"

	"kxm/lib/fault"
)

// ParseTime parses an RFC 3339 time with a zone, or a date, which stands for its
// midnight in UTC. The letters T and Z must be upper case, as everything here
// writes them; fractions beyond nanoseconds are cut. time.Parse is not strict
// enough: it takes hours of one digit and commas in fractions.
func ParseTime(s string) (time.Time, error) {
	year, ok1 := digits(s, 0, 4)
	month, ok2 := digits(s, 5, 2)
	day, ok3 := digits(s, 8, 2)
	if !ok1 || !ok2 || !ok3 || s[4] != '-' || s[7] != '-' {
		return time.Time{}, notATime(s)
	}
	if month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return time.Time{}, notATime(s)
	}
	if len(s) == len("2006-01-02") {
		return time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC), nil
	}
	hour, ok1 := digits(s, 11, 2)
	minute, ok2 := digits(s, 14, 2)
	second, ok3 := digits(s, 17, 2)
	if !ok1 || !ok2 || !ok3 || s[10] != 'T' || s[13] != ':' || s[16] != ':' || hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, notATime(s)
	}
	rest := s[19:]
	nanos := 0
	if rest != "" && rest[0] == '.' {
		n := 1
		for unit := 100_000_000; n < len(rest) && '0' <= rest[n] && rest[n] <= '9'; n++ {
			nanos += int(rest[n]-'0') * unit
			unit /= 10
		}
		if n == 1 {
			return time.Time{}, notATime(s)
		}
		rest = rest[n:]
	}
	switch {
	case rest == "Z":
		return time.Date(year, time.Month(month), day, hour, minute, second, nanos, time.UTC), nil
	case rest == "":
		return time.Time{}, fault.New(fault.InvalidContextField, "the time %s has no zone", fault.Quote(s)).WithHint("append Z for UTC or an offset such as +02:00")
	}
	zoneHour, ok1 := digits(rest, 1, 2)
	zoneMinute, ok2 := digits(rest, 4, 2)
	if len(rest) != len("+00:00") || !ok1 || !ok2 || rest[3] != ':' || rest[0] != '+' && rest[0] != '-' || zoneHour > 23 || zoneMinute > 59 {
		return time.Time{}, notATime(s)
	}
	offset := zoneHour*60 + zoneMinute
	if rest[0] == '-' {
		offset = -offset
	}
	return time.Date(year, time.Month(month), day, hour, minute-offset, second, nanos, time.UTC), nil
}

// digits reads n digits at offset i; ok implies that s reaches that far.
func digits(s string, i, n int) (v int, ok bool) {
	if i+n > len(s) {
		return 0, false
	}
	for _, c := range []byte(s[i : i+n]) {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + int(c-'0')
	}
	return v, true
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

func notATime(s string) error {
	return fault.New(fault.InvalidContextField, "%s is no RFC 3339 time and no date", fault.Quote(s)).WithHint("write 2026-09-01T12:00:00Z or 2026-09-01")
}

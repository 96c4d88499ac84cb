package process

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// processes returns the processes that live, without zombies; nil if they cannot be
// told.
func processes() []kin {
	names, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	var all []kin
	for _, name := range names {
		stat, err := os.ReadFile(name + "/stat")
		if err != nil {
			continue // it has ended
		}
		if k, ok := parseStat(string(stat)); ok {
			all = append(all, k)
		}
	}
	return all
}

// parseStat reads the line of /proc/PID/stat, which proc(5) describes: number, name in
// parentheses, state, parent, group; the 22nd field is the start in clock ticks.
func parseStat(line string) (kin, bool) {
	number, _, _ := strings.Cut(line, " ")
	end := strings.LastIndexByte(line, ')') // a name may hold parentheses and spaces
	if end < 0 {
		return kin{}, false
	}
	fields := strings.Fields(line[end+1:])
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return kin{}, false
	}
	var n [4]int64
	for i, text := range []string{number, fields[1], fields[2], fields[19]} {
		var err error
		if n[i], err = strconv.ParseInt(text, 10, 64); err != nil {
			return kin{}, false
		}
	}
	return kin{int(n[0]), int(n[1]), int(n[2]), n[3]}, true
}

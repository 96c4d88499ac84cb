//go:build unix

package process

// kin is one process that lives.
type kin struct {
	pid, parent, group int
	born               int64 // in the system's unit; with pid it names the process for good
}

// descendants returns the children of a process, theirs, and so on.
func descendants(all []kin, pid int) []kin {
	children := map[int][]kin{}
	for _, k := range all {
		children[k.parent] = append(children[k.parent], k)
	}
	found := children[pid]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i].pid]...)
	}
	return found
}

// living returns those of some that are among all.
func living(all, some []kin) []kin {
	type name struct {
		pid  int
		born int64
	}
	there := make(map[name]bool, len(all))
	for _, k := range all {
		there[name{k.pid, k.born}] = true
	}
	var left []kin
	for _, k := range some {
		if there[name{k.pid, k.born}] {
			left = append(left, k)
		}
	}
	return left
}

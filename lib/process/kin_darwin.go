package process

import "golang.org/x/sys/unix"

// zombie is SZOMB of sys/proc.h.
const zombie = 5

// processes returns the processes that live, without zombies; nil if they cannot be
// told.
func processes() []kin {
	table, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	var all []kin
	for i := range table {
		if p := &table[i]; p.Proc.P_stat != zombie {
			all = append(all, kin{int(p.Proc.P_pid), int(p.Eproc.Ppid), int(p.Eproc.Pgid), p.Proc.P_starttime.Nano()})
		}
	}
	return all
}

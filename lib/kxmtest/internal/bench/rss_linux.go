package main

import (
	"os"
	"syscall"
)

// residentSize returns the largest resident size that a process had, in bytes.
func residentSize(p *os.ProcessState) int64 {
	if usage, ok := p.SysUsage().(*syscall.Rusage); ok {
		return usage.Maxrss * 1024 // Linux counts kilobytes
	}
	return 0
}

//go:build !linux

package main

import "os"

// residentSize is not measured where the unit of the system's figure differs.
func residentSize(*os.ProcessState) int64 { return 0 }

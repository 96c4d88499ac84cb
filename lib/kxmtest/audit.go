package kxmtest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Process is what an audited program is run with.
type Process struct {
	Args     []string
	In       io.Reader
	Out, Err io.Writer
	Dir      string
	Now      func() time.Time
}

// Audited returns the main function of a program that is also held to its help: a run
// that ends with a code which the command's --help does not name, or with another exit
// status than the help gives it, ends with status 99. run runs the program once.
func Audited(run func(p Process) int) func() {
	return func() {
		dir, err := os.Getwd()
		if err != nil {
			panic(err)
		}
		var stderr bytes.Buffer
		p := Process{Args: os.Args[1:], In: os.Stdin, Out: os.Stdout, Err: io.MultiWriter(os.Stderr, &stderr), Dir: dir, Now: clock()}
		status := run(p)
		if status != 0 {
			if complaint := notInHelp(run, p, stderr.String(), status); complaint != "" {
				fmt.Fprintln(os.Stderr, complaint)
				status = 99
			}
		}
		os.Exit(status)
	}
}

// clock is the programs' own: SOURCE_DATE_EPOCH stops it.
func clock() func() time.Time {
	if s, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		return func() time.Time { return time.Unix(s, 0).UTC() }
	}
	return func() time.Time { return time.Now().UTC() }
}

func notInHelp(run func(Process) int, p Process, stderr string, status int) string {
	codes := regexp.MustCompile(`(?m) \[([a-z_]+)\]$|^\{"error":\{"code":"([a-z_]+)"`).FindAllStringSubmatch(stderr, -1)
	code := ""
	if len(codes) > 0 {
		code = codes[len(codes)-1][1] + codes[len(codes)-1][2]
	}
	var help bytes.Buffer
	p.Out, p.Err = &help, io.Discard
	words := verb(p.Args)
	for {
		help.Reset()
		p.Args = append([]string{"--help"}, words...) // in front: behind, it could be another program's
		if run(p) == 0 || len(words) == 0 {
			break
		}
		words = words[:len(words)-1] // the last is no command
	}
	for line := range strings.Lines(help.String()) {
		fields := strings.Fields(line)
		if len(fields) > 1 && fields[0] == code && fields[1] == fmt.Sprintf("[%d]", status) {
			return ""
		}
		if code == "" && strings.HasPrefix(line, "Any other exit status is that of ") {
			return "" // of a program that it ran
		}
	}
	if code == "" {
		return fmt.Sprintf("status %d without a code", status)
	}
	return fmt.Sprintf("--help of %q does not name %s with status %d", words, code, status)
}

// verb returns the words of a command line that may name its command: the first two
// that are neither flags nor the values of global flags.
func verb(args []string) []string {
	var words []string
	for i := 0; i < len(args) && len(words) < 2 && args[i] != "--"; i++ {
		switch {
		case args[i] == "-C" || args[i] == "-o" || args[i] == "--errors":
			i++ // its value
		case !strings.HasPrefix(args[i], "-"):
			words = append(words, args[i])
		}
	}
	return words
}

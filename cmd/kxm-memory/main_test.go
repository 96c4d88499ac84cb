package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"kxm/lib/cli"
	"kxm/lib/kxmtest"
)

func TestMain(m *testing.M) {
	kxmtest.Main(m, map[string]func(){"kxm-memory": audited, "kxm-memory-itself": main})
}

func TestScripts(t *testing.T) {
	kxmtest.RunScripts(t, "testdata/script")
}

// audited is main that also holds the program to its help: a run that ends with a
// code which the command's --help does not name, or with another exit status than
// the help gives it, ends with status 99.
func audited() {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	var stderr bytes.Buffer
	streams := cli.Streams{
		In: os.Stdin, Out: os.Stdout, Err: io.MultiWriter(os.Stderr, &stderr), Getenv: os.Getenv, Dir: dir,
		Now: func() time.Time { return kxmtest.Now() },
	}
	status := cli.Run(program(), os.Args[1:], streams)
	if status != 0 {
		if complaint := notInHelp(stderr.String(), status, streams); complaint != "" {
			fmt.Fprintln(os.Stderr, complaint)
			status = 99
		}
	}
	os.Exit(status)
}

func notInHelp(stderr string, status int, streams cli.Streams) string {
	codes := regexp.MustCompile(`(?m) \[([a-z_]+)\]$|^\{"error":\{"code":"([a-z_]+)"`).FindAllStringSubmatch(stderr, -1)
	if len(codes) == 0 {
		return fmt.Sprintf("status %d without a code", status)
	}
	code := codes[len(codes)-1]
	var help bytes.Buffer
	streams.Out, streams.Err = &help, io.Discard
	words := verb(os.Args[1:])
	for cli.Run(program(), append(words[:len(words):len(words)], "--help"), streams) != 0 {
		words = words[:len(words)-1] // the last is no command
	}
	for line := range strings.Lines(help.String()) {
		fields := strings.Fields(line)
		if len(fields) > 1 && fields[0] == code[1]+code[2] && fields[1] == fmt.Sprintf("[%d]", status) {
			return ""
		}
	}
	return fmt.Sprintf("--help of %q does not name %s with status %d", words, code[1]+code[2], status)
}

// verb returns the words of a command line that name its command.
func verb(args []string) []string {
	var words []string
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "-C" || args[i] == "-o" || args[i] == "--errors":
			i++ // its value
		case len(words) == 0 && !strings.HasPrefix(args[i], "-"),
			len(words) == 1 && (words[0] == "skill" || words[0] == "hook"):
			words = append(words, args[i])
		}
	}
	return words
}

package main

import (
	"strings"

	"kxm/lib/cli"
	"kxm/lib/fault"
)

// input is a text that may be a secret: it comes from an argument, which other programs
// can see, from standard input or from the environment.
type input struct {
	Stdin   bool   `help:"Read the text from standard input; one newline at its end is dropped."`
	FromEnv string `placeholder:"NAME" help:"Environment variable that holds the text."`
}

// maxInput is the longest text that is typed into a page, in bytes.
const maxInput = 16 << 20

// read returns a text that came by a way other programs do not see, and whether one
// did. It is in nothing that is printed from here on.
func (i *input) read(s *cli.Session, d *desk) (text string, given bool, err error) {
	switch {
	case i.Stdin && i.FromEnv != "":
		return "", false, fault.New(fault.Usage, "--stdin and --from-env both name a text")
	case i.Stdin:
		data, err := s.ReadFile("-")
		if err != nil {
			return "", false, err
		}
		text = strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	case i.FromEnv != "":
		if text = s.Getenv(i.FromEnv); text == "" {
			return "", false, fault.New(fault.Usage, "the environment variable %s is not set", fault.Quote(i.FromEnv))
		}
	default:
		return "", false, nil
	}
	if len(text) > maxInput {
		return "", false, fault.New(fault.Usage, "the text is longer than %d MiB", maxInput>>20)
	}
	d.Secrets.Add(text)
	return text, true, nil
}

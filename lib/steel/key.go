package steel

import (
	"context"
	"strings"
	"time"

	"kxm/lib/fault"
	"kxm/lib/process"
)

// keyTime is how long the key command may take.
const keyTime = 5 * time.Second

// Lengths of a key, in characters.
const (
	minKey = 8
	maxKey = 4096
)

// checkKey refuses what cannot be a key; a header could not carry it either.
func checkKey(key, from string) error {
	plain := !strings.ContainsFunc(key, func(r rune) bool { return r < '!' || r > '~' })
	if !plain || len(key) < minKey || len(key) > maxKey {
		return fault.New(fault.SteelBadKey, "the key from %s is not %d to %d printable ASCII characters", from, minKey, maxKey)
	}
	return nil
}

// Key returns the API key, or "" if there is none. The key command runs at the first
// call and never again. What it prints is shown nowhere.
func (e *Endpoint) Key(ctx context.Context) (string, error) {
	if e.Settings.KeyCommand == nil || e.key != "" || e.keyErr != nil {
		return e.key, e.keyErr
	}
	key, err := runKeyCommand(ctx, e.Settings.KeyCommand, e.Environ)
	if err != nil {
		e.keyErr = err
		return "", err
	}
	e.key = key
	e.Secrets.Add(key)
	return key, nil
}

func runKeyCommand(ctx context.Context, argv, environ []string) (string, error) {
	r, err := process.Run(ctx, process.Command{
		Argv: argv, Env: environ, Hard: keyTime, Grace: time.Second, StdoutCap: maxKey + 2, StderrCap: 1,
	})
	fail := func(format string, args ...any) (string, error) {
		return "", fault.New(fault.SteelKeyCommandFailed, format, args...)
	}
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return fail("the key command %s could not be started", fault.Quote(argv[0]))
	case r.Ending == process.HardLimit:
		return fail("the key command %s did not end within %s", fault.Quote(argv[0]), keyTime)
	case r.Signal != nil:
		return fail("the key command %s died of a signal: %v", fault.Quote(argv[0]), r.Signal)
	case r.Status != 0:
		return fail("the key command %s ended with status %d", fault.Quote(argv[0]), r.Status)
	}
	key := strings.TrimSuffix(strings.TrimSuffix(string(r.Stdout.Bytes), "\n"), "\r")
	if key == "" || strings.ContainsAny(key, "\r\n") {
		return fail("the key command %s did not print one line", fault.Quote(argv[0]))
	}
	return key, checkKey(key, "the key command")
}

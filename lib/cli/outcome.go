package cli

import (
	"fmt"
	"os"
)

// Outcome is the error of a command whose work another program did, and whose end is
// therefore that program's. Nothing is printed for it: who did the work has said what
// there was to say.
type Outcome struct {
	Status int       // the exit status, returned unchanged
	Signal os.Signal // if not nil, this program dies of it, so that a shell's loop ends too
}

func (o *Outcome) Error() string {
	if o.Signal != nil {
		return fmt.Sprintf("died of a signal: %v", o.Signal)
	}
	return fmt.Sprintf("ended with status %d", o.Status)
}

// passing is a command that returns an Outcome.
type passing interface {
	// PassesStatusOf names the program whose exit status is passed on.
	PassesStatusOf() string
}

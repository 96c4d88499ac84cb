//go:build !unix

package steeltest

import (
	"errors"
	"os"
)

// openAlive fails where there are no named pipes.
func openAlive(string) (*os.File, error) { return nil, errors.ErrUnsupported }

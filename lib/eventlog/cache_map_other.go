//go:build !unix

package eventlog

import (
	"errors"
	"os"
)

// mapped maps no files here: they are read.
func mapped(*os.File, int) ([]byte, error) { return nil, errors.ErrUnsupported }

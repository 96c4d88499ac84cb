// Command release makes the archives of a release: each folder of a stage becomes one
// archive of that name, a .zip where the name says windows, else a .tar.gz, and their
// digests stand in SHA256SUMS beside them. scripts/release fills the stage and runs it.
//
// The same files give the same bytes, wherever and whenever they were staged: see
// pack.go. No program of the system takes part, whose version could matter.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	epoch := flag.Int64("epoch", -1, "the time of every entry, in seconds since 1970")
	out := flag.String("out", "", "the folder of the archives")
	stage := flag.String("stage", "", "the folder with a folder for each archive")
	flag.Parse()
	if *epoch < 0 || *out == "" || *stage == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := release(*stage, *out, time.Unix(*epoch, 0).UTC()); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(3)
	}
}

// release packs every folder of stage into out, and writes SHA256SUMS in the form that
// sha256sum -c reads.
func release(stage, out string, at time.Time) error {
	folders, err := os.ReadDir(stage) // sorted by name
	if err != nil {
		return err
	}
	if len(folders) == 0 {
		return fmt.Errorf("nothing is staged in %s", stage)
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	var sums strings.Builder
	for _, f := range folders {
		name := f.Name() + ".tar.gz"
		pack := tarball
		if strings.Contains(f.Name(), "-windows-") {
			name, pack = f.Name()+".zip", zipped
		}
		sum, err := write(filepath.Join(out, name), func(w io.Writer) error {
			return pack(w, filepath.Join(stage, f.Name()), at)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(&sums, "%s  %s\n", sum, name)
	}
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(sums.String()), 0o666)
}

// write makes a file and returns the digest of what was written.
func write(name string, fill func(io.Writer) error) (string, error) {
	f, err := os.Create(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	digest := sha256.New()
	if err := fill(io.MultiWriter(f, digest)); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", digest.Sum(nil)), f.Close()
}

// Command bench measures the binaries against what a person would use instead, in
// the same run, and compares the ratios with the bounds that the documentation
// promises. Start with the list of measures in measures.go; scripts/bench builds the
// binaries and runs it.
//
// Times are whole processes, in turn A B A B, and a ratio is the median of the
// ratios of neighbours, so that a machine whose speed drifts gives the same answer.
// It asserts nothing about absolute times.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == residentFlag {
		fmt.Println(resident(os.Args[2:]))
		return
	}
	bin := flag.String("bin", "bin", "the folder of the binaries")
	runs := flag.Int("runs", 15, "runs of each command")
	only := flag.String("only", "", "measure only what has this in its name")
	flag.Parse()
	dir, err := os.MkdirTemp("", "kxm-bench-")
	if err != nil {
		fail(err)
	}
	defer os.RemoveAll(dir)
	abs, err := filepath.Abs(*bin)
	if err != nil {
		fail(err)
	}
	b := &bench{dir: dir, bin: abs, runs: *runs, only: *only}
	b.all()
	if b.missed > 0 {
		fmt.Printf("%d of %d bounds missed\n", b.missed, b.measured)
		os.RemoveAll(dir)
		os.Exit(1)
	}
	fmt.Printf("%d bounds hold\n", b.measured)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(3)
}

type bench struct {
	dir, bin, only   string
	runs             int
	measured, missed int
	ran              int // processes
}

// command is one process: a program and its arguments, its folder and the file at
// its standard input. Before it, and outside its time, the file in without is removed
// and the command in before is run.
// In an argument "{n}" stands for how many processes ran before, modulo [turns].
type command struct {
	argv    []string
	dir     string
	stdin   string
	without string
	before  *command
}

// turns is after how many processes "{n}" begins again.
const turns = 100

func shell(dir, line string) command { return command{argv: []string{"sh", "-c", line}, dir: dir} }

// run runs a command and returns how long it took.
func (b *bench) run(c command) time.Duration {
	if c.before != nil {
		b.run(*c.before)
	}
	cmd, done := b.prepared(c)
	defer done()
	start := time.Now()
	out, err := cmd.StderrPipe()
	if err != nil {
		fail(err)
	}
	if err := cmd.Start(); err != nil {
		fail(err)
	}
	var errs [4096]byte
	n, _ := out.Read(errs[:])
	if err := cmd.Wait(); err != nil {
		fail(fmt.Errorf("%s: %v\n%s", strings.Join(c.argv, " "), err, errs[:n]))
	}
	return time.Since(start)
}

// output runs a command with its standard output in a file.
func (b *bench) output(c command, name string) {
	cmd, done := b.prepared(c)
	defer done()
	out, err := os.Create(name)
	if err != nil {
		fail(err)
	}
	cmd.Stdout = out
	if err := cmd.Run(); err != nil {
		fail(fmt.Errorf("%s: %v", strings.Join(c.argv, " "), err))
	}
	if err := out.Close(); err != nil {
		fail(err)
	}
}

// prepared returns the process of a command, ready to be started, and what to call
// once it has ended.
func (b *bench) prepared(c command) (cmd *exec.Cmd, done func()) {
	argv := slices.Clone(c.argv)
	for i := range argv {
		argv[i] = strings.ReplaceAll(argv[i], "{n}", strconv.Itoa(b.ran%turns))
	}
	b.ran++
	cmd = exec.Command(argv[0], argv[1:]...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "PATH="+b.bin+string(os.PathListSeparator)+os.Getenv("PATH"), "LC_ALL=C")
	if c.without != "" {
		if err := os.RemoveAll(c.without); err != nil {
			fail(err)
		}
	}
	if c.stdin == "" {
		return cmd, func() {}
	}
	f, err := os.Open(c.stdin)
	if err != nil {
		fail(err)
	}
	cmd.Stdin = f
	return cmd, func() { f.Close() }
}

// residentFlag has this program run a command and print the largest resident size of
// its process. Linux counts what a process was before it was replaced, and that is
// whoever started it: a small process must.
const residentFlag = "-resident"

func resident(argv []string) int64 {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stderr = os.Stdin, os.Stderr
	if err := cmd.Run(); err != nil {
		fail(fmt.Errorf("%s: %v", strings.Join(argv, " "), err))
	}
	return residentSize(cmd.ProcessState)
}

// wanted reports whether a measure was asked for, so that nothing is prepared for one
// that was not.
func (b *bench) wanted(name string) bool { return strings.Contains(name, b.only) }

// ratio runs x and y in turn and prints the median of x's time over y's.
func (b *bench) ratio(name string, bound float64, x, y command) {
	if !b.wanted(name) {
		return
	}
	got, detail := b.compare(x, y)
	b.print(name, got, bound, detail)
}

// compare returns the median of x's time over y's, and the times.
func (b *bench) compare(x, y command) (ratio float64, detail string) {
	b.run(x)
	b.run(y)
	var ratios, xs, ys []float64
	for range b.runs {
		p, q := b.run(x).Seconds(), b.run(y).Seconds()
		ratios, xs, ys = append(ratios, p/q), append(xs, p*1000), append(ys, q*1000)
	}
	return median(ratios), fmt.Sprintf("%.1f ms / %.1f ms", median(xs), median(ys))
}

// either is ratio with two things to compare with; it is enough to keep one bound, and
// the second is looked at where the first is missed.
func (b *bench) either(name string, x command, bound float64, y command, otherBound float64, other command) {
	if !b.wanted(name) {
		return
	}
	got, detail := b.compare(x, y)
	if got > bound {
		got, detail = b.compare(x, other)
		bound, detail = otherBound, detail+", the second bound"
	}
	b.print(name, got, bound, detail)
}

// memory prints the largest resident size of a command over the size of its input.
func (b *bench) memory(name string, bound float64, x command, input int64) {
	if !b.wanted(name) {
		return
	}
	self, err := os.Executable()
	if err != nil {
		fail(err)
	}
	x.argv = append([]string{self, residentFlag}, x.argv...)
	var sizes []float64
	for range 3 {
		name := filepath.Join(b.dir, "resident")
		b.output(x, name)
		text, err := os.ReadFile(name)
		if err != nil {
			fail(err)
		}
		size, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
		if err != nil {
			fail(err)
		}
		sizes = append(sizes, size/float64(input))
	}
	b.print(name, median(sizes), bound, fmt.Sprintf("input %.1f MB", float64(input)/1e6))
}

// print says whether a bound holds.
func (b *bench) print(name string, got, bound float64, detail string) {
	b.measured++
	verdict := "holds"
	if got > bound {
		verdict = "MISSED"
		b.missed++
	}
	fmt.Printf("%-6s %6.2f of at most %5.2f  %-58s %s\n", verdict, got, bound, name, detail)
}

func median(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/2]
}

package rank

import (
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/cpu"
)

func TestLn(t *testing.T) {
	if ln(1) != 0 {
		t.Errorf("ln(1) = %v", ln(1))
	}
	check := func(x float64) {
		got, want := ln(x), math.Log(x)
		// Both are at most one unit off, so they are neighbours at worst.
		if got != want && math.Nextafter(got, want) != want {
			t.Fatalf("ln(%v) = %v, math.Log gives %v", x, got, want)
		}
	}
	for n := 1; n <= 3000; n++ {
		for df := 0; df <= n; df += 1 + n/50 {
			check(1 + (float64(n-df)+0.5)/(float64(df)+0.5))
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 1_000_000 {
		check(1 + r.Float64()*math.Exp2(float64(r.IntN(60))-10))
	}
	for k := range 1000 {
		check(math.Exp2(float64(k)))
	}
}

func TestRound(t *testing.T) {
	for score, want := range map[float64]float64{
		0: 0, 0.0004: 0, 0.0005: 0.001, 0.7911: 0.791, 0.7919: 0.792, 3.8227096026974805: 3.823, 1234.5674: 1234.567, 1234.5678: 1234.568,
	} {
		if got := Round(score); got != want {
			t.Errorf("Round(%v) = %v, want %v", score, got, want)
		}
	}
}

// goTool runs the go command in this folder with more environment.
func goTool(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...) // go test puts its own first in PATH
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v go %v: %v\n%s", env, args, err, out)
	}
	return string(out)
}

// TestScoresDoNotDependOnTheProcessor runs TestScoreBits in programs that may use
// all instructions of their level. A fused instruction would change bits there.
func TestScoresDoNotDependOnTheProcessor(t *testing.T) {
	levels := []string{"GOAMD64=v1"}
	if runtime.GOARCH != "amd64" {
		levels = []string{"GOARCH=" + runtime.GOARCH}
	} else if x := cpu.X86; x.HasAVX2 && x.HasBMI1 && x.HasBMI2 && x.HasFMA && x.HasOSXSAVE {
		levels = append(levels, "GOAMD64=v3")
	}
	for _, level := range levels {
		goTool(t, ".", []string{level}, "test", "-count=1", "-run=^TestScoreBits$", ".")
	}
}

// fused matches the multiply-add instructions of the processors below, and calls of
// math.Log, which is assembly on some.
var fused = regexp.MustCompile(`\bV?FN?M(ADD|SUB)[0-9A-Z]*\b|\bmath\.(FMA|log|Log|archLog)\(SB\)`)

// TestNoFusedMultiplyAdd reads what the compiler makes of this package for two
// processors that have such instructions, whatever processor the test runs on. The
// compiler fuses by one rule for all of them.
func TestNoFusedMultiplyAdd(t *testing.T) {
	control := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":     "module control\n\ngo 1.26\n",
		"control.go": "package control\n\nfunc F(a, b, c float64) float64 { return a*b + c }\n",
	} {
		if err := os.WriteFile(filepath.Join(control, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, target := range [][]string{{"GOARCH=amd64", "GOAMD64=v3"}, {"GOARCH=arm64"}} {
		env := slices.Concat(target, []string{"GOOS=linux", "CGO_ENABLED=0"})
		if !fused.MatchString(goTool(t, control, append(env, "GOFLAGS="), "build", "-gcflags=-S", ".")) {
			t.Fatalf("%v: a sum of a product is not seen to be fused; the test has lost its eyes", target)
		}
		listing := goTool(t, ".", env, "build", "-gcflags=-S", ".")
		if len(listing) < 10_000 {
			t.Fatalf("%v: no listing", target)
		}
		if found := fused.FindString(listing); found != "" {
			t.Errorf("%v: the compiled package holds %s", target, found)
		}
	}
}

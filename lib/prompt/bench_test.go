package prompt

import (
	"encoding/json"
	"runtime"
	"slices"
	"testing"
	"time"
)

// The benchmarks report ratios of medians of runs in turn, so that a machine whose
// speed drifts gives the same answer; -benchtime does not count.

// BenchmarkCompile reports what compiling and encoding an input costs, as a multiple
// of decoding the same bytes with encoding/json, and the bytes allocated as a multiple
// of the input. The specification allows 2 and 6.
func BenchmarkCompile(b *testing.B) {
	raw := encode(b, bulk(200_000, 40))
	b.ReportMetric(ratio(func() { compileAll(b, raw) }, func() {
		var v any
		if json.Unmarshal(raw, &v) != nil {
			b.Fatal("the input does not decode")
		}
	}), "x-decode")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	compileAll(b, raw)
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(len(raw)), "x-input-allocated")
}

// BenchmarkGrowth reports the time of twice the bytes, and of ten times the references
// in the same bytes; both may take 2.3 times as long.
func BenchmarkGrowth(b *testing.B) {
	small, large, many := encode(b, bulk(200_000, 40)), encode(b, bulk(400_000, 40)), encode(b, bulk(200_000, 400))
	b.ReportMetric(ratio(func() { compileAll(b, large) }, func() { compileAll(b, small) }), "x-twice")
	b.ReportMetric(ratio(func() { compileAll(b, many) }, func() { compileAll(b, small) }), "x-references")
}

// BenchmarkLaunch reports a launch with an unchanged snapshot as a multiple of compile.
func BenchmarkLaunch(b *testing.B) {
	raw := encode(b, bulk(200_000, 40))
	launch := func(before *Snapshot) *Launched {
		in, err := ParseInput(raw)
		if err != nil {
			b.Fatal(err)
		}
		l, err := Start(&in, before, false)
		if err != nil {
			b.Fatal(err)
		}
		l.AppendJSON(nil)
		return l
	}
	first := launch(nil)
	b.ReportMetric(ratio(func() { launch(first.Snapshot) }, func() { compileAll(b, raw) }), "x-compile")
}

func compileAll(b *testing.B, raw []byte) {
	in, err := ParseInput(raw)
	if err != nil {
		b.Fatal(err)
	}
	p, err := Compile(&in)
	if err != nil {
		b.Fatal(err)
	}
	p.AppendJSON(nil)
}

// ratio is the median of x's time over that of y.
func ratio(x, y func()) float64 {
	timed := func(f func()) float64 {
		start := time.Now()
		f()
		return float64(time.Since(start))
	}
	x()
	y()
	var all []float64
	for range 60 {
		all = append(all, timed(x)/timed(y))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

package rank

import "math"

// NameBM25 names the scorer of [Collection.Score]. What it computes never changes
// under this name; another scorer gets another name.
const NameBM25 = "bm25"

// The parameters of BM25: how fast repeats of a term saturate, and how much a
// document's length counts.
const (
	k1 = 1.2
	b  = 0.75
)

// Every product and quotient below is converted to float64 although it is one: the
// conversion forbids the compiler to fuse it with a following sum into one
// operation that rounds once, which processors with such an operation would
// otherwise do and others not. Scores have the same bits on every processor.

// inverseFrequency is ln(1 + (N - df + 0.5)/(df + 0.5)), above 0 for every df <= N.
func inverseFrequency(documents, df int) float64 {
	return ln(1 + float64((float64(documents-df)+0.5)/(float64(df)+0.5)))
}

// weight is what a term adds to the score of a document of some length that holds
// it tf times.
func weight(idf float64, tf, length int, averageLength float64) float64 {
	norm := float64(k1 * (1 - b + float64(float64(b*float64(length))/averageLength)))
	return float64(float64(idf*float64(float64(tf)*(k1+1))) / (float64(tf) + norm))
}

// Round returns a score as it is shown: to three decimals, halves up.
func Round(score float64) float64 {
	return math.Floor(float64(score*1000)+0.5) / 1000
}

// ln returns the natural logarithm of a finite x >= 1, at most one unit in the last
// place off. math.Log will not do: it is assembly on some processors and may be
// fused on others.
//
// With x = m * 2^k, m in [sqrt(1/2), sqrt(2)), f = m-1 and s = f/(2+f), the series of
// the inverse hyperbolic tangent gives ln(1+f) = 2s + s*r, where r = 2s²/3 + 2s⁴/5 + …
// Because 2s = f - s*f, that is f - s*(f - r), which rounds only small terms.
func ln(x float64) float64 {
	// ln 2 in two parts: ln2Hi has zeros at its end, so that k*ln2Hi is exact.
	const (
		ln2Hi = 0x162e42feep-33
		ln2Lo = math.Ln2 - ln2Hi
	)
	m, k := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m = float64(m * 2)
		k--
	}
	f := m - 1
	s := float64(f / (2 + f))
	s2 := float64(s * s)
	r := 0.0
	// s² < 0.0295, so the first term left out, 2s²²/23, is below 2^-59.
	for n := 21.0; n >= 3; n -= 2 {
		r = float64(s2 * (2/n + r))
	}
	high := float64(float64(k) * ln2Hi)
	low := float64(float64(k) * ln2Lo)
	return high - ((float64(s*(f-r)) - low) - f)
}

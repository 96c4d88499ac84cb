package memory

import (
	"cmp"
	"slices"
	"strings"

	"kxm/lib/rank"
)

// Two facts are nearly the same if they share at least four fifths of all their
// tokens (the Jaccard index of the two sets). Two facts of nine words that differ
// in one are; of eight, not.
const (
	similarNum = 4
	similarDen = 5
)

// similarPairs returns, for each text that is nearly the same as an earlier one,
// the indexes of both, in the order of the texts; only the first such text is
// named. Texts without a token are like no other.
//
// Texts are compared by prefix filtering: with the tokens of each set in one order,
// rarest first, two sets that are similar enough share one of the first few. Only
// texts that do are compared in full, so the time grows with the pairs that are
// close and not with the square of the texts.
func similarPairs(texts []string) [][2]int {
	sets := tokenSets(texts)
	first := map[string]int{}          // a set's tokens → the first text that is nearly or exactly the same
	byToken := map[int32][]int{}       // a prefix token → texts, each a first of its kind
	checked := make([]int, len(texts)) // the last text that was compared with this one, plus 1
	var pairs [][2]int
	for i, set := range sets {
		if len(set) == 0 {
			continue
		}
		key := setKey(set)
		if j, ok := first[key]; ok { // what is the first like this one is the first like that one
			pairs = append(pairs, [2]int{j, i})
			continue
		}
		prefix := set[:len(set)-atLeast(len(set))+1]
		near := -1
		for _, token := range prefix {
			for _, j := range byToken[token] { // ascending
				if near >= 0 && j >= near {
					break
				}
				if checked[j] == i+1 {
					continue
				}
				checked[j] = i + 1
				if similar(sets[j], set) {
					near = j
				}
			}
		}
		first[key] = i
		if near >= 0 {
			first[key] = near
			pairs = append(pairs, [2]int{near, i})
		}
		for _, token := range prefix {
			byToken[token] = append(byToken[token], i)
		}
	}
	return pairs
}

// atLeast returns how many tokens of a set of n a similar set must share:
// the share of n, rounded up.
func atLeast(n int) int { return (similarNum*n + similarDen - 1) / similarDen }

// similar reports whether two sorted sets share enough.
func similar(a, b []int32) bool {
	common := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch c := cmp.Compare(a[i], b[j]); {
		case c == 0:
			common++
			i++
			j++
		case c < 0:
			i++
		default:
			j++
		}
	}
	return similarDen*common >= similarNum*(len(a)+len(b)-common)
}

// tokenSets returns the distinct tokens of each text as numbers, rarest first,
// sorted.
func tokenSets(texts []string) [][]int32 {
	words := make([][]string, len(texts))
	parallel(len(texts), func(i int) {
		words[i] = rank.Tokenize(texts[i])
		slices.Sort(words[i])
		words[i] = slices.Compact(words[i])
	})
	count := map[string]int{}
	for _, list := range words {
		for _, w := range list {
			count[w]++
		}
	}
	order := make([]string, 0, len(count))
	for w := range count {
		order = append(order, w)
	}
	slices.SortFunc(order, func(a, b string) int { return cmp.Or(cmp.Compare(count[a], count[b]), strings.Compare(a, b)) })
	number := make(map[string]int32, len(order))
	for i, w := range order {
		number[w] = int32(i)
	}
	sets := make([][]int32, len(texts))
	for i, list := range words {
		for _, w := range list {
			sets[i] = append(sets[i], number[w])
		}
		slices.Sort(sets[i])
	}
	return sets
}

func setKey(set []int32) string {
	b := make([]byte, 0, 4*len(set))
	for _, n := range set {
		b = append(b, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
	}
	return string(b)
}

package cli

import (
	"errors"
	"strings"

	"github.com/alecthomas/kong"
)

// suggestion names the verb nearest to a word that is none, where kong cannot: below
// a default command it takes every unknown word for a stray argument.
func suggestion(err error) string {
	var parse *kong.ParseError
	word, ok := strings.CutPrefix(err.Error(), "unexpected argument ")
	if !ok || !errors.As(err, &parse) || parse.Context == nil {
		return ""
	}
	node := parse.Context.Selected()
	if node == nil || node.Parent == nil || node.Parent.DefaultCmd != node {
		return ""
	}
	best, least := "", 1+len(word)/2 // farther away it is no typing error
	for _, sibling := range node.Parent.Children {
		if d := distance(word, sibling.Name); !sibling.Hidden && d <= least {
			best, least = sibling.Name, d-1
		}
	}
	if best == "" {
		return ""
	}
	return `, did you mean "` + best + `"?`
}

// distance is the number of letters to insert, delete or replace between two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

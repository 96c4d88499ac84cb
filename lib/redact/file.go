package redact

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Allow lets the findings of one rule in one file through. Both must be given: the
// path as [ScanFile] gets it, and the rule's id.
type Allow struct {
	Path, Rule string
}

// FileFinding is a secret in a file: the rule that found it, and the line and
// column (in characters) of its first character, from 1. A file that is a secret as
// such, by its name, is reported at line 1, column 1.
type FileFinding struct {
	Rule         string
	Line, Column int
}

// allowMark on a line lets the secrets that begin or end on it through.
const allowMark = "gitleaks:allow"

// ScanFile returns the secrets in a file, and how many it let through because
// their line is marked gitleaks:allow or because allow holds them. The path, with
// slashes, decides which rules apply: some hold for one kind of file alone, and
// files that gitleaks never looks into (pictures, lock files, vendored code) have no
// findings.
func ScanFile(path string, data []byte, allow []Allow) (found []FileFinding, allowed int) {
	text := string(data)
	line, from := 1, 0
	for _, f := range unite(product.scan(text, path)) {
		if slices.Contains(allow, Allow{path, f.Rule}) || strings.Contains(lines(text, span{f.Start, f.End}).in(text), allowMark) {
			allowed++
			continue
		}
		line += strings.Count(text[from:f.Start], "\n")
		from = f.Start
		start := strings.LastIndexByte(text[:f.Start], '\n') + 1
		found = append(found, FileFinding{f.Rule, line, utf8.RuneCountInString(text[start:f.Start]) + 1})
	}
	return found, allowed
}

package wiki

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
)

// The generated mark ends every page and names the digest of all bytes before it, so
// that a page which a hand changed is known.
const (
	markStart = "<!-- kxm:wiki sha256:"
	markEnd   = " -->\n"
)

// seal returns a page with its mark.
func seal(body []byte) []byte {
	sum := sha256.Sum256(body)
	body = append(body, markStart...)
	body = hex.AppendEncode(body, sum[:])
	return append(body, markEnd...)
}

// Ownership says whose a file at a page's path is.
type Ownership int

// The ownerships.
const (
	NotOurs Ownership = iota // it has no mark
	Edited                   // it has a mark that its bytes do not fit
	Ours                     // it is as it was written
)

// Owner returns whose a file is. A checkout that turned every line end into CRLF has
// changed nothing. What stands behind the mark belongs to the page as well.
func Owner(data []byte) Ownership {
	data = withoutCR(data)
	at := bytes.LastIndex(data, []byte(markStart))
	if at < 0 || at > 0 && data[at-1] != '\n' {
		return NotOurs
	}
	if bytes.Equal(seal(bytes.Clone(data[:at])), data) {
		return Ours
	}
	return Edited
}

// withoutCR returns the text with LF line ends if all of its line ends are CRLF.
func withoutCR(data []byte) []byte {
	ends := bytes.Count(data, []byte("\r\n"))
	if ends == 0 || ends != bytes.Count(data, []byte("\n")) {
		return data
	}
	return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
}

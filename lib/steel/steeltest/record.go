package steeltest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// bodyCap is how many bytes of a body are kept; the site's handlers read all of it.
const bodyCap = 64 << 10

// Request is what a client sent.
type Request struct {
	Method, Path string
	Query        string
	Header       http.Header
	Body         string // at most 64 KiB of it
}

// record keeps the requests that a server got.
type record struct {
	lock     sync.Mutex
	requests []Request
}

func (k *record) note(r *http.Request, body string) {
	k.lock.Lock()
	defer k.lock.Unlock()
	k.requests = append(k.requests, Request{r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Clone(), body})
}

// Requests returns what was sent so far.
func (k *record) Requests() []Request {
	k.lock.Lock()
	defer k.lock.Unlock()
	return slices.Clone(k.requests)
}

// Count returns how many requests had a method and a path that begins so.
func (k *record) Count(method, prefix string) int {
	n := 0
	for _, r := range k.Requests() {
		if r.Method == method && strings.HasPrefix(r.Path, prefix) {
			n++
		}
	}
	return n
}

// readBody returns the begin of a body and leaves all of it to be read again.
func readBody(r *http.Request) string {
	var kept bytes.Buffer
	_, _ = io.Copy(&kept, io.LimitReader(r.Body, bodyCap)) // a body that breaks off is kept as far as it goes
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(kept.Bytes()), r.Body), r.Body}
	return kept.String()
}

// File is a file that the site was sent.
type File struct {
	Name, SHA256 string
	Bytes        int64
}

// readFiles reads the files of a form, in order.
func readFiles(r *http.Request) []File {
	var files []File
	parts, err := r.MultipartReader()
	if err != nil {
		return nil
	}
	for {
		part, err := parts.NextPart()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				files = append(files, File{Name: "(broken off)"})
			}
			return files
		}
		if part.FileName() == "" {
			continue
		}
		digest := sha256.New()
		n, _ := io.Copy(digest, part) // an end that is missing shows at the next part
		files = append(files, File{part.FileName(), hex.EncodeToString(digest.Sum(nil)), n})
	}
}

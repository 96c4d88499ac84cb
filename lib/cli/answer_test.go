package cli

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestAnswerKeepsItsOrder: whatever is written, in pieces of any length and kind, is
// what is sent.
func TestAnswerKeepsItsOrder(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var a answer
		var want strings.Builder
		for range r.IntN(30) {
			text := strings.Repeat(string(rune('a'+r.IntN(26))), r.IntN(3*longText))
			if r.IntN(2) == 0 {
				a.WriteString(text)
			} else {
				piece := []byte(text)
				a.Write(piece)
				clear(piece) // the caller may use it again
			}
			want.WriteString(text)
		}
		var got bytes.Buffer
		if err := a.sendTo(&got); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() || string(a.bytes()) != want.String() || a.size != want.Len() {
			t.Fatalf("seed %d: %d bytes, of %d", seed, got.Len(), want.Len())
		}
	}
}

// shortWriter takes so many bytes.
type shortWriter struct{ room int }

var errFull = errors.New("full")

func (w *shortWriter) Write(p []byte) (int, error) {
	if len(p) > w.room {
		return 0, errFull
	}
	w.room -= len(p)
	return len(p), nil
}

// TestAnswerSaysWhatCouldNotBeSent: no place of a failure is missed.
func TestAnswerSaysWhatCouldNotBeSent(t *testing.T) {
	for _, small := range []bool{true, false} {
		var a answer
		a.WriteString("head ")
		if !small {
			a.WriteString(strings.Repeat("long ", 100_000))
		}
		a.Write([]byte("tail"))
		for _, room := range []int{0, 1, 5, a.size / 2, a.size - 1} {
			if err := a.sendTo(&shortWriter{room}); err != errFull {
				t.Errorf("small %v, room for %d of %d: %v", small, room, a.size, err)
			}
		}
		if err := a.sendTo(&shortWriter{a.size}); err != nil {
			t.Error(err)
		}
	}
}

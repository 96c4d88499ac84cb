// Package state owns temporal state and the journal: what an event holds, when it
// happened, who may do what, what a set of events adds up to, and which verbs are
// refused.
//
// Start with [Check], which says what each event counts for, and [FoldKey] and
// [FoldJournal], which turn checked events into items. Both are pure functions of a
// set of events and a [Trust]: in whatever order events arrived or were merged, the
// answer is the same. The verbs, the methods of [Writer], are pure as well: they take
// what was folded and return the bytes of a new event, a [Draft], or say why not.
//
// Only [Store] touches a repository: it reads a log and the trust point. The package
// stores nothing, holds no key and no clock. Where
// events live is lib/eventlog's affair, signatures are lib/signature's.
package state

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Schemas of what this package writes.
const (
	EventSchema         = "kxm.state-event.v1"
	FindingSchema       = "kxm.state-finding.v1"
	HistorySchema       = "kxm.state-history.v1"
	ContradictionSchema = "kxm.state-contradiction.v1"
)

// FormatVersion is the store format that is written here. A trust point that asks for
// a newer one makes the store read-only.
const FormatVersion = 1

// Limits of an event: bytes of the file, code points of texts, entries of lists.
const (
	MaxEvent        = 256 << 10
	MaxProject      = 200
	MaxKey          = 200
	MaxSummary      = 4000 // also of a reason and an outcome
	MaxEvidenceRef  = 1000
	MaxEvidenceRefs = 32
	MaxEvidence     = 200 // of an entry of a journal entry's evidence
	MaxEvidences    = 16
	MaxLabel        = 512 // an actor, a severity, an area, a run, a stage
	MaxEntries      = 64  // journal entries that an episode sums up: a lineage is no longer
	MaxAfter        = 64  // heads that a new event names; more are named by nobody
)

// Prefixes that an item's id puts before an event's.
const (
	prefixState   = "ctx_"
	prefixJournal = "journal_"
	prefixEpisode = "episode_"
	proposalRef   = "proposal:"
)

// idDigits is how many digits of the digest an id holds. With sixteen an author can
// find two proposals of one id in minutes, have one promoted and put the other in its
// place.
const idDigits = 32

// ID returns the id of an event: its clock and the first digits of the SHA-256 of its
// file's bytes.
func ID(event []byte, clock HLC) string { return idOf(digestOf(event), clock) }

func idOf(digest string, clock HLC) string { return clock.String() + "-" + digest[:idDigits] }

func digestOf(event []byte) string {
	sum := sha256.Sum256(event)
	return hex.EncodeToString(sum[:])
}

// ParseID returns the clock of an event's id; ok is false if id is none.
func ParseID(id string) (clock HLC, ok bool) {
	if len(id) != hlcDigits+1+idDigits || id[hlcDigits] != '-' || !isHex(id[hlcDigits+1:], idDigits) {
		return 0, false
	}
	return ParseHLC(id[:hlcDigits])
}

// BareID returns the event's id in what a person may give for one: an item's id, such
// as ctx_<id>, or the reference proposal:<id>. Other texts are returned trimmed.
func BareID(s string) string {
	s = strings.TrimSpace(s)
	for _, prefix := range [...]string{prefixState, prefixJournal, prefixEpisode, proposalRef} {
		if id, ok := strings.CutPrefix(s, prefix); ok {
			return id
		}
	}
	return s
}

// isHex reports whether s is n lower-case hexadecimal digits.
func isHex(s string, n int) bool {
	if len(s) != n {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

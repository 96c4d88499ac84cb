// Package prompt owns the compiler of model instructions: it joins the fixed texts,
// a variant's sections, an application's and what one request brings into a pack of
// ordered, budgeted sections, and splits the pack into a system prompt that stays
// the same, byte for byte, and an update that says what changed.
//
// Start with [ParseInput] and [Compile]; [Launch] compares a pack with what a
// conversation was given before, [Delivered] finds that in its history, and
// [ParsePack] reads a pack back. The package is a pure function: it reads no file,
// clock or environment and starts nothing, and what it is not given cannot reach a
// prompt. It calls no model, and it decides nothing about tools: a frozen capability
// set says which there are.
//
// Lengths are code points. Input text is normalised, then redacted, then fitted, in
// this order: a cut never splits a secret before its rule has seen it.
package prompt

import (
	"crypto/sha256"
	"encoding/hex"
)

// Names of the forms that the compiler reads and writes.
const (
	InputSchema      = "kxm.prompt-input.v1"
	SectionSchema    = "kxm.prompt-section.v1"
	PackSchema       = "kxm.context-pack.v1"
	RenderSchema     = "kxm.prompt-render.v1"
	LaunchSchema     = "kxm.prompt-launch.v1"
	SnapshotSchema   = "kxm.prompt-snapshot.v1"
	CheckpointSchema = "kxm.prompt-checkpoint.v1"
	RecordSchema     = "kxm.prompt-record.v1"
	SizeSchema       = "kxm.prompt-size.v1"
	PrefixSchema     = "kxm.prompt-prefix.v1"
	TextSchema       = "kxm.prompt-text.v1"
	GroupSchema      = "kxm.tool-group.v1"
)

// Mode is what a run is for.
type Mode string

// The modes.
const (
	ModeNormal       Mode = "normal"
	ModePlan         Mode = "plan"
	ModeSideQuestion Mode = "side-question"
)

// Part says how a section reaches the model.
type Part string

// The parts. A request section is dynamic and belongs to one request: it is sent
// whenever it is there, never compared and never withdrawn.
const (
	Stable  Part = "stable"
	Dynamic Part = "dynamic"
	Request Part = "request"
)

// digest returns the SHA-256 of the pieces as it is written everywhere.
func digest(pieces ...string) string {
	hash := sha256.New()
	buf := make([]byte, 4<<10) // instead of a copy of each piece
	for _, p := range pieces {
		for p != "" {
			n := copy(buf, p)
			hash.Write(buf[:n])
			p = p[n:]
		}
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil))
}

package redact

import (
	"slices"
	"strings"
	"time"
)

// ownRules are the formats that this toolchain knows and gitleaks does not.
var ownRules = [...]rule{
	{
		id:       "kxm-secret-variable",
		regex:    `\b(?:KXM_(?:[A-Z0-9]+_)*(?:AUTH|TOKEN|KEY|SECRET|PASSWORD|PASSWD|CREDENTIALS?)|STEEL_API_KEY)["'\]]{0,2}[ \t]*(?::=|=>|=|:)[ \t]*["'\x60]?([^\s"'\x60;,()<>{}\[\]|&]{6,})(?:[\s"'\x60;,)\[\]}>&|<]|\\[nr]|$)`,
		keywords: []string{"kxm_", "steel_api_key"},
		allow: []allowlist{{
			regexes: []string{
				`^\$(?:[A-Za-z_]\w*$|\()`, // another variable, a command
				`(?i)^(?:ste-)?(?:replace|change|your|insert|example|placeholder|dummy|redacted|masked|hidden|x+$|path/|key::)`,
				`(?i)^(?:process\.env|os\.environ|os\.getenv|env)\b`,
				`^[./~][\w./~-]*$`, // a path to a key
			},
		}, {
			target: targetMatch, // prose: "KXM_AUTH_TOKEN: required"
			regexes: []string{
				`[A-Z][ \t]*:[ \t]*[A-Za-z.-]+[\s"'\x60;,)\]]?$`,
			},
		}},
	},
	{
		id:       "steel-api-key",
		regex:    `(?:^|[^A-Za-z0-9])(ste-[A-Za-z0-9_-]{20,})`,
		entropy:  3,
		keywords: []string{"ste-"},
		run:      24,
		form:     formToken,
	},
}

// The prefixes of our own ids and digests, the types of others, and the names that
// stand before a Git object name.
var (
	ownIDs      = [...]string{"ctx_", "cand_", "mem_", "journal_", "episode_", "skill_"}
	ownDigests  = [...]string{"ctxrev_", "ctxpkt_", "pk_"}
	digestTypes = [...]string{"sha1", "sha256", "sha384", "sha512", "md5", "kxt1"}
	objectNouns = [...]string{"commit", "commits", "tree", "blob", "tag", "object", "oid", "sha", "sha1", "sha256", "digest", "hash",
		"checksum", "rev", "revision", "ref", "parent", "head", "base", "fingerprint", "pin"}
)

// public reports whether text[start:end], which a rule takes for a secret, is an
// id or a digest: one of our own ids, a digest behind its type ("sha256:…"), or a
// Git object name that nothing assigns to a credential. In `api_key = "<40 hex>"`
// the value is a secret; in "tokens since commit: <40 hex>" it is not.
func public(text string, start, end int) bool {
	secret := strings.TrimRight(text[start:end], ".")
	for _, prefix := range ownIDs {
		if rest, ok := strings.CutPrefix(secret, prefix); ok && plainID(rest) {
			return true
		}
	}
	for _, prefix := range ownDigests {
		if rest, ok := strings.CutPrefix(secret, prefix); ok && hex(rest) {
			return true
		}
	}
	// Ids of events (a clock and a digest) and of runs (a time and a few digits).
	if stamp, rest, ok := strings.Cut(secret, "-"); ok && hex(rest) &&
		(len(stamp) == 16 && hex(stamp) && len(rest) == 32 || runStamp(stamp) && len(rest) == 6) {
		return true
	}
	if !hex(secret) {
		return false
	}
	before := text[:start]
	for _, typ := range digestTypes {
		if strings.HasSuffix(before, typ+":") {
			return true
		}
	}
	if len(secret) != 40 && len(secret) != 64 {
		return false
	}
	name, assigned := assignee(before)
	if !assigned || (len(name) == 40 || len(name) == 64) && hex(name) { // in a list of object names
		return true
	}
	name = strings.ToLower(name)
	if strings.Contains(name, "passw") || strings.Contains(name, "secret") {
		return false
	}
	name = name[strings.LastIndexAny(name, "_-.")+1:]
	return slices.Contains(objectNouns[:], name)
}

// assignee returns the name on the left of the assignment that ends the text, and
// whether one does.
func assignee(before string) (name string, ok bool) {
	const space = " \t\r\n\f'\"`"
	left := strings.TrimRight(before, space)
	name = strings.TrimRight(left, "=:>,|?")
	if len(name) == len(left) {
		return "", false
	}
	name = strings.TrimRight(name, space)
	i := len(name)
	for i > 0 && tokenKind(name[i-1]) != 0 && name[i-1] != '/' {
		i--
	}
	return name[i:], true
}

// runStamp reports whether s is the time that the id of a run begins with.
func runStamp(s string) bool {
	_, err := time.Parse("20060102T150405Z", s)
	return err == nil
}

// plainID reports whether s is made of what ids are made of.
func plainID(s string) bool {
	for i := range len(s) {
		if c := s[i]; !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.') {
			return false
		}
	}
	return s != ""
}

// hex reports whether s consists of lower-case hexadecimal digits.
func hex(s string) bool {
	for i := range len(s) {
		if c := s[i]; !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return false
		}
	}
	return s != ""
}

package item

import (
	"slices"
	"strings"
	"unicode/utf8"

	"kxm/lib/fault"
)

// controlPlane names what no item may carry: context informs, it never grants.
var controlPlane = [...]string{
	"permissions", "tools", "allow", "deny", "grants", "approval", "policy",
	"scopes", "credentials", "secrets", "token", "apiKey", "password",
}

// ControlPlaneField reports whether a field of that name, in any letter case, may
// stand neither in an item nor in its provenance. Letter case is Unicode's, so
// that U+212A KELVIN SIGN is a k here too.
func ControlPlaneField(name string) bool {
	for _, c := range controlPlane {
		if strings.EqualFold(c, name) {
			return true
		}
	}
	return false
}

// Check applies the rules of Parse to an item built in Go: an item that passes is
// equal to the one that Parse reads from its JSON. The error is a *fault.Error
// that names the field.
func (it *Item) Check() error {
	for _, t := range [...]struct{ field, text string }{
		{"id", it.ID}, {"project", it.Project}, {"summary", it.Summary},
		{"provenance.sourceRef", it.Provenance.SourceRef}, {"provenance.path", it.Provenance.Path},
		{"provenance.author", it.Provenance.Author}, {"provenance.signer", it.Provenance.Signer},
		{"stateKey", it.StateKey}, {"memoryKind", it.MemoryKind}, {"runId", it.RunID}, {"stageId", it.StageID},
	} {
		if !utf8.ValidString(t.text) {
			return notUTF8(t.field)
		}
	}
	if err := trimmed("id", it.ID); err != nil {
		return err
	}
	for _, l := range [...]struct {
		field string
		list  []string
	}{
		{"provenance.derivedFrom", it.Provenance.DerivedFrom}, {"supersedes", it.Supersedes}, {"evidenceRefs", it.EvidenceRefs},
	} {
		for _, text := range l.list {
			if !utf8.ValidString(text) {
				return notUTF8(l.field)
			}
			if err := trimmed(l.field, text); err != nil {
				return err
			}
		}
	}
	return it.check()
}

func notUTF8(field string) error {
	return violation(fault.ProtocolError, field, "is not UTF-8")
}

func trimmed(field, text string) error {
	if text != strings.TrimSpace(text) {
		return violation(fault.InvalidContextField, field, "has white space around it")
	}
	return nil
}

// check applies the rules of value to an item whose texts are UTF-8 and whose ids
// are trimmed.
func (it *Item) check() error {
	p := &it.Provenance
	if err := checkName("id", it.ID, MaxID); err != nil {
		return err
	}
	if !it.Kind.Valid() {
		return notOneOf("kind", kinds)
	}
	if err := checkName("project", it.Project, MaxProject); err != nil {
		return err
	}
	if err := checkText("summary", it.Summary, MaxSummary); err != nil {
		return err
	}
	if err := it.checkProvenance(); err != nil {
		return err
	}
	if !it.Authority.Valid() {
		return notOneOf("authority", authorities)
	}
	if it.Authority.Rank() > p.SourceType.Ceiling().Rank() {
		return fault.New(fault.ContextAuthorityViolation, "content of origin %s cannot claim %s authority", p.SourceType, it.Authority).On("authority")
	}
	if !it.Confidence.Valid() {
		return notOneOf("confidence", confidences)
	}
	if it.Scope != "" && !it.Scope.Valid() {
		return notOneOf("scope", scopes)
	}
	for _, t := range [...]struct{ field, text string }{
		{"observedAt", it.ObservedAt}, {"validFrom", it.ValidFrom}, {"validUntil", it.ValidUntil},
	} {
		if t.text == "" {
			continue
		}
		if _, err := ParseTime(t.text); err != nil {
			e := err.(*fault.Error)
			return violation(e.Code, t.field, "is not a time: %s", e.Message).WithHint("%s", e.Hint)
		}
	}
	if it.Status != "" && !it.Status.Valid() {
		return notOneOf("status", statuses)
	}
	if it.Kind == KindState && it.StateKey == "" {
		return fault.New(fault.InvalidContextItem, "state items require a stateKey").On("stateKey")
	}
	if it.Kind == KindState && it.Status == "" {
		return fault.New(fault.InvalidContextItem, "state items require an explicit lifecycle status").On("status")
	}
	if err := optional(checkName, "stateKey", it.StateKey, MaxStateKey); err != nil {
		return err
	}
	if err := checkList("supersedes", it.Supersedes, MaxID); err != nil {
		return err
	}
	if err := checkList("evidenceRefs", it.EvidenceRefs, MaxEvidenceRef); err != nil {
		return err
	}
	switch {
	case slices.Contains(it.Supersedes, it.ID):
		return fault.New(fault.InvalidContextItem, "context item cannot supersede itself").On("supersedes")
	case slices.Contains(it.EvidenceRefs, it.ID):
		return fault.New(fault.InvalidContextItem, "context item cannot be its own evidence").On("evidenceRefs")
	case slices.Contains(p.DerivedFrom, it.ID):
		return fault.New(fault.InvalidContextItem, "context item cannot be derived from itself").On("provenance.derivedFrom")
	}
	if err := optional(checkName, "memoryKind", it.MemoryKind, MaxLabel); err != nil {
		return err
	}
	if it.JournalCategory != "" && !slices.Contains(categories, it.JournalCategory) {
		return notOneOf("journalCategory", categories)
	}
	if err := optional(checkName, "runId", it.RunID, MaxLabel); err != nil {
		return err
	}
	return optional(checkName, "stageId", it.StageID, MaxLabel)
}

func (it *Item) checkProvenance() error {
	p := &it.Provenance
	if !p.SourceType.Valid() {
		return notOneOf("provenance.sourceType", origins)
	}
	if err := optional(checkText, "provenance.sourceRef", p.SourceRef, MaxSourceRef); err != nil {
		return err
	}
	if err := checkList("provenance.derivedFrom", p.DerivedFrom, MaxID); err != nil {
		return err
	}
	if p.Path != "" {
		if err := checkPath("provenance.path", p.Path); err != nil {
			return err
		}
	}
	if p.Blob != "" && !isObjectID(p.Blob) {
		return violation(fault.InvalidContextField, "provenance.blob", "must be an object id of 40 or 64 lower-case hexadecimal digits")
	}
	if err := optional(checkText, "provenance.author", p.Author, MaxLabel); err != nil {
		return err
	}
	return optional(checkText, "provenance.signer", p.Signer, MaxLabel)
}

// optional applies a check unless the field is absent.
func optional(check func(field, text string, limit int) error, field, text string, limit int) error {
	if text == "" {
		return nil
	}
	return check(field, text, limit)
}

// checkText refuses a text that is blank or longer than limit code points.
func checkText(field, text string, limit int) error {
	if strings.TrimSpace(text) == "" {
		return empty(field)
	}
	// No text has more code points than bytes.
	if len(text) > limit && utf8.RuneCountInString(text) > limit {
		return violation(fault.ProtocolError, field, "exceeds %d characters", limit)
	}
	return nil
}

// checkName is checkText for what stands in lists, file names and terminals, and
// so may not hold control characters.
func checkName(field, text string, limit int) error {
	if err := checkText(field, text, limit); err != nil {
		return err
	}
	if hasControl(text) {
		return violation(fault.InvalidContextField, field, "holds a control character")
	}
	return nil
}

// hasControl reports whether text holds a character of category Cc: C0, DEL or
// C1, which UTF-8 writes as C2 and a byte below A0.
func hasControl(text string) bool {
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c == 0x7F || c < 0xA0 && i > 0 && text[i-1] == 0xC2 {
			return true
		}
	}
	return false
}

// checkList applies the rules of id lists to trimmed entries.
func checkList(field string, list []string, limit int) error {
	if len(list) > MaxList {
		return tooMany(field)
	}
	for i, text := range list {
		if err := checkName(field, text, limit); err != nil {
			return err
		}
		if slices.Contains(list[:i], text) {
			return violation(fault.InvalidContextField, field, "contains duplicate reference %s", fault.Quote(text))
		}
	}
	return nil
}

// checkPath refuses what is not a file below the repository's root on every
// system: a backslash is a separator on some.
func checkPath(field, path string) error {
	if err := checkText(field, path, MaxPath); err != nil {
		return err
	}
	if path[0] == '/' || strings.ContainsAny(path, "\\\x00") || strings.Contains("/"+path+"/", "/../") {
		return violation(fault.InvalidContextField, field, "must be a slash path below the repository's root")
	}
	return nil
}

func isObjectID(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// violation is an error about a field, which its message names in words.
func violation(code fault.Code, field, format string, args ...any) *fault.Error {
	subject := "context item " + field
	if name, inside := strings.CutPrefix(field, "provenance."); inside {
		subject = "context provenance " + name
	}
	return fault.New(code, subject+" "+format, args...).On(field)
}

func empty(field string) error {
	return violation(fault.ProtocolError, field, "cannot be empty")
}

func tooMany(field string) error {
	return violation(fault.ContextLimitsExceeded, field, "exceeds %d references", MaxList)
}

func notOneOf[T ~string](field string, set []T) error {
	names := make([]string, len(set))
	for i, v := range set {
		names[i] = string(v)
	}
	return violation(fault.InvalidContextField, field, "must be one of %s", strings.Join(names, ", "))
}

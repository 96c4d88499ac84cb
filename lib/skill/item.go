package skill

import (
	"io/fs"
	"path"
	"unicode/utf8"

	"kxm/lib/item"
	"kxm/lib/redact"
)

// Items returns the promoted and verified skills as items of a project, by id, and
// the problems of the others. fsys is the .kxm folder, and kxm its slash path from
// the repository's root. blob, if not nil, returns the object id of a file of fsys
// that is committed, else "".
func Items(fsys fs.FS, project, kxm string, blob func(name string) string) ([]item.Item, []Problem) {
	skills, problems := Promoted(fsys)
	items := make([]item.Item, 0, len(skills))
	for i := range skills {
		id := ""
		if blob != nil {
			id = blob(skills[i].Path())
		}
		items = append(items, skills[i].Item(project, kxm, id))
	}
	return items, problems
}

// Item returns the skill as a context item; the parameters are those of [Items].
// The skill must be promoted and verified. The summary is redacted; the source
// reference is not, since it pins the digest.
func (s *Skill) Item(project, kxm, blob string) item.Item {
	summary, _ := redact.Redact(s.Name + ": " + s.Description)
	return item.Item{
		ID:      "skill_" + s.ID,
		Kind:    item.KindSkill,
		Project: project,
		Summary: cut(summary, item.MaxSummary),
		Provenance: item.Provenance{
			SourceType: item.OriginGit,
			SourceRef:  "skill:" + s.ID + "@" + s.Digest,
			Path:       path.Join(kxm, s.Path()),
			Blob:       blob,
		},
		Authority:  item.AuthorityInstruction,
		Confidence: item.ConfidenceVerified,
		Scope:      item.ScopeProject,
		Status:     item.StatusCurrent,
	}
}

// cut returns at most n code points of s.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n])
}

package prompt

import (
	"strings"

	"kxm/lib/item"
	"kxm/lib/ndjson"
)

// read reads the member launch.
func (l *Launch) read(m member) error {
	return m.all(func(key string, m member) error {
		if m.null() {
			// The one place where null is a choice: no standard sections.
			l.StandardOut = l.StandardOut || key == "standard"
			return nil
		}
		switch key {
		case "productName":
			return m.line(&l.ProductName, MaxName)
		case "model":
			return m.line(&l.Model, MaxName)
		case "mode":
			return l.readMode(m)
		case "trigger":
			return m.line(&l.Trigger, MaxLabel)
		case "parent":
			l.Child = true
			if kind(m) != '"' && kind(m) != '{' {
				return wrong("must be the name of a run, or an object")
			}
		case "profile":
			return m.line(&l.Profile, MaxName)
		case "dataRoot":
			return m.line(&l.DataRoot, MaxPath)
		case "scope":
			return m.line(&l.Scope, MaxLabel)
		case "standard":
			return l.readStandard(m)
		case "at":
			return l.readAt(m)
		default:
			return l.readContent(key, m)
		}
		return nil
	})
}

// readContent reads what becomes a section.
func (l *Launch) readContent(key string, m member) error {
	switch key {
	case "sessionState":
		l.SessionState = &SessionState{}
		return l.SessionState.read(m)
	case "references":
		return m.list(func(_ int, m member) error {
			var r Reference
			err := r.read(m)
			l.References = append(l.References, r)
			return err
		})
	case "requiredSkills":
		return m.lines(&l.RequiredSkills, MaxName)
	case "spawn":
		l.Spawn = &Spawn{}
		return l.Spawn.read(m)
	case "wiki":
		return m.only("text", &l.Wiki)
	case "plan":
		return m.only("body", &l.Plan)
	case "handoff":
		l.Handoff = &Handoff{}
		return l.Handoff.read(m)
	case "main":
		l.Main = &MainRun{}
		return m.object(func(key string, m member) error {
			switch key {
			case "system":
				return m.text(&l.Main.System)
			case "update":
				return m.text(&l.Main.Update)
			}
			return nil
		})
	}
	return nil
}

// only reads an object of which one text counts.
func (m member) only(name string, into *string) error {
	return m.object(func(key string, m member) error {
		if key != name {
			return nil
		}
		return m.text(into)
	})
}

func (l *Launch) readMode(m member) error {
	var s string
	if err := m.line(&s, MaxLabel); err != nil {
		return err
	}
	l.Mode = Mode(s)
	switch l.Mode {
	case ModeNormal, ModePlan, ModeSideQuestion:
		return nil
	}
	return wrong("must be one of %s, %s, %s", ModeNormal, ModePlan, ModeSideQuestion)
}

func (l *Launch) readAt(m member) error {
	if err := m.line(&l.At, MaxLabel); err != nil {
		return err
	}
	if _, err := item.ParseTime(l.At); err != nil {
		return wrong("must be an RFC 3339 time such as 2026-09-01T12:00:00Z")
	}
	return nil
}

func (l *Launch) readStandard(m member) error {
	l.Standard = &Standard{}
	err := m.object(func(key string, m member) error {
		switch key {
		case "cwd":
			return m.line(&l.Standard.Cwd, MaxPath)
		case "project":
			return m.object(func(key string, m member) error {
				if key != "name" {
					return nil
				}
				return m.line(&l.Standard.Project, MaxName)
			})
		}
		return nil
	})
	if err == nil && l.Standard.Cwd == "" {
		return within(wrong("must name the working folder"), "cwd")
	}
	return err
}

func (s *SessionState) read(m member) error {
	return m.object(func(key string, m member) error {
		switch key {
		case "name":
			return m.line(&s.Name, MaxName)
		case "firstTurn":
			return m.flag(&s.FirstTurn)
		case "todo":
			return readTodo(m, &s.Todo)
		case "previousTodo":
			s.PreviousTodo = []Todo{}
			return readTodo(m, &s.PreviousTodo)
		}
		return nil
	})
}

// readTodo reads a todo list. An item of any length is read, and clipped where it is
// shown.
func readTodo(m member, into *[]Todo) error {
	return m.list(func(_ int, m member) error {
		var t Todo
		err := m.object(func(key string, m member) error {
			switch key {
			case "text":
				return m.line(&t.Text, ndjson.MaxValue)
			case "status":
				if err := m.line(&t.Status, ndjson.MaxValue); err != nil {
					return err
				}
				if !isStatus(t.Status) {
					return wrong("must be one word of a-z, _ and -, of at most %d characters", maxStatus)
				}
			}
			return nil
		})
		*into = append(*into, t)
		return err
	})
}

func isStatus(s string) bool {
	return s != "" && len(s) <= maxStatus && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_-") == ""
}

func (r *Reference) read(m member) error {
	return m.object(func(key string, m member) error {
		switch key {
		case "title":
			return m.line(&r.Title, MaxTitle)
		case "source":
			return m.line(&r.Source, MaxSource)
		case "text":
			return m.text(&r.Text)
		}
		return nil
	})
}

func (s *Spawn) read(m member) error {
	return m.object(func(key string, m member) error {
		if key != "profiles" {
			return nil
		}
		return m.list(func(_ int, m member) error {
			var p Profile
			err := m.object(func(key string, m member) error {
				switch key {
				case "name":
					return m.line(&p.Name, MaxName)
				case "description":
					return m.line(&p.Description, ndjson.MaxValue)
				case "planEligible":
					return m.flag(&p.PlanEligible)
				}
				return nil
			})
			if err == nil && p.Name == "" {
				return within(wrong("must name the profile"), "name")
			}
			s.Profiles = append(s.Profiles, p)
			return err
		})
	})
}

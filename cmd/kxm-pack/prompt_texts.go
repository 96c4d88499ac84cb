package main

import (
	"unicode/utf8"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/prompt"
	"kxm/lib/prompt/text"
)

// textsCmd prints the fixed texts.
type textsCmd struct {
	ID string `arg:"" optional:"" name:"id" help:"Only this text."`
}

// Codes names what the command can end with.
func (*textsCmd) Codes() []fault.Code { return []fault.Code{fault.PromptTextUnknown} }

// Run prints one line a text.
func (c *textsCmd) Run(s *cli.Session) error {
	all := text.All()
	if c.ID != "" {
		t, ok := text.Fixed(c.ID)
		if !ok {
			return fault.New(fault.PromptTextUnknown, "no fixed text is called %s", fault.Quote(c.ID)).WithHint("%s prompt texts lists them", s.Program)
		}
		all = []text.Text{t}
	}
	for _, t := range all {
		if err := s.Emit(struct {
			Schema string `json:"schema"`
			ID     string `json:"id"`
			Title  string `json:"title"`
			Size   int    `json:"size"`
			Budget int    `json:"budget"`
			Digest string `json:"digest"`
			Body   string `json:"body"`
		}{prompt.TextSchema, t.ID, t.Title, utf8.RuneCountInString(t.Body), t.Budget, t.Digest, t.Body}); err != nil {
			return err
		}
	}
	return nil
}

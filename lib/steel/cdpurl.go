package steel

import (
	"context"
	"net/url"
)

// CDPURLSchema names the form of a browser's address in answers.
const CDPURLSchema = "kxm.steel-cdp-url.v1"

// CDPURL is the address of a session's browser for other programs.
type CDPURL struct {
	Schema string `json:"schema"`
	CDPURL string `json:"cdpUrl"`

	HoldsKey bool `json:"-"` // the key stands in it, and not only where it would
}

// ShowCDPURL returns the address of a session's browser, with a mark in place of the key.
// Nothing is asked of anybody.
func (s *Service) ShowCDPURL(session string) (*CDPURL, error) {
	r, err := s.Find(session)
	if err != nil {
		return nil, err
	}
	if r.Phase == Closed {
		return nil, over(r)
	}
	key := ""
	if s.Settings.keyInAddress() {
		key = maskedValue
	}
	return &CDPURL{Schema: CDPURLSchema, CDPURL: s.Settings.socketURL(r.ID, key)}, nil
}

// RevealCDPURL returns the address with the key. Whoever has it acts on the session, so
// it is given only where that is allowed, and only while the session is the current one.
func (s *Service) RevealCDPURL(ctx context.Context, a Access) (*CDPURL, error) {
	a.Verb = "cdp-url --reveal"
	answer := &CDPURL{Schema: CDPURLSchema, HoldsKey: s.Settings.keyInAddress()}
	err := s.during(ctx, &a, func(ctx, _ context.Context, r *Record) error {
		list, err := s.List(ctx)
		if err != nil {
			return err
		}
		if err := s.isCurrent(r, list); err != nil {
			return err
		}
		answer.CDPURL, err = s.directURL(ctx, r.ID)
		r.LastActiveAt = s.now()
		return err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// keyInAddress reports whether an address for other programs, which send no headers of
// ours, holds the key.
func (s *Settings) keyInAddress() bool {
	return s.KeySource != "" && (s.Mode == Cloud || s.CDPAuth != authHeader)
}

// directURL is the address of a session's browser for other programs.
func (s *Service) directURL(ctx context.Context, id string) (string, error) {
	if !s.Settings.keyInAddress() {
		return s.Settings.socketURL(id, ""), nil
	}
	key, err := s.Key(ctx)
	if err != nil {
		return "", err
	}
	return s.Settings.socketURL(id, url.QueryEscape(key)), nil
}

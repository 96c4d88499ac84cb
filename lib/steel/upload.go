package steel

import (
	"context"
	"encoding/base64"

	"kxm/lib/cdp"
	"kxm/lib/fault"
)

// UploadFile is a file that is given to a page.
type UploadFile struct {
	Name string // without a folder
	Type string // its media type, or ""
	Data []byte
}

// Of a file, one call holds 1 MiB in base64, and so many are on their way.
const (
	pieceBytes  = 1 << 20 / 4 * 3
	piecesAhead = 4
)

// filePicker is what the script says of an element that files are given to.
type filePicker struct {
	Kind     string `json:"kind"` // "file", or "": it takes none
	Multiple bool   `json:"multiple"`
	Disabled bool   `json:"disabled"`
}

// Upload gives files to an element that asks for some, in place of those that it has. They
// are made in the page: a path would be one of the server's.
func (p *Page) Upload(ctx context.Context, a Aim, c Choice, files []UploadFile) (*Action, error) {
	c.Hidden = true // a page may hide it behind a button of its own
	var f filePicker
	e, h, err := p.inspect(ctx, a, c, "picker", nil, &f)
	if err != nil {
		return nil, err
	}
	switch {
	case f.Kind == "":
		return nil, fault.New(fault.SteelTargetKind, "%s takes no files", h).WithHint("css=input[type=file] finds what does, also where the page hides it")
	case f.Disabled:
		return nil, fault.New(fault.SteelTargetDisabled, "%s is disabled", h)
	case !f.Multiple && len(files) > 1:
		return nil, fault.New(fault.SteelTargetKind, "%s takes one file, and not %d", h, len(files))
	}
	if err := e.sendPieces(ctx, files); err != nil {
		return nil, err
	}
	names := make([]map[string]string, len(files))
	for i, one := range files {
		names[i] = map[string]string{"name": one.Name, "type": one.Type}
	}
	var given []Upload
	if err := e.Ask(ctx, "giveFiles", []any{names}, &given); err != nil {
		return nil, err
	}
	if !sameFiles(files, given) {
		return nil, fault.New(fault.SteelValueDiffers, "%s did not take the files as they are", h)
	}
	for i := range given {
		given[i].Name = clean(given[i].Name, maxMessage)
	}
	done := &Action{Action: "upload", Target: &h, Files: given}
	return done, p.report(ctx, done)
}

// sendPieces brings the files into the page, in order.
func (e *Element) sendPieces(ctx context.Context, files []UploadFile) error {
	var sent []*cdp.Pending
	for i, one := range files {
		for from := 0; from < len(one.Data); from += pieceBytes {
			if len(sent) == piecesAhead {
				if err := e.answered(ctx, sent[0], "addPiece", nil); err != nil {
					return err
				}
				sent = sent[1:]
			}
			piece := base64.StdEncoding.EncodeToString(one.Data[from:min(from+pieceBytes, len(one.Data))])
			sent = append(sent, e.asking("addPiece", []any{i, piece}))
		}
	}
	for _, one := range sent {
		if err := e.answered(ctx, one, "addPiece", nil); err != nil {
			return err
		}
	}
	return nil
}

// sameFiles reports whether the page has the files that it was given.
func sameFiles(files []UploadFile, given []Upload) bool {
	if len(files) != len(given) {
		return false
	}
	for i, one := range files {
		if given[i].Name != one.Name || given[i].Bytes != len(one.Data) {
			return false
		}
	}
	return true
}

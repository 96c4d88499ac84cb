package main

import (
	"context"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/ndjson"
	"kxm/lib/steel"
)

// doctorCmd checks the way to a session.
type doctorCmd struct{}

// Codes names what the command can end with.
func (*doctorCmd) Codes() []fault.Code { return []fault.Code{fault.SteelDoctorFailed} }

// Run prints the checks. What keeps it from asking the server is a check that failed.
func (*doctorCmd) Run(s *cli.Session) error {
	d, err := openServer(s)
	if err != nil {
		return verdict(s, &steel.Secrets{}, steel.DiagnoseSettings(err))
	}
	store, err := steel.OpenStore(d.Settings, false)
	if err == nil {
		d.Store = store
		defer store.Close()
	}
	return verdict(s, d.Secrets, d.Diagnose(context.Background(), err))
}

func verdict(s *cli.Session, secrets *steel.Secrets, checks []steel.Check) error {
	failed := 0
	for _, c := range checks {
		if c.Status == steel.Fail {
			failed++
		}
	}
	line, err := ndjson.Marshal(struct {
		Schema string        `json:"schema"`
		OK     bool          `json:"ok"`
		Checks []steel.Check `json:"checks"`
	}{"kxm.steel-doctor.v1", failed == 0, checks})
	if err != nil {
		return err
	}
	s.Print("%s\n", secrets.Mask(string(line)))
	if failed > 0 {
		return fault.New(fault.SteelDoctorFailed, "%d of %d checks failed", failed, len(checks))
	}
	return nil
}

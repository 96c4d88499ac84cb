package main

import (
	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/packet"
)

// rolesCmd lists the role policies.
type rolesCmd struct{}

// Codes names what the command can end with.
func (*rolesCmd) Codes() []fault.Code {
	return []fault.Code{fault.ConfigInvalid, fault.ConfigKeyUnknown, fault.ConfigKeyNotAllowed}
}

// Run prints one line a role; the name "*" stands for any other name.
func (*rolesCmd) Run(s *cli.Session) error {
	cfg, err := loadConfig(s)
	if err != nil {
		return err
	}
	for _, role := range packet.Roles(cfg) {
		if err := s.Emit(struct {
			Schema string `json:"schema"`
			packet.Role
		}{"kxm.role.v1", role}); err != nil {
			return err
		}
	}
	return nil
}

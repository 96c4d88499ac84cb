// Package config owns the configuration of every tool: where the files are, what
// keys there are, which of them a repository may set, and where a value came
// from.
//
// Start with [Load]. One .kxm/config.toml serves all binaries, so this package
// knows every table and each binary checks the whole file. It merges the
// repository's file over the user's; flags and the environment stand above both
// and are the command line's. It is the only importer of go-toml for
// configuration, and it does not write files.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"kxm/lib/fault"
)

// FileName is the repository's configuration file, from the folder that holds .kxm.
const FileName = ".kxm/config.toml"

// File is everything that a configuration file may say. Pointers tell "not set"
// from a zero value.
type File struct {
	Project string          `toml:"project"`
	Pack    Pack            `toml:"pack"`
	Roles   map[string]Role `toml:"roles"`
	Memory  Memory          `toml:"memory"`
	Secrets Secrets         `toml:"secrets"`
	State   State           `toml:"state"`
	Wiki    Wiki            `toml:"wiki"`
	Steel   map[string]any  `toml:"steel"`
	Refine  map[string]any  `toml:"refine"`
	Hooks   map[string]any  `toml:"hooks"`
	Paths   Paths           `toml:"paths"`
}

// Pack is the selection of packets.
type Pack struct {
	Role               string   `toml:"role"`
	ContradictionShare *float64 `toml:"contradictionShare"` // 0 to 1; default 0.5
}

// Role adds a role or overrides one.
type Role struct {
	Kinds             []string `toml:"kinds"`
	JournalCategories []string `toml:"journalCategories"`
	BudgetTokens      *int     `toml:"budgetTokens"`
}

// Memory is the checks of authored memory.
type Memory struct {
	CandidateDays *int `toml:"candidateDays"` // default 30
}

// Secrets lets places through that the detector finds and reviewers accepted.
type Secrets struct {
	Allow []Allow `toml:"allow"`
}

// Allow is one path and one rule; both must fit.
type Allow struct {
	Path string `toml:"path"`
	Rule string `toml:"rule"`
}

// State is the temporal state's switches.
type State struct {
	RequireSigned bool   `toml:"requireSigned"`
	SelfPromotion bool   `toml:"selfPromotion"`
	Format        *int   `toml:"format"`
	RemoteRef     string `toml:"remoteRef"`
}

// Wiki maps memory kinds to sections.
type Wiki struct {
	Sections map[string]string `toml:"sections"`
}

// Paths are the user's folders.
type Paths struct {
	Data     string `toml:"data"`
	State    string `toml:"state"`
	Registry string `toml:"registry"`
}

// layer is one file: its values, and the line of each key that it sets.
type layer struct {
	name  string // as shown to people
	lines map[string]int
	file  File
}

// Config is the merged configuration.
type Config struct {
	File
	layers []layer // strongest first
}

// Options name the files to read.
type Options struct {
	// Repository is the repository's file, if there is one: its bytes and the name to
	// show in errors. Bytes, since it may come from a commit or the index.
	Repository     []byte
	RepositoryName string
	// UserFile is the user's file; "" or a file that does not exist is none.
	UserFile string
}

// UserFile returns the place of the user's configuration.
func UserFile(getenv func(string) string) string {
	base := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(base) { // the XDG specification ignores relative ones
		home := getenv("HOME")
		if home == "" {
			home = getenv("USERPROFILE")
		}
		if home == "" {
			return ""
		}
		base = filepath.Join(home, ".config")
	}
	return filepath.Join(base, "kxm", "config.toml")
}

// Load reads and merges the files. Each error is a *fault.Error with the file, line
// and column: config_invalid, config_key_unknown or config_key_not_allowed.
func Load(o Options) (*Config, error) {
	c := &Config{}
	if o.Repository != nil {
		l, err := parse(o.RepositoryName, o.Repository)
		if err != nil {
			return nil, err
		}
		if err := l.checkRepository(); err != nil {
			return nil, err
		}
		c.layers = append(c.layers, l)
	}
	if o.UserFile != "" {
		data, err := os.ReadFile(o.UserFile)
		switch {
		case err == nil:
			l, err := parse(o.UserFile, data)
			if err != nil {
				return nil, err
			}
			c.layers = append(c.layers, l)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fault.Wrap(err, fault.ConfigInvalid, "cannot read the user's configuration")
		}
	}
	for i := len(c.layers) - 1; i >= 0; i-- {
		c.overlay(c.layers[i])
	}
	return c, nil
}

// overlay puts what a stronger file sets over what is there.
func (c *Config) overlay(l layer) {
	set := func(key string) bool { _, ok := l.lines[key]; return ok }
	if set("project") {
		c.Project = l.file.Project
	}
	if set("pack.role") {
		c.Pack.Role = l.file.Pack.Role
	}
	if set("pack.contradictionShare") {
		c.Pack.ContradictionShare = l.file.Pack.ContradictionShare
	}
	for name, role := range l.file.Roles {
		if c.Roles == nil {
			c.Roles = map[string]Role{}
		}
		merged := c.Roles[name]
		if role.Kinds != nil {
			merged.Kinds = role.Kinds
		}
		if role.JournalCategories != nil {
			merged.JournalCategories = role.JournalCategories
		}
		if role.BudgetTokens != nil {
			merged.BudgetTokens = role.BudgetTokens
		}
		c.Roles[name] = merged
	}
	if set("memory.candidateDays") {
		c.Memory.CandidateDays = l.file.Memory.CandidateDays
	}
	c.Secrets.Allow = append(c.Secrets.Allow, l.file.Secrets.Allow...)
	if set("state.requireSigned") {
		c.State.RequireSigned = l.file.State.RequireSigned
	}
	if set("state.selfPromotion") {
		c.State.SelfPromotion = l.file.State.SelfPromotion
	}
	if set("state.format") {
		c.State.Format = l.file.State.Format
	}
	if set("state.remoteRef") {
		c.State.RemoteRef = l.file.State.RemoteRef
	}
	for kind, section := range l.file.Wiki.Sections {
		if c.Wiki.Sections == nil {
			c.Wiki.Sections = map[string]string{}
		}
		c.Wiki.Sections[kind] = section
	}
	merge(&c.Steel, l.file.Steel)
	merge(&c.Refine, l.file.Refine)
	merge(&c.Hooks, l.file.Hooks)
	if set("paths.data") {
		c.Paths.Data = l.file.Paths.Data
	}
	if set("paths.state") {
		c.Paths.State = l.file.Paths.State
	}
	if set("paths.registry") {
		c.Paths.Registry = l.file.Paths.Registry
	}
}

func merge(into *map[string]any, from map[string]any) {
	for k, v := range from {
		if *into == nil {
			*into = map[string]any{}
		}
		(*into)[k] = v
	}
}

// Origin says which file and line set a key, in the form file:line, or "" when
// none did. Keys are dotted, such as "pack.role"; a table's name finds its first
// key.
func (c *Config) Origin(key string) string {
	for _, l := range c.layers {
		if line, ok := l.lines[key]; ok {
			return fmt.Sprintf("%s:%d", l.name, line)
		}
	}
	return ""
}

// parse decodes one file strictly.
func parse(name string, data []byte) (layer, error) {
	l := layer{name: name, lines: map[string]int{}}
	if err := toml.Unmarshal(data, &l.file); err != nil {
		return layer{}, decodeError(name, err)
	}
	if err := l.walk(data); err != nil {
		return layer{}, err
	}
	return l, l.check()
}

func decodeError(name string, err error) error {
	var decode *toml.DecodeError
	if errors.As(err, &decode) {
		line, column := decode.Position()
		key := strings.Join(decode.Key(), ".")
		return fault.New(fault.ConfigInvalid, "%s", strings.TrimPrefix(decode.Error(), "toml: ")).At(name, line, column).On(key)
	}
	return fault.Wrap(err, fault.ConfigInvalid, "cannot read the configuration").At(name, 0, 0)
}

// walk goes through the syntax tree, which the decoder has accepted: it notes the
// line of every key and refuses unknown ones. go-toml's own strict mode takes keys
// in any letter case, so that a typing error would read as set here and nowhere
// else.
func (l *layer) walk(data []byte) error {
	var p unstable.Parser
	p.Reset(data)
	var table []string
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = nil
			if err := l.key(&p, e, &table); err != nil {
				return err
			}
		case unstable.KeyValue:
			if err := l.keyValue(&p, e, table); err != nil {
				return err
			}
		}
	}
	return p.Error()
}

// key appends a node's dotted key to path, noting each part of it.
func (l *layer) key(p *unstable.Parser, e *unstable.Node, path *[]string) error {
	for it := e.Key(); it.Next(); {
		at := p.Shape(it.Node().Raw).Start
		*path = append(slices.Clip(*path), string(it.Node().Data))
		key := strings.Join(*path, ".")
		if !known(*path) {
			return fault.New(fault.ConfigKeyUnknown, "unknown configuration key %s", fault.Quote(key)).At(l.name, at.Line, at.Column).On(key)
		}
		if _, ok := l.lines[key]; !ok {
			l.lines[key] = at.Line
		}
	}
	return nil
}

func (l *layer) keyValue(p *unstable.Parser, e *unstable.Node, table []string) error {
	path := table
	if err := l.key(p, e, &path); err != nil {
		return err
	}
	return l.value(p, e.Value(), path)
}

// value follows inline tables, also those in arrays.
func (l *layer) value(p *unstable.Parser, v *unstable.Node, path []string) error {
	if v.Kind != unstable.InlineTable && v.Kind != unstable.Array {
		return nil
	}
	for it := v.Children(); it.Next(); {
		var err error
		if child := it.Node(); child.Kind == unstable.KeyValue {
			err = l.keyValue(p, child, path)
		} else {
			err = l.value(p, child, path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

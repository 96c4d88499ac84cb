package steel

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"kxm/lib/config"
	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

// Defaults and limits of the settings.
const (
	DefaultTimeout    = 5 * time.Minute // as Steel's own
	MinTimeout        = 10 * time.Second
	DefaultMaxTimeout = 30 * time.Minute
	DefaultOrphanAge  = 10 * time.Minute

	DefaultSnapshotBytes = 16 << 10 // of a snapshot's text
)

// Mode tells the open-source server from the cloud.
type Mode string

// Modes.
const (
	Self  Mode = "self"
	Cloud Mode = "cloud"
)

// Settings say which server it is and how it is asked.
type Settings struct {
	API, UI    Base
	CDP        Base
	CDPAuth    string // "auto", "header" or "query"
	Mode       Mode
	Timeout    time.Duration // of a new session
	MaxTimeout time.Duration
	OrphanAge  time.Duration
	StateDir   string

	SnapshotBytes int      // of a snapshot's text; 0 is no limit
	KeyCommand    []string // not run through a shell; nil is none
	KeySource     string   // where a key comes from: "STEEL_API_KEY", "the key command" or ""
	Provenance    []Origin // of each setting, in a fixed order
	key           string
	clearTextOK   bool
}

// Origin says where a setting came from. It holds no value, since an address may hold
// what is not for everybody.
type Origin struct{ Name, Source string }

// loader reads settings; the first error stays.
type loader struct {
	getenv func(string) string
	config *config.Config
	s      *Settings
	err    error
}

// Load reads the settings from the environment and the configuration. It makes no
// request and runs nothing.
func Load(getenv func(string) string, c *config.Config) (*Settings, error) {
	l := &loader{getenv: getenv, config: c, s: &Settings{}}
	for _, step := range []func(){l.addresses, l.mode, l.cdp, l.key, l.durations, l.stateDir, l.sizes} {
		if step(); l.err != nil {
			return nil, l.err
		}
	}
	return l.s, nil
}

// source is where a value came from.
type source struct {
	name string // such as "STEEL_API_URL" or "config.toml:3"; "" is the default
	file bool
}

// text returns a setting of the environment, else of the configuration.
func (l *loader) text(env, key string) (string, source) {
	if v, from := l.raw(env, key); v != nil {
		text, ok := v.(string)
		if !ok {
			l.refuse(from, key, "must be a text")
		}
		return text, from
	}
	return "", source{}
}

// raw returns a setting: a text from the environment, else a value of the
// configuration, else nil. It notes where it came from.
func (l *loader) raw(env, key string) (any, source) {
	name, from := key, source{}
	if name == "" {
		name = env
	}
	defer func() { l.s.Provenance = append(l.s.Provenance, Origin{name, from.String()}) }()
	if env != "" {
		if v := l.getenv(env); v != "" {
			from = source{name: env}
			return v, from
		}
	}
	if key != "" {
		if v, ok := l.config.Steel[key]; ok {
			from = source{name: l.config.Origin("steel." + key), file: true}
			return v, from
		}
	}
	return nil, from
}

// String names the source for people.
func (s source) String() string {
	if s.name == "" {
		return "default"
	}
	return s.name
}

// refuse keeps the first refusal of a value. The value itself is not repeated.
func (l *loader) refuse(from source, key, format string, args ...any) {
	if l.err != nil {
		return
	}
	why := fmt.Sprintf(format, args...)
	if from.file {
		l.err = fault.New(fault.ConfigInvalid, "steel.%s %s", key, why).At(from.name, 0, 0).On("steel." + key)
		return
	}
	l.err = fault.New(fault.Usage, "%s %s", from.name, why)
}

func (l *loader) addresses() {
	if v, from := l.raw("KXM_STEEL_ALLOW_HTTP", "allowHttp"); v != nil {
		l.s.clearTextOK = l.flag(v, from, "allowHttp")
	}
	api, from := l.text("STEEL_API_URL", "apiUrl")
	if l.err != nil {
		return
	}
	if api == "" {
		l.err = fault.New(fault.SteelNoEndpoint, "no Steel server is named").WithHint("export STEEL_API_URL=https://…")
		return
	}
	if l.s.API, l.err = parseBase(api, from.name, l.s.clearTextOK); l.err != nil {
		return
	}
	l.s.API = l.s.API.withoutVersion()
	ui, from := l.text("STEEL_UI_URL", "uiUrl")
	if ui == "" {
		l.s.UI = l.s.API.below("/ui")
		return
	}
	if l.err == nil {
		l.s.UI, l.err = parseBase(ui, from.name, l.s.clearTextOK)
	}
}

func (l *loader) flag(v any, from source, key string) bool {
	switch v {
	case true, "true", "1":
		return true
	case false, "false", "0":
		return false
	}
	l.refuse(from, key, "must be true or false")
	return false
}

func (l *loader) mode() {
	text, from := l.text("KXM_STEEL_MODE", "mode")
	switch Mode(text) {
	case Self, Cloud:
		l.s.Mode = Mode(text)
	case "", "auto":
		l.s.Mode = Self
		if l.s.API.atSteel() {
			l.s.Mode = Cloud
		}
	default:
		l.refuse(from, "mode", "must be auto, self or cloud")
	}
}

func (l *loader) cdp() {
	text, from := l.text("KXM_STEEL_CDP_BASE", "cdpBase")
	switch {
	case l.err != nil:
	case text != "":
		l.s.CDP, l.err = parseSocketBase(text, from.name, l.s.clearTextOK)
	case l.s.Mode == Self:
		l.s.CDP = l.s.API.socket()
	case l.s.API.atSteel():
		l.s.CDP = Base{scheme: "wss", host: "connect.steel.dev"}
	default:
		l.err = fault.New(fault.SteelBadEndpoint, "a cloud that is not at steel.dev needs the address of its CDP endpoint").
			WithHint("export KXM_STEEL_CDP_BASE=wss://…")
	}
	auth, from := l.text("KXM_STEEL_CDP_AUTH", "cdpAuth")
	switch auth {
	case "":
		l.s.CDPAuth = "auto"
	case "auto", "header", "query":
		l.s.CDPAuth = auth
	default:
		l.refuse(from, "cdpAuth", "must be auto, header or query")
	}
}

// key reads where the key comes from. The environment alone may hold it.
func (l *loader) key() {
	var command []string
	v, from := l.raw("KXM_STEEL_KEY_COMMAND", "keyCommand")
	switch v := v.(type) {
	case nil:
	case string:
		command = l.commandText(v, from)
	case []any:
		for _, word := range v {
			text, ok := word.(string)
			if !ok {
				l.refuse(from, "keyCommand", "must be an array of texts")
			}
			command = append(command, text)
		}
	default:
		l.refuse(from, "keyCommand", "must be an array of texts")
	}
	if v != nil && l.err == nil && (len(command) == 0 || command[0] == "") {
		l.refuse(from, "keyCommand", "names no program")
	}
	key, _ := l.text("STEEL_API_KEY", "")
	off := l.getenv("USE_PASS_CLI") == "false"
	switch {
	case l.err != nil:
	case key != "":
		l.s.key, l.s.KeySource = key, "STEEL_API_KEY"
		l.err = checkKey(key, l.s.KeySource)
	case command != nil && !off:
		l.s.KeyCommand, l.s.KeySource = command, "the key command"
	case l.s.Mode == Cloud:
		l.err = fault.New(fault.SteelNoKey, "the cloud needs an API key").WithHint("export STEEL_API_KEY from your secret manager")
	}
}

// commandText reads the JSON array of KXM_STEEL_KEY_COMMAND.
func (l *loader) commandText(text string, from source) []string {
	var words []string
	err := ndjson.Validate([]byte(text))
	if err == nil && ndjson.Kind([]byte(text)) == '[' {
		err = ndjson.Elements([]byte(text), func(v []byte) error {
			word, ok := ndjson.Text(v)
			if !ok {
				return errNotText
			}
			words = append(words, word)
			return nil
		})
	} else if err == nil {
		err = errNotText
	}
	if err != nil {
		l.refuse(from, "keyCommand", "must be a JSON array of texts")
	}
	return words
}

func (l *loader) durations() {
	for _, d := range []struct {
		env, key string
		to       *time.Duration
		standard time.Duration
	}{
		{"", "maxTimeout", &l.s.MaxTimeout, DefaultMaxTimeout},
		{"KXM_STEEL_TIMEOUT", "timeout", &l.s.Timeout, DefaultTimeout},
		{"KXM_STEEL_ORPHAN_AGE", "orphanAge", &l.s.OrphanAge, DefaultOrphanAge},
	} {
		*d.to = d.standard
		v, from := l.raw(d.env, d.key)
		var err error
		switch v := v.(type) {
		case nil:
		case string:
			*d.to, err = ParseDuration(v)
		case int64:
			*d.to, err = ParseDuration(strconv.FormatInt(v, 10))
		default:
			err = errNotText
		}
		if err != nil {
			l.refuse(from, d.key, "must be a duration such as 300000, 300s or 5m")
		}
	}
	if l.err == nil {
		l.err = l.s.CheckTimeout(l.s.Timeout)
	}
}

// CheckTimeout refuses a session's timeout that is out of its range.
func (s *Settings) CheckTimeout(d time.Duration) error {
	if d < MinTimeout || d > s.MaxTimeout {
		return fault.New(fault.SteelTimeoutRange, "a session's timeout lies between %s and %s, not %s", short(MinTimeout), short(s.MaxTimeout), short(d))
	}
	return nil
}

// short writes a duration as people do: 5m0s is 5m.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func (l *loader) stateDir() {
	dir, from := l.text("KXM_STEEL_STATE", "stateDir")
	switch {
	case l.err != nil:
	case dir != "" && !filepath.IsAbs(dir):
		l.refuse(from, "stateDir", "must be an absolute path")
	case dir != "":
		l.s.StateDir = filepath.Clean(dir)
	case filepath.IsAbs(l.getenv("XDG_STATE_HOME")): // the XDG specification ignores relative ones
		l.s.StateDir = filepath.Join(l.getenv("XDG_STATE_HOME"), "kxm", "steel")
	case l.getenv("HOME") != "":
		l.s.StateDir = filepath.Join(l.getenv("HOME"), ".local", "state", "kxm", "steel")
	default:
		l.err = fault.New(fault.Usage, "there is no folder for the state: neither XDG_STATE_HOME nor HOME is set").WithHint("export KXM_STEEL_STATE=DIR")
	}
}

func (l *loader) sizes() {
	l.s.SnapshotBytes = DefaultSnapshotBytes
	v, from := l.raw("", "snapshotBytes")
	if v == nil {
		return
	}
	n, ok := v.(int64)
	if !ok || n < 0 || n > 1<<30 {
		l.refuse(from, "snapshotBytes", "must be a number of bytes, or 0 for no limit")
		return
	}
	l.s.SnapshotBytes = int(n)
}

// ParseDuration reads 300000 (milliseconds), 300s or 5m. It is positive and shorter
// than a year, so that sums of times do not overflow.
func ParseDuration(text string) (time.Duration, error) {
	const longest = 365 * 24 * time.Hour
	d, err := time.ParseDuration(text)
	if ms, nerr := strconv.ParseInt(text, 10, 64); nerr == nil {
		if ms > int64(longest/time.Millisecond) {
			return 0, errOutOfRange
		}
		d, err = time.Duration(ms)*time.Millisecond, nil
	}
	if err != nil {
		return 0, err
	}
	if d <= 0 || d > longest {
		return 0, errOutOfRange
	}
	return d, nil
}

// ParseSize reads a number of bytes: 16384, 16KiB, 50MiB or 1GiB.
func ParseSize(text string) (int64, error) {
	unit := int64(1)
	for suffix, factor := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if rest, ok := strings.CutSuffix(text, suffix); ok {
			text, unit = rest, factor
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > (1<<40)/unit {
		return 0, errOutOfRange
	}
	return n * unit, nil
}

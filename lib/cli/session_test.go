//go:build unix

package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"kxm/lib/fault"
)

func TestExitStatusIsThatOfTheCode(t *testing.T) {
	w := &world{}
	for _, code := range fault.Codes() {
		for _, wrap := range []func(error) error{
			func(err error) error { return err },
			func(err error) error { return fmt.Errorf("around: %w", err) },
		} {
			w.job = func(*Session) error { return wrap(fault.New(code, "it went wrong")) }
			w.want(t, code.Exit(), w.run(t, "do"), "", "tool: it went wrong ["+string(code)+"]\n")
		}
	}
	w.job = func(*Session) error { return nil }
	w.want(t, 0, w.run(t, "do"), "", "")
	w.job = func(*Session) error { return errors.New("no code") }
	w.want(t, 3, w.run(t, "do"), "", "tool: no code [io_failed]\n")
}

func TestErrorsAsTextAndJSON(t *testing.T) {
	key := "AKIA" + "QYLPMN5HHHFPZAM2"
	for _, c := range []struct {
		err        error
		text, json string
	}{
		{
			fault.New(fault.ItemNotFound, "no item %s", fault.Quote("<a> & b")),
			`tool: no item "<a> & b" [item_not_found]`,
			`{"error":{"code":"item_not_found","message":"no item \"<a> & b\""}}`,
		},
		{
			fault.New(fault.InvalidContextField, "wrong").At("stdin", 12, 3).On("provenance.path").WithHint("see %s", "there"),
			"tool: stdin:12:3: wrong [invalid_context_field]\ntool: hint: see there",
			`{"error":{"code":"invalid_context_field","message":"wrong","hint":"see there","source":"stdin","line":12,"column":3,"field":"provenance.path"}}`,
		},
		{
			&fault.Error{Code: fault.IOFailed, Message: "a\nb\x1b[2J\u202e", Hint: "c\td", Source: "e\rf", Field: "g\x00h"},
			"tool: e\uFFFDf: a\uFFFDb\uFFFD[2J\uFFFD [io_failed]\ntool: hint: c\uFFFDd",
			"{\"error\":{\"code\":\"io_failed\",\"message\":\"a\uFFFDb\uFFFD[2J\uFFFD\",\"hint\":\"c\uFFFDd\",\"source\":\"e\uFFFDf\",\"field\":\"g\uFFFDh\"}}",
		},
		{
			&fault.Error{Code: fault.Usage, Message: "id " + fault.Quote(key), Hint: "not " + key, Source: "a/" + key + ".md", Field: key},
			`tool: a/[redacted:aws-access-token].md: id "[redacted:aws-access-token]" [usage]` + "\ntool: hint: not [redacted:aws-access-token]",
			`{"error":{"code":"usage","message":"id \"[redacted:aws-access-token]\"","hint":"not [redacted:aws-access-token]","source":"a/[redacted:aws-access-token].md","field":"[redacted:aws-access-token]"}}`,
		},
		{ // quoted as Go does
			fmt.Errorf("got %q", `api_key = "Zf3D0LXCM3EI`+`MbgJpUNnkRtOfOueHznB"`), `tool: got "api_key = "[redacted:generic-api-key]"" [io_failed]`,
			`{"error":{"code":"io_failed","message":"got \"api_key = \"[redacted:generic-api-key]\"\""}}`,
		},
		{errors.New("with " + key), "tool: with [redacted:aws-access-token] [io_failed]", `{"error":{"code":"io_failed","message":"with [redacted:aws-access-token]"}}`},
	} {
		w := &world{job: func(*Session) error { return c.err }}
		w.want(t, fault.CodeOf(c.err).Exit(), w.run(t, "do"), "", c.text+"\n")
		w.want(t, fault.CodeOf(c.err).Exit(), w.run(t, "do", "--errors", "json"), "", c.json+"\n")
		if !json.Valid(w.Stderr.Bytes()) {
			t.Errorf("%q is no JSON", &w.Stderr)
		}
	}
}

// A secret of several lines stays one in a message, however long it is.
func TestOverlongSecretsLeaveNoPartInAMessage(t *testing.T) {
	body := strings.Repeat("MIIEowIBAAKCAQEAZf3D0LXCM3EIMbgJpUNnkRtOfOueHznB\n", 30)
	key := "-----BEGIN RSA " + "PRIVATE KEY-----\n" + body + "-----END RSA " + "PRIVATE KEY-----"
	for _, text := range []string{key, key[:900] + key[len(key)-30:], "x " + key} {
		w := &world{job: func(*Session) error { return fault.New(fault.Usage, "%s is wrong", fault.Quote(text)) }}
		if w.run(t, "do"); strings.Contains(w.Stderr.String(), "MIIE") {
			t.Errorf("%q", &w.Stderr)
		}
	}
}

func TestWarningsAndNotes(t *testing.T) {
	key := "AKIA" + "QYLPMN5HHHFPZAM2"
	w := &world{job: func(s *Session) error {
		s.Warn("odd %s", fault.Quote("a\n"+key))
		s.Note("step %d", 1)
		return nil
	}}
	const warning, note = "tool: warning: odd \"a\uFFFD[redacted:aws-access-token]\"\n", "tool: step 1\n"
	w.want(t, 0, w.run(t, "do"), "", warning)
	w.want(t, 0, w.run(t, "do", "-v"), "", warning+note)
	w.want(t, 0, w.run(t, "-v", "do"), "", warning+note)
	w.want(t, 0, w.run(t, "do", "-q"), "", "")
	w.want(t, 0, w.run(t, "do", "-qv"), "", "")
	w.job = func(*Session) error { return fault.New(fault.Usage, "x").WithHint("y") }
	w.want(t, 2, w.run(t, "do", "-q"), "", "tool: x [usage]\ntool: hint: y\n")
}

func TestAnswers(t *testing.T) {
	w := &world{job: func(s *Session) error {
		s.Print("%d\n", 1)
		if _, err := s.Write([]byte("two\n")); err != nil {
			return err
		}
		return s.Emit(map[string]any{"b": "<&>\u2028é", "a": []int{}})
	}}
	const answer = "1\ntwo\n{\"a\":[],\"b\":\"<&>\u2028é\"}\n"
	w.want(t, 0, w.run(t, "do"), answer, "")
	w.want(t, 0, w.run(t, "do", "--json"), answer, "")
	w.want(t, 0, w.run(t, "--json", "do", "-o", "-"), answer, "")

	w.job = func(s *Session) error { return s.Emit(func() {}) }
	if status := w.run(t, "do"); status != 3 || !strings.HasPrefix(w.Stderr.String(), "tool: encoding the answer: ") {
		t.Errorf("status %d, %q", status, &w.Stderr)
	}
	// Findings go out beside the verdict.
	w.job = jobs["refuse"]
	w.want(t, 1, w.run(t, "do"), "finding\n", "tool: findings [memory_check_failed]\n")
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sub", "file"), []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	w := &world{dir: dir, in: "from stdin", job: func(s *Session) error {
		for _, name := range []string{"file", filepath.Join(dir, "sub", "file"), "-"} {
			data, err := s.ReadFile(name)
			s.Print("%s %v\n", data, err)
		}
		s.Print("%s %v\n", s.Path("a/../b"), s.Explicit())
		_, err := s.ReadFile("absent")
		return err
	}}
	answer := "text <nil>\ntext <nil>\nfrom stdin <nil>\n" + filepath.Join(dir, "sub", "b") + " true\n"
	for _, name := range []string{"sub", "./sub/.", filepath.Join(dir, "sub")} {
		w.want(t, 2, w.run(t, "do", "-C", name), answer, "tool: cannot read \"absent\": no such file or directory [usage]\n")
	}
	w.want(t, 2, w.run(t, "do", "-C", "nowhere"), "", "tool: cannot run in \"nowhere\": no such file or directory [usage]\n")
	w.want(t, 2, w.run(t, "do", "-C", "sub/file"), "", "tool: cannot run in \"sub/file\": not a folder [usage]\n")
	w.job = func(s *Session) error {
		_, err := s.ReadFile("sub")
		s.Print("%v", s.Explicit())
		return err
	}
	w.want(t, 3, w.run(t, "do"), "false", "tool: cannot read \"sub\": is a directory [io_failed]\n")
	w.job = func(s *Session) error {
		s.In = io.MultiReader(strings.NewReader("x"), failing{})
		_, err := s.ReadFile("-")
		return err
	}
	w.want(t, 3, w.run(t, "do"), "", "tool: cannot read standard input: broken on purpose [io_failed]\n")
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("broken on purpose") }

func TestPanicWithACodeIsARefusal(t *testing.T) {
	w := &world{job: jobs["panic"]}
	w.want(t, 3, w.run(t, "do"), "", "tool: no rules [redaction_unavailable]\n")
	w.job = func(*Session) error { panic("a defect") }
	defer func() {
		if r := recover(); r != "a defect" {
			t.Errorf("recovered %v", r)
		}
	}()
	w.run(t, "do")
	t.Error("a defect was hidden")
}

// refusing is a stream that does not take what is written.
type refusing struct{ err error }

func (r refusing) Write([]byte) (int, error) { return 0, r.err }

func TestWriteErrorsDecideTheStatus(t *testing.T) {
	full := "tool: cannot write standard output: no space left on device [io_failed]\n"
	for _, c := range []struct {
		err    error
		job    string
		status int
		stderr string
	}{
		{syscall.ENOSPC, "answer", 3, full},
		{syscall.ENOSPC, "refuse", 3, "tool: findings [memory_check_failed]\n" + full},
		{syscall.ENOSPC, "nothing", 0, ""},
		{&os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}, "answer", 3, ""},
		{&os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}, "refuse", 3, "tool: findings [memory_check_failed]\n"},
	} {
		w := &world{job: jobs[c.job], out: refusing{c.err}}
		w.want(t, c.status, w.run(t, "do"), "", c.stderr)
	}
	w := &world{out: refusing{syscall.ENOSPC}}
	w.want(t, 3, w.run(t, "--help"), "", full)
}

func TestReaderThatHasGoneEndsTheProgramQuietly(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	for _, parent := range []string{`exec "$0" "$@"`, `trap "" PIPE; exec "$0" "$@"`} {
		cmd := below(child(t, "big", "do"), parent)
		cmd.Stdout = w
		if status, _, stderr := run(t, cmd); !status.Signaled() || status.Signal() != syscall.SIGPIPE || stderr != "" {
			t.Errorf("%s: %#x, %q, want death of SIGPIPE without a word", parent, status, stderr)
		}
	}
}

func TestMainUsesTheProcess(t *testing.T) {
	cmd := child(t, "environment", "do")
	cmd.Env = append(cmd.Env, "CLI_TEST_WORD=word")
	if status, stdout, stderr := run(t, cmd); status.ExitStatus() != 0 || stdout != "word\n" || stderr != "" {
		t.Errorf("status %d, %q, %q", status.ExitStatus(), stdout, stderr)
	}
	// Closed standard streams are no files that something else could be.
	cmd = below(child(t, "answer", "do"), `"$0" "$@" <&- >&- 2>&-; echo $?`)
	if _, stdout, _ := run(t, cmd); stdout != "0\n" {
		t.Errorf("status %q", stdout)
	}
}

func TestTerminal(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, stream := range []any{null, &bytes.Buffer{}, strings.NewReader(""), nil} {
		if Terminal(stream) {
			t.Errorf("%T is no terminal", stream)
		}
	}
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	if !Terminal(terminal) {
		t.Error("a pseudoterminal is a terminal")
	}
}

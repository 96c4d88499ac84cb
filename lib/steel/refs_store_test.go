package steel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kxm/lib/fault"
)

func TestStoredReferences(t *testing.T) {
	t.Parallel()
	s, _ := newService(t)
	st := s.Store
	r, err := st.References("a")
	if err != nil || len(r.Refs) != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	r.Refs["e1"] = Reference{"t1", "A", "A", "L", 3, "link", "Home"}
	if err := st.WriteReferences("a", r); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(st.dir, "a.refs.json")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if got, err := st.References("a"); err != nil || got.Refs["e1"] != r.Refs["e1"] {
		t.Errorf("%+v, %v", got, err)
	}
	if rs, err := st.Records(); err != nil || len(rs.All)+len(rs.Broken) != 0 {
		t.Errorf("references are taken for a record: %+v, %v", rs, err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := st.References("a"); !fault.Is(err, fault.SteelStateUnsafe) {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := st.References("a"); !fault.Is(err, fault.SteelStateCorrupt) || !strings.Contains(err.Error(), "a.refs.json") {
		t.Errorf("%v", err)
	}
	for range 2 { // the second time there is nothing to drop
		if err := st.DropReferences("a"); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
}

package steel

import (
	"errors"
	"io/fs"

	"kxm/lib/fault"
)

// refsSuffix ends the name of a session's references.
const refsSuffix = ".refs.json"

// References reads the references of a session; one without a file has none.
func (st *Store) References(id string) (*References, error) {
	none := &References{Schema: ReferencesSchema, Refs: map[string]Reference{}}
	if st.root == nil || !validID(id) {
		return none, nil
	}
	data, path, err := st.readFile(id + refsSuffix)
	if data == nil || err != nil {
		return none, err
	}
	r, err := ParseReferences(data)
	if err != nil {
		return nil, fault.Place(err, path)
	}
	return r, nil
}

// WriteReferences replaces the references of a session. The caller holds its lock.
func (st *Store) WriteReferences(id string, r *References) error {
	data, err := r.Encode()
	if err != nil {
		return err
	}
	return st.replace(id+refsSuffix, data)
}

// DropReferences forgets the references of a session. The caller holds its lock.
func (st *Store) DropReferences(id string) error {
	if err := st.root.Remove(id + refsSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap(err, fault.IOFailed, "cannot remove references")
	}
	return nil
}

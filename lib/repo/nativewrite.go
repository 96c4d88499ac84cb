package repo

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"

	"kxm/lib/fault"
)

// durably are the options that make git flush what it writes before it says that it
// has: those of today, and the one of git before 2.36.
func (w *writer) durably(r *Repo) []string {
	if r.getenv("KXM_FSYNC") == "none" {
		return nil
	}
	return []string{"-c", "core.fsyncObjectFiles=true", "-c", "core.fsync=committed,reference"}
}

// writeObjects hands a pack to git, which makes loose objects of it, or, when there
// are many, keeps it: one process for any number of objects of all types.
func (n *nativeBackend) writeObjects(ctx context.Context, w *writer, objects []looseObject) error {
	args := append(w.durably(n.r), "unpack-objects", "-q")
	if len(objects) > packAbove {
		args = append(w.durably(n.r), "index-pack", "--stdin")
	}
	pack := encodePack(n.r.format, objects)
	for try := 0; ; try++ {
		_, err := n.r.run(ctx, bytes.NewReader(pack), args...)
		// git itself fails when gc removes an empty folder while it makes a file in it.
		if err == nil || try == maxVanished || !strings.Contains(gitStderr(err), "No such file or directory") {
			return err
		}
	}
}

// encodePack makes a pack without deltas.
func encodePack(format string, objects []looseObject) []byte {
	var buf bytes.Buffer
	buf.WriteString("PACK")
	buf.Write(binary.BigEndian.AppendUint32([]byte{0, 0, 0, 2}, uint32(len(objects))))
	kinds := map[string]byte{"commit": packCommit, "tree": packTree, "blob": packBlob, "tag": packTag}
	for _, o := range objects {
		size := len(o.Data)
		b := kinds[o.Type]<<4 | byte(size&15)
		for size >>= 4; size > 0; size >>= 7 {
			buf.WriteByte(b | 0x80)
			b = byte(size & 0x7f)
		}
		buf.WriteByte(b)
		deflate(&buf, o.Data)
	}
	if format == "sha256" {
		sum := sha256.Sum256(buf.Bytes())
		buf.Write(sum[:])
	} else {
		sum := sha1.Sum(buf.Bytes()) // a checksum of what is sent to a child
		buf.Write(sum[:])
	}
	return buf.Bytes()
}

// updateRef has git move the ref. Why git refused is found by looking at the ref
// again, since its messages differ from version to version.
func (n *nativeBackend) updateRef(ctx context.Context, w *writer, name string, old, new OID, o UpdateOptions) error {
	now, ok, err := n.plainRef(ctx, name)
	switch {
	case err != nil && !(o.Damaged && fault.Is(err, fault.RefBroken)):
		return err
	case err == nil && now != old:
		return refMoved(name, old, now)
	case err == nil && !ok:
		if other, err := n.conflicting(ctx, name); err != nil {
			return err
		} else if other != "" {
			return conflict(name, other)
		}
	}
	damaged := err != nil
	if damaged && !isFolder(under(n.r.commonDir, "reftable")) {
		// git replaces no ref that it cannot read. In files it can be done without git.
		u := refUpdate{r: n.r, w: w, name: name, old: old, new: new, o: o}
		return u.run(ctx)
	}
	if o.Locked != nil {
		if err := o.Locked(); err != nil {
			return err
		}
	}
	expected := string(old)
	if old == "" {
		expected = strings.Repeat("0", len(new))
	}
	line := "update " + name + " " + string(new) + " " + expected + "\n"
	if damaged {
		line = "update " + name + " " + string(new) + "\n" // a symbolic one, in a reftable
	}
	wait := strconv.FormatInt(o.Wait.Milliseconds(), 10)
	args := append(w.durably(n.r),
		"-c", "core.filesRefLockTimeout="+wait, "-c", "reftable.lockTimeout="+wait,
		"-c", "user.name="+logName, "-c", "user.email="+logEmail, "update-ref", "--no-deref", "--stdin")
	if o.Message != "" {
		args = append(args, "-m", o.Message)
	}
	_, err = n.r.run(ctx, strings.NewReader(line), args...)
	if err == nil {
		if o.Moved != nil {
			o.Moved()
		}
		return nil
	}
	if _, answered := GitExitCode(err); !answered {
		return err
	}
	text := gitStderr(err)
	now, _, readErr := n.plainRef(ctx, name)
	switch {
	case readErr == nil && now == new:
		return nil // it moved before git failed at something else, such as a hook
	case readErr == nil && now != old:
		return refMoved(name, old, now)
	case strings.Contains(text, ".lock'") || strings.Contains(text, "is locked"):
		return fault.New(fault.RefLocked, "another program is changing ref %s", fault.Quote(name)).
			WithHint("%s", fault.Printable(firstLine(text)))
	case readErr == nil && strings.Contains(text, "but expected"), strings.Contains(text, "already exists"):
		return refMoved(name, old, now) // and moved back
	}
	return err
}

// plainRef asks for the ref and what it leads to at once.
func (n *nativeBackend) plainRef(ctx context.Context, name string) (OID, bool, error) {
	out, err := n.r.run(ctx, nil, "for-each-ref", "--format=%(refname) %(objectname) %(symref)", "--", name)
	if err != nil {
		return "", false, err
	}
	for line := range strings.Lines(string(out)) {
		found, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if found != name {
			continue
		}
		id, target, _ := strings.Cut(rest, " ")
		if target != "" {
			return "", false, symbolicRef(name, target)
		}
		return OID(id), true, nil
	}
	// A damaged ref is not listed, nor one that leads to nothing: these must not read
	// as absent.
	if _, ok, err := n.ref(ctx, name); ok || err != nil {
		return "", false, err
	}
	out, err = n.r.run(ctx, nil, "symbolic-ref", "-q", name)
	if err == nil {
		return "", false, symbolicRef(name, strings.TrimSpace(string(out)))
	}
	return "", false, nil
}

func (n *nativeBackend) conflicting(ctx context.Context, name string) (string, error) {
	out, err := n.r.run(ctx, nil, "for-each-ref", "--count=1", "--format=%(refname)", "--", name+"/")
	if below := strings.TrimSpace(string(out)); err != nil || below != "" {
		return below, err
	}
	for parent := name; ; {
		i := strings.LastIndexByte(parent, '/')
		if parent = parent[:max(i, 0)]; !strings.Contains(parent, "/") {
			return "", nil
		}
		if _, ok, err := n.ref(ctx, parent); ok || fault.Is(err, fault.RefBroken) {
			return parent, nil
		} else if err != nil {
			return "", err
		}
	}
}

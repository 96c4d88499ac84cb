package repo

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
)

// errIndexUnusual says that the file may be right but is not of the kind that is
// read here: a split or sparse index, a newer version.
var errIndexUnusual = errors.New("an unusual index")

// errIndexFile says that the file is damaged.
var errIndexFile = errors.New("it is damaged")

// parseIndex decodes an index file, version 2 to 4, with SHA-1 ids, and keeps the
// entries at or below the prefixes. An entry of 100 bytes is made of everything Git
// wants to know about a file; only path, mode, id and flags are looked at, so that
// an index of 100,000 entries takes milliseconds (go-git's decoder, which fills in
// all of them: ten times as long). The checksum at the end is not compared, as Git
// does not either outside of fsck; with index.skipHash there is none.
func parseIndex(data []byte, prefixes []string) ([]IndexEntry, error) {
	if len(data) < 12+sha1.Size || !bytes.HasPrefix(data, []byte("DIRC")) {
		return nil, errIndexFile
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 {
		return nil, errIndexUnusual
	}
	rest := data[12 : len(data)-sha1.Size]
	entries := []IndexEntry{}
	var path []byte
	for range count {
		// ctime, mtime, dev, ino: 24 bytes; mode; uid, gid, size; id; flags.
		const fixed = 40 + sha1.Size + 2
		if len(rest) < fixed {
			return nil, errIndexFile
		}
		head := rest[:fixed]
		flags := binary.BigEndian.Uint16(head[fixed-2:])
		size := fixed
		var extended uint16
		if flags&(1<<14) != 0 {
			if version == 2 || len(rest) < size+2 {
				return nil, errIndexFile
			}
			extended = binary.BigEndian.Uint16(rest[size:])
			size += 2
		}
		var ok bool
		if version == 4 {
			path, size, ok = shortenedPath(path, rest, size)
		} else {
			path, size, ok = paddedPath(rest, size, int(flags&0xfff))
		}
		if !ok {
			return nil, errIndexFile
		}
		rest = rest[size:]
		if !below(path, prefixes) {
			continue
		}
		entries = append(entries, IndexEntry{
			Path:        string(path),
			Mode:        Mode(binary.BigEndian.Uint32(head[24:])),
			OID:         OID(hex.EncodeToString(head[40 : 40+sha1.Size])),
			Stage:       int(flags >> 12 & 3),
			IntentToAdd: extended&(1<<13) != 0,
		})
	}
	return entries, checkExtensions(rest)
}

// checkExtensions walks along what follows the entries. Git may ignore an unknown
// extension whose name begins with a capital letter; any other ("link" of a split
// index, "sdir" of a sparse one) changes what the entries mean.
func checkExtensions(rest []byte) error {
	for len(rest) > 0 {
		if len(rest) < 8 {
			return errIndexFile
		}
		size := uint64(binary.BigEndian.Uint32(rest[4:]))
		if rest[0] < 'A' || rest[0] > 'Z' {
			return errIndexUnusual
		}
		if size > uint64(len(rest)-8) {
			return errIndexFile
		}
		rest = rest[8+size:]
	}
	return nil
}

// paddedPath reads the path of an entry of version 2 or 3, which ends in NULs up to
// a multiple of eight. A length of 0xfff means that it is longer than that.
func paddedPath(rest []byte, at, length int) (path []byte, size int, ok bool) {
	if length == 0xfff {
		if length = bytes.IndexByte(rest[at:], 0); length < 0 {
			return nil, 0, false
		}
	}
	size = (at + length + 8) &^ 7
	if size > len(rest) || rest[at+length] != 0 {
		return nil, 0, false
	}
	return rest[at : at+length], size, true
}

// shortenedPath reads the path of an entry of version 4: how many bytes to remove
// from the end of the one before, then what to append, then NUL.
func shortenedPath(before, rest []byte, at int) (path []byte, size int, ok bool) {
	remove, used, ok := varint(rest[at:])
	if !ok || remove > len(before) {
		return nil, 0, false
	}
	at += used
	end := bytes.IndexByte(rest[at:], 0)
	if end < 0 {
		return nil, 0, false
	}
	kept := before[:len(before)-remove]
	path = append(append(make([]byte, 0, len(kept)+end+32), kept...), rest[at:at+end]...)
	return path, at + end + 1, true
}

// varint decodes the number format of pack offsets.
func varint(b []byte) (n, used int, ok bool) {
	for i, c := range b {
		if i > 0 {
			n++
		}
		n = n<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			return n, i + 1, true
		}
		if n > 1<<30 {
			break
		}
	}
	return 0, 0, false
}

// below reports whether path is one of the prefixes or below one; no prefix means
// everything.
func below(path []byte, prefixes []string) bool {
	if len(prefixes) == 0 {
		return true
	}
	for _, p := range prefixes {
		if len(path) >= len(p) && string(path[:len(p)]) == p && (len(path) == len(p) || path[len(p)] == '/') {
			return true
		}
	}
	return false
}

package signature

import (
	"bytes"
	"encoding/base64"
)

const (
	header = "-----BEGIN SSH SIGNATURE-----"
	footer = "-----END SSH SIGNATURE-----"
)

// unarmor decodes an armored signature as OpenSSH's sshsig_dearmor does: the header
// is the file's first line, base64 may be wrapped at will. A PEM decoder would also
// take text before the header, and headers with names. Behind the footer OpenSSH
// takes anything; here only white space may stand. CRLF behind the header is refused,
// since ssh-keygen 9.2 refuses it and newer ones do not.
func unarmor(text []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(text, []byte(header))
	if !ok {
		return nil, invalid("it does not begin with %q", header)
	}
	if rest, ok = bytes.CutPrefix(rest, []byte("\n")); !ok {
		return nil, invalid("its first line holds more than the header")
	}
	body, after, ok := bytes.Cut(rest, []byte("\n"+footer))
	if !ok {
		return nil, invalid("it does not end with %q", footer)
	}
	if len(bytes.Trim(after, asciiSpace)) > 0 {
		return nil, invalid("something follows it")
	}
	digits := make([]byte, 0, len(body))
	for _, c := range body {
		if bytes.IndexByte([]byte(asciiSpace), c) < 0 {
			digits = append(digits, c)
		}
	}
	blob, err := base64.StdEncoding.Strict().AppendDecode(nil, digits)
	if err != nil {
		return nil, invalid("it is not base64")
	}
	return blob, nil
}

// asciiSpace is what C's isspace knows.
const asciiSpace = " \t\n\v\f\r"

// armor encodes a signature byte for byte as ssh-keygen does, in lines of 70.
func armor(blob []byte) []byte {
	const width = 70
	digits := base64.StdEncoding.AppendEncode(nil, blob)
	out := make([]byte, 0, len(header)+len(digits)+len(digits)/width+len(footer)+4)
	out = append(out, header+"\n"...)
	for len(digits) > 0 {
		n := min(width, len(digits))
		out = append(append(out, digits[:n]...), '\n')
		digits = digits[n:]
	}
	return append(out, footer+"\n"...)
}

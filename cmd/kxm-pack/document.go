package main

import (
	"errors"
	"io"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/ndjson"
	"kxm/lib/packet"
)

// masks remove secrets from the documents that are read.
func masks() packet.Masks { return packet.Masks{Item: maskItem, JSON: maskJSON} }

// documentCodes are those of reading one document: its own code comes with them.
func documentCodes(own fault.Code) []fault.Code {
	return []fault.Code{fault.RedactionUnavailable, fault.InvalidJSON, fault.ContextAuthorityViolation, own}
}

// readDocument reads the one value that a stream holds, by read. what and own name the
// document and the code of a stream that does not hold one.
func readDocument[T any](r io.Reader, source, what string, own fault.Code, read func([]byte, packet.Masks) (T, error)) (T, error) {
	var none T
	decoder := ndjson.NewDecoder(r, source)
	v, err := decoder.Next()
	if err == io.EOF {
		return none, fault.New(own, "there is no %s", what).At(source, 0, 0)
	}
	if err != nil {
		return none, err
	}
	if err := alone(decoder, source, what, own); err != nil {
		return none, err
	}
	document, err := read(v.Raw, masks())
	return document, placed(err, source, v.Line)
}

// alone refuses a stream that goes on.
func alone(decoder *ndjson.Decoder, source, what string, own fault.Code) error {
	switch next, err := decoder.Next(); {
	case err == io.EOF:
		return nil
	case err != nil:
		return err
	default:
		return fault.New(own, "a second value stands behind the %s", what).At(source, next.Line, 0)
	}
}

// placed puts an error about a value on the line where it begins.
func placed(err error, source string, line int) error {
	var e *fault.Error
	if errors.As(err, &e) {
		return e.At(source, line, 0)
	}
	return err
}

// readFormal reads a formal packet from standard input.
func readFormal(s *cli.Session) (packet.Formal, error) {
	if cli.Terminal(s.In) {
		return packet.Formal{}, fault.New(fault.Usage, "no packet on standard input, which is a terminal").
			WithHint("%s formal --step FILE | %s …", s.Program, s.Program)
	}
	return readDocument(s.In, "stdin", "packet", fault.InvalidPacket, packet.ReadFormal)
}

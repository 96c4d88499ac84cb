// Package cdp owns the Chrome DevTools Protocol as a transport: one WebSocket, calls
// and their answers, and events.
//
// Start with [Dial], which gives a [Conn]. A [Socket] is the layer below, whole
// messages both ways; [Accept] gives the server's side of one, for whoever relays the
// protocol. The package knows the protocol's frames and none of its methods, and it is
// the only one that imports a WebSocket library. Addresses, which may hold a key, are
// in no error's text.
package cdp

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// MaxMessage is the largest message that is read, in bytes. Chromium's own limit for
// what it takes is the same.
const MaxMessage = 256 << 20

// Options say what to dial.
type Options struct {
	URL    string       // ws or wss; it may hold a key
	Header http.Header  // of the handshake; nil is none
	Client *http.Client // makes the handshake, and is not to follow redirects
}

// DialError is a handshake that failed.
type DialError struct {
	Status int         // of the HTTP answer; 0 if there was none
	Header http.Header // of the HTTP answer
	Body   []byte      // its first 1,024 bytes

	cause error // its text holds the address
}

// Error tells the status alone.
func (e *DialError) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("the WebSocket was refused with status %d", e.Status)
	}
	return "the WebSocket could not be opened"
}

// Unwrap returns the cause, for errors.Is and errors.As. Its text must not be printed.
func (e *DialError) Unwrap() error { return e.cause }

// Error is a call that the browser refused.
type Error struct {
	Method  string
	Code    int
	Message string // the browser's, which may repeat what a page said
}

// Error names method and message.
func (e *Error) Error() string { return e.Method + ": " + e.Message }

// Says reports whether an error is the browser's and its message begins so.
func Says(err error, prefix string) bool {
	var e *Error
	return errors.As(err, &e) && strings.HasPrefix(e.Message, prefix)
}

// Ends of a connection.
var (
	// ErrLost is a socket that the other side closed, or that broke.
	ErrLost = errors.New("the connection to the browser was lost")
	// ErrClosed is a connection that was closed here.
	ErrClosed = errors.New("the connection to the browser is closed")
	// ErrTooLarge is a message above MaxMessage, which ends the connection.
	ErrTooLarge = errors.New("a message of the browser is too large")
)

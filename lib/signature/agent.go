package signature

import (
	"bytes"
	"context"
	"errors"
	"net"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// listTime bounds the question which keys an agent holds, so that a socket without a
// living agent behind it does not hold up a hook.
const listTime = 5 * time.Second

// withAgentKey calls use with a signer for the key if the agent at the socket holds
// it, else it returns errNotHeld. When ctx ends, so does the connection.
func withAgentKey(ctx context.Context, socket string, key Key, use func(ssh.Signer) error) error {
	if socket == "" {
		return errNotHeld
	}
	listing, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(listing, "unix", socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	closed := func() { conn.Close() }
	stopListing := context.AfterFunc(listing, closed)
	signers, err := agent.NewClient(conn).Signers()
	if !stopListing() {
		return context.Cause(listing)
	}
	if err != nil {
		return err
	}
	for _, s := range signers {
		if bytes.Equal(s.PublicKey().Marshal(), []byte(key.wire)) {
			stop := context.AfterFunc(ctx, closed)
			err := use(s)
			if !stop() {
				return context.Cause(ctx)
			}
			return err
		}
	}
	return errNotHeld
}

// errNotHeld says that there is no agent, or that it does not hold the key.
var errNotHeld = errors.New("no agent holds it")

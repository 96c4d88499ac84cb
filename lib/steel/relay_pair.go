package steel

import (
	"context"
	"io"
	"sync"

	"kxm/lib/cdp"
)

// wholeMessage is up to which size a message of the browser is relayed in one piece, as
// the browser sent it: clients that know no other form have their way with all but the
// largest pictures. Beyond it a message goes on as it comes, in pieces of this size.
const wholeMessage = 1 << 20

// relayPair relays between two sockets until either ends or ctx does, and ends both.
func relayPair(ctx context.Context, client, browser *cdp.Socket) {
	var both sync.WaitGroup
	defer both.Wait()
	ended := make(chan struct{}, 2)
	for _, relay := range []func(){
		func() { toBrowser(ctx, client, browser) },
		func() { toClient(ctx, client, browser) },
	} {
		both.Go(func() {
			relay()
			ended <- struct{}{}
		})
	}
	<-ended
	if ctx.Err() != nil {
		client.Drop()
		browser.Drop()
		return
	}
	// With goodbyes: a connection that is simply dropped can take along what was sent
	// last. An error means that the other side has gone already.
	both.Go(func() { _ = client.Close() })
	_ = browser.Close()
}

// toBrowser relays a client's calls, one by one and each in one piece, since it has to be
// known as a whole before any of it may go on.
func toBrowser(ctx context.Context, client, browser *cdp.Socket) {
	for {
		message, err := client.Read(ctx)
		if err != nil {
			return
		}
		if answer := quitAnswer(message); answer != nil {
			_ = client.Write(ctx, answer) // a client that is gone needs no answer
			return
		}
		if browser.Write(ctx, message) != nil {
			return
		}
	}
}

// toClient relays what the browser says.
func toClient(ctx context.Context, client, browser *cdp.Socket) {
	var buf []byte
	for {
		r, err := browser.Reader(ctx)
		if err != nil {
			return
		}
		if buf, err = relayMessage(ctx, client, r, buf); err != nil {
			return
		}
	}
}

// relayMessage relays a message of the browser. It uses buf, and returns it for the next
// message.
func relayMessage(ctx context.Context, client *cdp.Socket, r io.Reader, buf []byte) ([]byte, error) {
	buf, err := fill(r, buf[:0])
	if err == io.EOF {
		return buf, client.Write(ctx, buf)
	}
	if err != nil {
		return buf, err
	}
	w, err := client.Writer(ctx)
	if err != nil {
		return buf, err
	}
	for {
		if _, werr := w.Write(buf); werr != nil {
			return buf, werr
		}
		if err == io.EOF {
			return buf, w.Close()
		}
		// A message that breaks off has no end, and its writer is not closed.
		if buf, err = fill(r, buf[:0]); err != nil && err != io.EOF {
			return buf, err
		}
	}
}

// fill reads up to wholeMessage bytes, and says io.EOF if there are no more: that very
// error, since a connection that breaks off in a message gives one that wraps it.
func fill(r io.Reader, buf []byte) ([]byte, error) {
	for {
		if len(buf) == wholeMessage {
			return buf, nil
		}
		if len(buf) == cap(buf) {
			grown := make([]byte, len(buf), min(max(2*cap(buf), 16<<10), wholeMessage))
			copy(grown, buf)
			buf = grown
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err != nil {
			return buf, err
		}
	}
}

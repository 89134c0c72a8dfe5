// Package websocket carries MQTT over WebSocket (MQTT 5 §6, RFC 6455): it turns a connection into one whose bytes travel in
// binary frames.
package websocket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	gorilla "github.com/gorilla/websocket"
)

const (
	subprotocol = "mqtt"
	// DefaultPath is where MQTT brokers expect clients, as far as they care.
	DefaultPath = "/mqtt"
)

// buffer is what one frame is written from; longer messages are split into several.
const buffer = 64 << 10

// conn is a net.Conn within WebSocket frames. As with any net.Conn one goroutine may read while another writes.
type conn struct {
	net.Conn
	ws    *gorilla.Conn
	frame io.Reader    // of which something may be left
	until atomic.Int64 // by when a write must be done, Unix ns; 0 = whenever
}

// Client makes an ordinary connection to host (for its Host header) a WebSocket that speaks MQTT. It does not close c when
// it fails; the error says in words what the peer did.
func Client(ctx context.Context, c net.Conn, host, path string) (net.Conn, error) {
	if path == "" {
		path = DefaultPath
	}
	dialer := gorilla.Dialer{
		NetDialContext:  func(context.Context, string, string) (net.Conn, error) { return kept{c}, nil },
		Subprotocols:    []string{subprotocol},
		ReadBufferSize:  buffer,
		WriteBufferSize: buffer,
	}
	ws, response, err := dialer.DialContext(ctx, "ws://"+host+path, nil)
	if response != nil && response.Body != nil {
		_ = response.Body.Close() // holds the beginning of an error page at most
	}
	switch {
	case errors.Is(err, gorilla.ErrBadHandshake):
		return nil, refusal(response, path)
	case err != nil:
		return nil, fmt.Errorf("websocket: no upgrade: %w", err)
	case ws.Subprotocol() != subprotocol:
		return nil, fmt.Errorf("websocket: the server does not take the subprotocol %s: it serves something else at %s", subprotocol, path)
	}
	return &conn{Conn: c, ws: ws}, nil
}

// refusal says what a server answered instead of an upgrade.
func refusal(r *http.Response, path string) error {
	switch r.StatusCode {
	case http.StatusNotFound:
		return fmt.Errorf("websocket: no upgrade: nothing is served at %s (HTTP %s): write the path into the URL", path, r.Status)
	case http.StatusSwitchingProtocols:
		return errors.New("websocket: no upgrade: the server's answer breaks RFC 6455")
	}
	return fmt.Errorf("websocket: no upgrade: HTTP %s", r.Status)
}

// kept is a connection that a failed handshake does not close.
type kept struct{ net.Conn }

func (kept) Close() error { return nil }

// NetConn returns the connection below.
func (k kept) NetConn() net.Conn { return k.Conn }

// NetConn returns the connection below.
func (c *conn) NetConn() net.Conn { return c.ws.NetConn() }

// Read returns what frames carry. A closed WebSocket ends with io.EOF if the peer gave no reason.
func (c *conn) Read(b []byte) (int, error) {
	for len(b) > 0 {
		if c.frame == nil {
			kind, frame, err := c.ws.NextReader()
			switch {
			case err != nil:
				return 0, ended(err)
			case kind != gorilla.BinaryMessage:
				return 0, errors.New("websocket: the server sent text: MQTT travels in binary frames")
			}
			c.frame = frame
		}
		n, err := c.frame.Read(b)
		if errors.Is(err, io.EOF) {
			c.frame, err = nil, nil
		}
		if n > 0 || err != nil {
			return n, ended(err)
		}
	}
	return 0, nil
}

// ended says how a WebSocket was closed.
func ended(err error) error {
	var closed *gorilla.CloseError
	if !errors.As(err, &closed) {
		return err
	}
	switch closed.Code {
	case gorilla.CloseNormalClosure, gorilla.CloseNoStatusReceived, gorilla.CloseAbnormalClosure:
		return io.EOF
	}
	return fmt.Errorf("websocket: the server closed the connection: %d %s", closed.Code, closed.Text)
}

// Write sends b as one binary message.
func (c *conn) Write(b []byte) (int, error) {
	var until time.Time
	if ns := c.until.Load(); ns != 0 {
		until = time.Unix(0, ns)
	}
	if err := c.ws.SetWriteDeadline(until); err != nil {
		return 0, err
	}
	if err := c.ws.WriteMessage(gorilla.BinaryMessage, b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// goodbye is how long Close tries to say so.
const goodbye = 100 * time.Millisecond

// Close tells the peer and closes the connection.
func (c *conn) Close() error {
	_ = c.ws.WriteControl(gorilla.CloseMessage, gorilla.FormatCloseMessage(gorilla.CloseNormalClosure, ""), time.Now().Add(goodbye))
	return c.Conn.Close()
}

// SetDeadline bounds reads and writes, those under way included.
func (c *conn) SetDeadline(t time.Time) error {
	c.keep(t)
	return c.Conn.SetDeadline(t)
}

// SetWriteDeadline bounds writes, one under way included.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.keep(t)
	return c.Conn.SetWriteDeadline(t)
}

func (c *conn) keep(t time.Time) {
	if t.IsZero() {
		c.until.Store(0)
	} else {
		c.until.Store(t.UnixNano())
	}
}

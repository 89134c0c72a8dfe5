package websocket

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	gorilla "github.com/gorilla/websocket"
)

// connect opens a connection to a server whose requests handle answers, and makes it a WebSocket.
func connect(t *testing.T, path string, handle http.HandlerFunc) (net.Conn, error) {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return client(t, server.Listener.Addr().String(), path)
}

func client(t *testing.T, addr, path string) (net.Conn, error) {
	t.Helper()
	plain, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plain.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	return Client(ctx, plain, addr, path)
}

// upgrade serves a WebSocket for MQTT.
func upgrade(t *testing.T, serve func(ws *gorilla.Conn)) http.HandlerFunc {
	u := gorilla.Upgrader{Subprotocols: []string{"mqtt"}}
	return func(w http.ResponseWriter, r *http.Request) {
		ws, err := u.Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = ws.Close() }()
		serve(ws)
	}
}

// TestEcho: bytes arrive as they were written, however frames cut them, and pings in between do no harm.
func TestEcho(t *testing.T) {
	c, err := connect(t, "", upgrade(t, func(ws *gorilla.Conn) {
		for {
			kind, b, err := ws.ReadMessage()
			if err != nil || kind != gorilla.BinaryMessage {
				return
			}
			for len(b) > 0 { // in pieces, with an empty one
				n := min(len(b), 1000)
				_ = ws.WriteMessage(gorilla.BinaryMessage, b[:n])
				_ = ws.WriteMessage(gorilla.BinaryMessage, nil)
				_ = ws.WriteMessage(gorilla.PingMessage, nil)
				b = b[n:]
			}
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, 300_000)
	for i := range want {
		want[i] = byte(i * 7 >> 3)
	}
	go func() {
		for _, part := range [][]byte{want[:1], want[1:70_000], want[70_000:]} {
			if _, err := c.Write(part); err != nil {
				t.Error(err)
			}
		}
	}()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("other bytes came back, %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestRefusals(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	other := gorilla.Upgrader{Subprotocols: []string{"chat"}}
	for want, handle := range map[string]http.HandlerFunc{
		"nothing is served at /here (HTTP 404 Not Found)": status(http.StatusNotFound),
		"no upgrade: HTTP 401 Unauthorized":               status(http.StatusUnauthorized),
		"no upgrade: HTTP 200 OK":                         status(http.StatusOK),
		"does not take the subprotocol mqtt": func(w http.ResponseWriter, r *http.Request) {
			if ws, err := other.Upgrade(w, r, nil); err == nil {
				_ = ws.Close()
			}
		},
	} {
		if _, err := connect(t, "/here", handle); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestNoHTTP: a server that speaks something else, or nothing.
func TestNoHTTP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			_, _ = c.Write([]byte("\x20\x02\x00\x00\r\n"))
			_ = c.Close()
		}
	}()
	if _, err := client(t, l.Addr().String(), ""); err == nil || !strings.Contains(err.Error(), "no upgrade") {
		t.Error(err)
	}
}

func TestEndings(t *testing.T) {
	closing := func(code int, text string) func(*gorilla.Conn) {
		return func(ws *gorilla.Conn) {
			_ = ws.WriteMessage(gorilla.CloseMessage, gorilla.FormatCloseMessage(code, text))
		}
	}
	for _, c := range []struct {
		serve func(*gorilla.Conn)
		want  string
	}{
		{closing(gorilla.CloseNormalClosure, ""), io.EOF.Error()},
		{func(ws *gorilla.Conn) { _ = ws.NetConn().Close() }, io.EOF.Error()},
		{closing(gorilla.ClosePolicyViolation, "slow"), "the server closed the connection: 1008 slow"},
		{func(ws *gorilla.Conn) { _ = ws.WriteMessage(gorilla.TextMessage, []byte("hi")) }, "the server sent text"},
	} {
		conn, err := connect(t, "", upgrade(t, c.serve))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 10)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// TestDeadlineEndsWrite: a write to a peer that does not read ends at the deadline, also one that is set meanwhile.
func TestDeadlineEndsWrite(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	c, err := connect(t, "", upgrade(t, func(*gorilla.Conn) { <-release }))
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() {
		for {
			if _, err := c.Write(make([]byte, 1<<20)); err != nil {
				failed <- err
				return
			}
		}
	}()
	if err := c.SetDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	var timeout net.Error
	if err := <-failed; !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Error(err)
	}
}

package splice

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
)

// pair is a client connected through a relay, and the other end of it.
func pair(t *testing.T) (client, server *net.TCPConn) {
	t.Helper()
	far, near := listen(t), listen(t)
	done := make(chan error, 1)
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		var d net.Dialer
		done <- Relay(ctx, near, func(ctx context.Context) (net.Conn, error) { return d.DialContext(ctx, "tcp", far.Addr().String()) }, nil)
	}()
	stopped := errors.New("stopped")
	t.Cleanup(func() {
		cancel(stopped)
		if err := <-done; !errors.Is(err, stopped) {
			t.Errorf("the relay ended with %v", err)
		}
	})
	c, err := net.Dial("tcp", near.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := far.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(c.Close(), s.Close()) })
	return c.(*net.TCPConn), s.(*net.TCPConn)
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestHalfClose(t *testing.T) {
	client, server := pair(t)
	if _, err := io.WriteString(client, "question"); err != nil {
		t.Fatal(err)
	}
	if err := client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(server); err != nil || string(b) != "question" {
		t.Fatalf("the server read %q, %v", b, err)
	}
	if _, err := io.WriteString(server, "answer"); err != nil {
		t.Fatal(err)
	}
	_ = server.Close()
	if b, err := io.ReadAll(client); err != nil || string(b) != "answer" {
		t.Fatalf("the client read %q, %v", b, err)
	}
}

func TestReset(t *testing.T) {
	client, server := pair(t)
	Abort(server)
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("the client saw %v, want a reset", err)
	}
}

// TestRefused: a connection whose other side does not answer is reset, and the reason is told.
func TestRefused(t *testing.T) {
	near := listen(t)
	refused := errors.New("refused")
	told := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Relay(ctx, near, func(context.Context) (net.Conn, error) { return nil, refused }, func(err error) { told <- err })
	}()
	c, err := net.Dial("tcp", near.Addr().String())
	if err == nil { // else the reset was there before the dialler looked
		defer func() { _ = c.Close() }()
		_, err = c.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client saw %v, want a reset", err)
	}
	if err := <-told; !errors.Is(err, refused) {
		t.Errorf("told %v", err)
	}
	cancel()
	<-done
}

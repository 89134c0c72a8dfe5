package faulty_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/faulty"
	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/nats"
)

func natsServer(p faulty.Plan) *faulty.Server {
	return faulty.NewServer(faulty.Config{Plan: p, Match: nats.Match[[]byte, []byte]},
		func() proto.Server { return nats.NewServer(&nats.ServerConfig{}) })
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

// expect reads until what came ends with end.
func expect(t *testing.T, c net.Conn, end string) []byte {
	t.Helper()
	var got []byte
	buf := make([]byte, 4096)
	for !bytes.HasSuffix(got, []byte(end)) {
		n, err := c.Read(buf)
		if err != nil {
			t.Fatalf("%v after %q, want %q at the end", err, got, end)
		}
		got = append(got, buf[:n]...)
	}
	return got
}

func say(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

const hello = "CONNECT {\"verbose\":false}\r\nPING\r\n"

func TestServerRoutes(t *testing.T) {
	addr, stop, err := natsServer(faulty.Plan{}).Listen()
	if err != nil {
		t.Fatal(err)
	}
	sub, pub := dial(t, addr), dial(t, addr)
	say(t, sub, hello+"SUB a.* 1\r\nPING\r\n")
	expect(t, sub, "PONG\r\nPONG\r\n")
	say(t, pub, hello)
	expect(t, pub, "PONG\r\n")
	say(t, pub, "PUB a.b 2\r\nhi\r\nPUB other 2\r\nno\r\nPUB a.c 3\r\nyou\r\n")
	if got := string(expect(t, sub, "you\r\n")); got != "MSG a.b 1 2\r\nhi\r\nMSG a.c 1 3\r\nyou\r\n" {
		t.Errorf("the subscriber got %q", got)
	}
	say(t, pub, "NONSENSE\r\n")
	if rest, err := io.ReadAll(pub); err != nil || !bytes.HasPrefix(rest, []byte("-ERR")) {
		t.Errorf("after nonsense the broker said %q, %v; want -ERR and the end", rest, err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadAll(sub); err != nil {
		t.Errorf("a stopped broker did not close the connection in order: %v", err)
	}
}

// TestServerStopsWhileStalled must not wait for the end of the stall.
func TestServerStopsWhileStalled(t *testing.T) {
	s := natsServer(faulty.Plan{Stalls: []faulty.Stall{{For: time.Hour}}})
	addr, stop, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, addr)
	say(t, c, hello)
	expect(t, c, "PONG\r\n")
	s.Do(func(b *faulty.Broker, now int64) { b.SetZero(now) })
	say(t, c, "PING\r\n")
	if err := stop(); err != nil {
		t.Error(err)
	}
	rest, err := io.ReadAll(c)
	if len(rest) > 0 || err != nil && !errors.Is(err, syscall.ECONNRESET) { // the PING was never read
		t.Errorf("a stalled broker said %q, %v", rest, err)
	}
}

// TestRelayWithoutFaults passes everything in both directions.
func TestRelayWithoutFaults(t *testing.T) {
	target, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = target.Close() }()
	go func() { // says back what it hears
		if c, err := target.Accept(); err == nil {
			_, _ = io.Copy(c, c)
			_ = c.Close()
		}
	}()
	r := faulty.NewRelay(target.Addr().String(), faulty.RelayPlan{})
	addr, stop, err := r.Listen()
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, addr)
	var sent []byte
	for i := range 2000 {
		packet := append([]byte{0x30, 100}, bytes.Repeat([]byte{byte(i)}, 100)...)
		sent = append(sent, packet...)
	}
	go func() { _, _ = c.Write(sent) }()
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("what came back differs (%v)", err)
	}
	if n := r.Truth().Packets; n != 2000 {
		t.Errorf("%d packets, want 2000", n)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestServeEndsWithItsListener(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	if err := natsServer(faulty.Plan{}).Serve(context.Background(), ln); err == nil {
		t.Error("no error although accepting failed")
	}
}

package netns

import (
	"context"
	"io"
	"testing"

	"github.com/mqlab/mqlab/internal/needs"
)

func TestHostCarriesBytes(t *testing.T) {
	l, err := Host.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(c, "hello")
		_ = c.Close()
	}()
	c, err := Host.Dial(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if b, err := io.ReadAll(c); err != nil || string(b) != "hello" {
		t.Fatalf("read %q, %v", b, err)
	}
}

func TestHostDialHonoursContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if c, err := Host.Dial(ctx, "tcp", "127.0.0.1:1"); err == nil {
		_ = c.Close()
		t.Fatal("dialled with a cancelled context")
	}
}

func TestHostCommandEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cmd := Host.Command(ctx, "sleep", "60")
	if err := cmd.Start(); err != nil {
		needs.Installed(t, "no sleep program: ", err)
	}
	cancel()
	if err := cmd.Wait(); err == nil {
		t.Fatal("the program outlived its context")
	}
}

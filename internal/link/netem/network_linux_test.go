package netem

import (
	"context"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/link/linktest"
	"github.com/mqlab/mqlab/internal/needs"
)

// open opens a network for a test, or skips it where there can be none.
func open(t *testing.T, p link.Params) *Network {
	t.Helper()
	n, err := Open(t.Context(), link.Config{Profile: link.Profile{Name: "test", Up: p, Down: p}})
	if err != nil && (strings.Contains(err.Error(), "it takes root") || strings.Contains(err.Error(), "has no sch_")) {
		needs.Installed(t, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// TestSupported: a kernel with netem has it, one without says so.
func TestSupported(t *testing.T) {
	err := Supported()
	p := link.Params{Delay: time.Millisecond, Loss: 0.01}
	n, openErr := Open(t.Context(), link.Config{Profile: link.Profile{Up: p, Down: p}})
	if openErr == nil {
		openErr = n.Close()
	}
	if (err == nil) != (openErr == nil) {
		t.Errorf("supported: %v; opened: %v", err, openErr)
	}
	if err != nil && (!strings.HasPrefix(err.Error(), "backend netem: ") || strings.Contains(err.Error(), "\n")) {
		t.Error(err)
	}
}

// TestRow: without netem's own part, which many kernels lack, the rest of the network can be tested everywhere: connections from
// addresses of their own to the brokers' loopback interface, the rate, and outages without a word.
func TestRow(t *testing.T) {
	p := link.Params{Rate: 2_000_000, QueueBytes: 50_000, OverheadBytes: etherBytes}
	n := open(t, p)
	l, err := n.Broker().Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, c.RemoteAddr().String())
			_ = c.Close()
		}
	}()
	for _, want := range []string{"127.18.0.2:", "127.18.0.3:"} {
		c, err := n.Device().Dial(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(b), want) {
			t.Errorf("the broker sees %s, not %s…: %v", b, want, err)
		}
		_ = c.Close()
	}
	if up, _ := n.Counters(); up.Offered.Packets < 8 || up.Carried.Bytes < 8*40 {
		t.Errorf("counted are %+v", up)
	}
	if err := n.Down(true); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if c, err := n.Device().Dial(ctx, "tcp", l.Addr().String()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("dialled during an outage: %v, %v", c, err)
	}
	if err := n.Down(false); err != nil {
		t.Fatal(err)
	}
	profile := link.Profile{Name: "test", Up: p, Down: p}
	r, err := linktest.Run(t.Context(), n, profile, linktest.Options{Packets: 200, PerSecond: 2000, Full: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, c := range r.Checks {
		if c.What != linktest.Rate && c.What != linktest.Loss {
			continue
		}
		// On a machine that is busy the rate may be off; a link without one would be so by far.
		if checked++; math.Abs(c.Achieved-c.Configured) > 0.25*c.Configured {
			t.Errorf("%+v", c)
		}
	}
	if checked != 4 || r.Backend != Name {
		t.Errorf("%+v", r)
	}
}

package linktest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/link/linktest"
	"github.com/mqlab/mqlab/internal/link/proxy"
	"github.com/mqlab/mqlab/internal/link/tun"
	"github.com/mqlab/mqlab/internal/needs"
)

// profile is one that a short test can tell from others.
func profile() link.Profile {
	p := link.Params{Delay: 50 * time.Millisecond, Jitter: 20 * time.Millisecond, Order: link.OrderFlow, Loss: 0.2, Burst: 2, Rate: 1_000_000, QueueBytes: 25_000}
	return link.Profile{Name: "short", Up: p, Down: p}
}

// short keeps the test short.
var short = linktest.Options{Packets: 1000, PerSecond: 4000, Full: time.Second / 2}

func network(t *testing.T, p link.Profile) *tun.Network {
	t.Helper()
	if err := tun.Supported(); err != nil {
		needs.Installed(t, err)
	}
	n, err := tun.Open(t.Context(), link.Config{Profile: p, Seed: 1})
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

// TestRun measures a real link. What it sees of delays depends on the machine; what it sees of losses does not.
func TestRun(t *testing.T) {
	p := profile()
	p.Down.Duplicate = 0.01
	r, err := linktest.Run(t.Context(), network(t, p), p, short)
	if err != nil {
		t.Fatal(err)
	}
	var what []string
	for _, c := range r.Checks {
		what = append(what, c.Direction+" "+c.What)
		if !c.Pass && (c.What == linktest.Loss || c.What == linktest.Burst) {
			t.Errorf("%+v", c)
		}
		if c.Interval.Low > c.Achieved || c.Achieved > c.Interval.High || c.Samples == 0 {
			t.Errorf("%+v", c)
		}
	}
	want := strings.Split("up delay,up deviation,up loss,up burst,down delay,down deviation,down loss,down burst,up rate,up queue,down rate,down queue", ",")
	if !slices.Equal(what, want) {
		t.Errorf("checked are %v", what)
	}
	if !slices.Equal(r.Untested, []string{"down duplicate: not probed"}) {
		t.Errorf("untested are %v", r.Untested)
	}
	if r.Backend != tun.Name || r.Probes != "datagrams" || r.Late.Packets == 0 || r.Took == 0 || r.Pass != (len(r.Why) == 0) {
		t.Errorf("%+v", r)
	}
}

// TestRunFindsAnotherLink: the verdict is about what was asked for, not about what is there. It is left as asked for.
func TestRunFindsAnotherLink(t *testing.T) {
	p := profile()
	n := &stubborn{network(t, p), link.Params{Delay: 10 * time.Millisecond, Loss: 0.5}}
	r, err := linktest.Run(t.Context(), n, p, short)
	if err != nil {
		t.Fatal(err)
	}
	why := strings.Join(r.Why, "; ")
	for _, part := range []string{"up delay is 1", "up deviation is", "up loss is", "down rate is", "configured 1000 kbit/s"} {
		if !strings.Contains(why, part) {
			t.Errorf("%q is not among the reasons: %s", part, why)
		}
	}
	if r.Pass {
		t.Error("it passes")
	}
}

// stubborn is a network that does not do what it is told, except at the start.
type stubborn struct {
	*tun.Network
	always link.Params
}

func (s *stubborn) Change(up, down link.Params) error {
	if up == (link.Params{}) {
		return s.Network.Change(up, down)
	}
	return s.Network.Change(s.always, s.always)
}

// TestRunOverStreams: where there are no datagrams, what streams can tell.
func TestRunOverStreams(t *testing.T) {
	params := link.Params{Delay: 20 * time.Millisecond, Rate: 1_000_000}
	p := link.Profile{Name: "stream", Up: params, Down: params}
	n, err := proxy.Open(t.Context(), link.Config{Profile: p, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.Close() }()
	r, err := linktest.Run(t.Context(), n, p, short)
	if err != nil {
		t.Fatal(err)
	}
	var what []string
	for _, c := range r.Checks {
		what = append(what, c.Direction+" "+c.What)
	}
	if !slices.Equal(what, []string{"up delay", "up deviation", "down delay", "down deviation", "up rate", "down rate"}) {
		t.Errorf("checked are %v", what)
	}
	if r.Probes != "streams" || !slices.Contains(r.Untested, "up queue: streams wait instead") {
		t.Errorf("%+v", r)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	p := profile()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := linktest.Run(ctx, network(t, p), p, short); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

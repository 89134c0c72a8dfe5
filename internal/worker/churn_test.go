package worker

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/faulty"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/mqtt"
)

// doorOf serves a broker that refuses every third visitor, within TLS if wanted, and returns its URL.
func doorOf(t *testing.T, secure bool) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "mqtt://" + ln.Addr().String()
	if secure {
		certified := httptest.NewTLSServer(nil)
		cfg := &tls.Config{Certificates: certified.TLS.Certificates}
		certified.Close()
		ln, url = tls.NewListener(ln, cfg), "mqtts://"+ln.Addr().String()
	}
	accept := func(c *mqtt.Connect) (byte, string) {
		if strings.Contains(c.ID, "-visit-") && strings.ContainsAny(c.ID[len(c.ID)-1:], "036") {
			return 0x97, "enough for today"
		}
		return 0, ""
	}
	match := func(filter, topic []byte) bool { return mqtt.Match(filter, topic) }
	s := faulty.NewServer(faulty.Config{Match: match}, func() proto.Server { return mqtt.NewServer(&mqtt.ServerConfig{Accept: accept}) })
	ctx, cancel := context.WithCancel(t.Context())
	var served sync.WaitGroup
	served.Go(func() { _ = s.Serve(ctx, ln) }) // ends when the listener closes
	t.Cleanup(func() { cancel(); served.Wait() })
	return url
}

// TestChurn: clients come and leave beside the load, each is counted once, and what a broker says to those that it refuses is kept.
func TestChurn(t *testing.T) {
	for _, secure := range []bool{false, true} {
		trial := trialOf(func(p *plan.Params) { p.Connect.ChurnPerS = 100 })
		trial.Subject.TLS.SkipVerify = secure
		var all books
		w, err := NewLocal(Whole(5, trial, doorOf(t, secure)), Credentials{}, netns.Host, Sink{Window: all.add})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = w.Close() }()
		if err := w.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.Begin(t.Context(), clock.Now()); err != nil {
			t.Fatal(err)
		}
		r, err := w.Measure(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		// One each 10 ms: numbers 2 to 21 are due in 200 ms after a warm-up of 20 ms; of these 3, 6, 10, 13, 16 and 20 are refused.
		v := r.Visits
		if v == nil || v.Due != 20 || v.Made+v.Failed > v.Due || v.Made == 0 || v.Failed == 0 {
			t.Fatalf("TLS %v: visits %+v", secure, v)
		}
		for reason, n := range v.Failures {
			if !strings.Contains(reason, "enough for today") || n != v.Failed {
				t.Errorf("TLS %v: %d failed: %s", secure, n, reason)
			}
		}
		if h := all.sum.Hists[ledger.Visit]; h == nil || h.Count() != int64(v.Made) {
			t.Errorf("TLS %v: times of %d visits: %+v", secure, v.Made, h)
		}
		if c := Settle(plan.PatternPairs, r); c.Expected == 0 || c.Lost > 0 || r.Connections.Failed+r.Connections.Lost > 0 {
			t.Errorf("TLS %v: the load suffered: %+v, %+v", secure, c, r.Connections)
		}
	}
}

// TestVisitsDue: those at the start and before the end, as with messages.
func TestVisitsDue(t *testing.T) {
	v := visitors{gap: 10 * time.Millisecond}
	for until, want := range map[time.Duration]int{-1: 0, 0: 0, 1: 1, 10 * time.Millisecond: 1, 10*time.Millisecond + 1: 2, time.Second: 100} {
		if got := v.due(1000, 1000+int64(until)); got != want {
			t.Errorf("%v after the start %d are due, want %d", until, got, want)
		}
	}
}

package summary

import (
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
)

func TestConnecting(t *testing.T) {
	record := func(n int, in time.Duration, idle, connected uint64) *run.Trial {
		rec := &run.Trial{}
		rec.Trial.Params = plan.Params{Publishers: n / 2, Subscribers: n - n/2}
		rec.Connections = run.Connections{Attempted: uint64(n), ReadyIn: int64(in)}
		rec.Broker.PSSIdle, rec.Broker.PSSConnected = &idle, &connected
		return rec
	}
	for name, c := range map[string]struct {
		rec       *run.Trial
		perSecond float64
		bytes     int64 // 0 = not known
	}{
		"many":  {record(200, 500*time.Millisecond, 1<<20, 3<<20), 400, (2 << 20) / 200},
		"few":   {record(99, time.Second, 1<<20, 3<<20), 99, 0},
		"freed": {record(100, time.Second, 1000, 500), 100, -5},
	} {
		got := Trial{Connections: &Connections{Connections: c.rec.Connections}}
		got.fillConnecting(c.rec)
		if v := got.Connections.PerSecond; v == nil || *v != c.perSecond {
			t.Errorf("%s: %v connections per second, want %v", name, v, c.perSecond)
		}
		if v := got.Broker.BytesPerConnection; (v != nil) != (c.bytes != 0) || v != nil && *v != c.bytes {
			t.Errorf("%s: %v bytes per connection, want %d", name, v, c.bytes)
		}
	}
	unknown := Trial{Connections: &Connections{}}
	unknown.fillConnecting(&run.Trial{})
	if unknown.Connections.PerSecond != nil || unknown.Broker.BytesPerConnection != nil || unknown.Broker.PSSBytesIdle != nil {
		t.Errorf("what is not known has a value: %+v", unknown)
	}
}

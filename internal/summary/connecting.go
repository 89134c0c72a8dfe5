package summary

import (
	"time"

	"github.com/mqlab/mqlab/internal/run"
)

// enoughConnections is from how many connections on the memory of one is told: below, what a broker allocates once, at the first of
// them, would be most of it.
const enoughConnections = 100

// fillConnecting says how fast all connections were made, and what memory each of them took.
func (t *Trial) fillConnecting(rec *run.Trial) {
	n := rec.Trial.Params.Publishers + rec.Trial.Params.Subscribers
	if c := t.Connections; c != nil && c.ReadyIn > 0 {
		c.PerSecond = new(float64(n) / time.Duration(c.ReadyIn).Seconds())
	}
	idle, connected := rec.Broker.PSSIdle, rec.Broker.PSSConnected
	t.Broker.PSSBytesIdle, t.Broker.PSSBytesConnected, t.Broker.PSSBytesAfter = idle, connected, rec.Broker.PSSAfter
	if idle != nil && connected != nil && n >= enoughConnections {
		t.Broker.BytesPerConnection = new((int64(*connected) - int64(*idle)) / int64(n))
	}
}

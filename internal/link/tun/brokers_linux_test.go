package tun

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/broker/brokertest"
	"github.com/mqlab/mqlab/internal/guard/guardtest"
	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/monitor"
	"github.com/mqlab/mqlab/internal/plan"
)

// TestBrokersInside: unmodified brokers live at their end of the link, listen to the loopback interface only as ever, are reached over the
// link, and are watched from outside.
func TestBrokersInside(t *testing.T) {
	n := open(t, both(link.Params{}))
	g := guardtest.Start(t)
	for _, s := range []plan.Subject{
		{Broker: "mosquitto", Runtime: broker.Process},
		{Broker: "redis", Runtime: broker.Process},
		{Broker: "nats", Runtime: broker.Process},
		{Broker: "mochi", Runtime: broker.Embedded},
	} {
		s.Variant = broker.AsShipped
		t.Run(s.Broker, func(t *testing.T) {
			brokertest.Need(t, s)
			b, err := broker.Start(t.Context(), s, broker.Options{Place: n.Broker(), Guard: g})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := b.Stop(context.Background()); err != nil {
					t.Error(err)
				}
			}()
			u, err := url.Parse(b.URL)
			if err != nil {
				t.Fatal(err)
			}
			before, _ := n.Counters()
			_ = dial(t, n.Device(), u.Host).Close()
			upOnce(t, n, func(up link.Counters) bool { return up.Offered.Packets >= before.Offered.Packets+3 }) // SYN, ACK, FIN
			for _, pid := range b.PIDs {
				in, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
				if want := fmt.Sprintf("net:[%d]", n.broker.Inode()); err != nil || in != want {
					t.Errorf("process %d lives in %s, not in %s: %v", pid, in, want, err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			watched := false
			monitor.New(monitor.Target{Role: "broker", PIDs: b.PIDs}).Run(ctx, time.Hour, func(sample monitor.Sample) {
				watched = watched || sample.Role == "broker" && sample.RSSBytes > 0 && sample.Threads > 0
			})
			if !watched {
				t.Error("the monitor does not see it")
			}
		})
	}
}

package worker

import (
	"net/netip"
	"testing"

	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
)

// Many connections to loopback come from several addresses, but not where the server takes only one of them for local, nor where
// the scenario names them.
func TestOrigin(t *testing.T) {
	for _, tt := range []struct {
		protocol string
		chosen   []netip.Addr
		want     int // addresses; 0 = the host chooses
	}{
		{protocol: plan.MQTT5, want: 3},
		{protocol: plan.NATS, want: 3},
		{protocol: plan.Redis},
		{protocol: plan.RedisStreams},
		{protocol: plan.Redis, chosen: []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")}, want: 2},
	} {
		w := &Local{share: Whole(1, plan.Trial{Params: plan.Params{Publishers: 10_000, Connect: plan.Connect{Sources: tt.chosen}}}, "")}
		place, err := w.origin(netns.Host, "127.0.0.1:6379", tt.protocol)
		if got := netns.Sources(place); err != nil || got != tt.want {
			t.Errorf("%s with %v: %d addresses, %v, want %d", tt.protocol, tt.chosen, got, err, tt.want)
		}
	}
}

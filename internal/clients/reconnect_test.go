//go:build unix

package clients_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/clients"
	"github.com/mqlab/mqlab/internal/guard/guardtest"
)

// TestReconnect cuts the connection of every client of this machine that can come back, in both ways: it comes back, and what is sent when it
// has subscribed again arrives.
func TestReconnect(t *testing.T) {
	g := guardtest.Start(t)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	ways := []string{agent.Resubscribe, agent.Plain}
	var list []agent.Agent
	for _, a := range agent.All() {
		if a.Protocol == agent.MQTT && len(a.Options().Reconnect) > 0 {
			list = append(list, a)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := clients.Run(ctx, g, clients.Options{
		Clients: list, Protocol: agent.MQTT, Payloads: []int{256}, QoS: []int{0}, Modes: []clients.Mode{}, Reconnect: ways, Interval: time.Millisecond,
		Folder: filepath.Join(cache, "mqlab"), Say: func(string) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Skipped {
		t.Logf("not cut: %s: %s", s.Name, s.Why)
	}
	for _, k := range r.Clients {
		for _, how := range ways {
			i := slices.IndexFunc(r.Reconnects, func(x clients.Reconnect) bool { return x.Client == k.Name && x.How == how })
			if i < 0 {
				t.Errorf("%s was not cut with %s", k.Name, how)
				continue
			}
			x := &r.Reconnects[i]
			switch {
			case x.Invalid != "":
				t.Errorf("%s, %s: %s", x.Client, how, x.Invalid)
			case x.Reconnected <= 0:
				t.Errorf("%s, %s: it did not come back", x.Client, how)
			case x.Received+x.Away+x.Deaf+x.Cut != x.Messages:
				t.Errorf("%s, %s: the books do not balance: %+v", x.Client, how, x)
			case how == agent.Resubscribe && (x.Subscribed < x.Reconnected || x.Received == 0):
				t.Errorf("%s, %s: %+v", x.Client, how, x)
			}
		}
	}
	if len(r.Reconnects) < 2 || len(r.Reconnects) != 2*len(r.Clients) {
		t.Errorf("%d connections were cut of %d clients", len(r.Reconnects), len(r.Clients))
	}
}

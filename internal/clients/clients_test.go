//go:build unix

package clients_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mqlab/mqlab/agents/golang"
	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/clients"
	"github.com/mqlab/mqlab/internal/clients/show"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/guard/guardtest"
)

// TestMain lets the test program be run again as the guard and as an agent in Go.
func TestMain(m *testing.M) {
	guardtest.Main(m, guard.Verbs{golang.Verb: golang.Main})
}

// TestRun compares what is installed, in small: every client that takes part gets every message, and the floors are the fastest of their
// language at the work per message.
func TestRun(t *testing.T) {
	g := guardtest.Start(t)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	var list []agent.Agent
	for _, a := range agent.All() {
		if a.Protocol == agent.MQTT {
			list = append(list, a)
		}
	}
	r, err := clients.Run(t.Context(), g, clients.Options{
		Clients: list, Protocol: agent.MQTT, Payloads: []int{256}, QoS: []int{0, 1}, Rounds: 3, Lone: 20, Drain: 200, Paced: 20, Traced: 30, Bursts: 1,
		Interval: 300 * time.Microsecond, Seed: 1, Folder: filepath.Join(cache, "mqlab"), Say: func(string) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Skipped {
		t.Logf("not compared: %s: %s", s.Name, s.Why)
	}
	for _, c := range r.Cells {
		if c.Invalid != "" || c.Received != c.Messages || len(c.Drain) != 3 || c.Lone == nil || c.Lone.Count != 60 || c.Lone.Min <= 0 {
			t.Errorf("%+v", c)
		}
	}
	if len(r.Cells) < 2*4 { // Go at the least, and C
		t.Errorf("%d cells", len(r.Cells))
	}
	if err := show.Write(os.Stdout, "text", r, show.Options{}); err != nil {
		t.Error(err)
	}
}

func TestNothing(t *testing.T) {
	g := guardtest.Start(t)
	_, err := clients.Run(t.Context(), g, clients.Options{Folder: t.TempDir(), Say: func(string) {}})
	if err == nil || errors.Is(err, agent.ErrMissing) {
		t.Errorf("%v", err)
	}
}

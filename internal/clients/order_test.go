//go:build unix

package clients_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/clients"
	"github.com/mqlab/mqlab/internal/guard/guardtest"
)

// compared are one client at least of every language, and the floors.
var compared = []string{
	"c-floor", "c-libmosquitto", "cpp-mosquittopp", "c-paho", "go-floor", "go-paho3", "python-floor", "python-paho", "node-floor", "node-mqttjs",
}

// TestOrderRepeats compares the clients three times. Whoever is told apart by a metric in one run is not the other way round in another;
// and by CPU, which a busy host hardly disturbs, most are told apart in the same order each time. Ties may be ties.
func TestOrderRepeats(t *testing.T) {
	if testing.Short() {
		t.Skip("measures three times")
	}
	var list []agent.Agent
	for _, name := range compared {
		a, ok := agent.Named(name)
		if !ok {
			t.Fatalf("there is no client %s", name)
		}
		list = append(list, a)
	}
	g := guardtest.Start(t)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	var runs []*clients.Result
	for seed := range uint64(3) {
		r, err := clients.Run(t.Context(), g, clients.Options{
			Clients: list, Protocol: agent.MQTT, Payloads: []int{256}, QoS: []int{0}, Rounds: 9, Lone: 20, Drain: 400,
			Modes:    []clients.Mode{clients.PairedMode, clients.DrainMode},
			Interval: 300 * time.Microsecond, Seed: seed + 1, Folder: filepath.Join(cache, "mqlab"), Say: func(string) {},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range r.Skipped {
			if os.Getenv("CI") != "" {
				t.Fatalf("%s: %s", s.Name, s.Why)
			}
			t.Skipf("%s: %s", s.Name, s.Why)
		}
		for _, c := range r.Cells {
			if c.Invalid != "" {
				t.Errorf("run %d: %s: %s", seed+1, c.Client, c.Invalid)
			}
		}
		runs = append(runs, r)
	}
	pairs := 15 // of six libraries
	for _, m := range []clients.Metric{clients.Drain, clients.Excess, clients.CPU} {
		same := sameOrder(t, m, runs)
		t.Logf("%s: %d of %d pairs are told apart in the same order in all runs", m, same, pairs)
		if m == clients.CPU && same < pairs/2 {
			t.Errorf("by %s only %d of %d pairs are told apart in the same order in all runs", m, same, pairs)
		}
	}
	floorsAreFloors(t, runs)
}

// sameOrder counts the pairs of libraries that all runs tell apart in the same order. Two runs that contradict each other are an error.
func sameOrder(t *testing.T, m clients.Metric, runs []*clients.Result) (same int) {
	t.Helper()
	verdicts := make([]map[[2]string]bool, len(runs))
	for i, r := range runs {
		k := r.Ranking(m, clients.Point{Payload: 256})
		if k == nil {
			t.Fatalf("run %d has no ranking by %s", i+1, m)
		}
		verdicts[i] = better(k)
		t.Logf("run %d by %s: %+v", i+1, m, k.Rows)
	}
	for pair := range verdicts[0] {
		all := true
		for _, v := range verdicts {
			all = all && v[pair]
		}
		if all {
			same++
		}
	}
	for i, v := range verdicts {
		for pair := range v {
			for k, other := range verdicts {
				if other[[2]string{pair[1], pair[0]}] {
					t.Errorf("by %s %s is better than %s in run %d, and worse in run %d", m, pair[0], pair[1], i+1, k+1)
				}
			}
		}
	}
	return same
}

// better are the pairs of which the first is told apart from the second as better.
func better(k *clients.Ranking) map[[2]string]bool {
	pairs := map[[2]string]bool{}
	for i, a := range k.Rows {
		for _, b := range k.Rows[i+1:] {
			shared := slices.ContainsFunc([]rune(a.Marks), func(m rune) bool { return slices.Contains([]rune(b.Marks), m) })
			if !shared {
				pairs[[2]string{a.Client, b.Client}] = true
			}
		}
	}
	return pairs
}

// floorsAreFloors: a socket without a library costs less CPU than every library of its language.
func floorsAreFloors(t *testing.T, runs []*clients.Result) {
	t.Helper()
	at := clients.Point{Payload: 256}
	for i, r := range runs {
		for _, name := range compared {
			a, _ := agent.Named(name)
			floor, library := r.Figure(clients.CPU, at, agent.FloorOf(a).Name), r.Figure(clients.CPU, at, name)
			if !a.Floor && floor != nil && library != nil && floor.Median >= library.Median {
				t.Errorf("run %d: %s costs no more CPU than a socket alone: %v, %v", i+1, name, library, floor)
			}
		}
	}
}

package trial_test

import (
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/guard/guardtest"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
)

// subject reads a subject that this machine must have where all is there (CI).
func subject(t *testing.T, text string) plan.Subject {
	t.Helper()
	s, err := plan.ParseSubject(text)
	if err != nil {
		t.Fatal(err)
	}
	for one := &s; one != nil; one = one.Bridge {
		here(t, *one)
	}
	return s
}

// TestSides drives JetStream, WebSocket, subjects whose subscribers speak another protocol than publishers, and bridges, at a
// rate that is nothing to them: what was expected must have been delivered, once.
func TestSides(t *testing.T) {
	pairs, fanout, fanin, shared := plan.PatternPairs, plan.PatternFanout, plan.PatternFanin, plan.PatternShared
	for text, loads := range map[string][]load{
		"nats/jetstream":                           {{"", pairs, 0, false}, {"", fanout, 1, false}, {"", fanin, 1, false}, {"", shared, 1, false}, {"", pairs, 1, true}},
		"nats/jetstream@process":                   {{"", pairs, 0, false}, {"", fanout, 1, false}, {"", shared, 1, false}},
		"nats/mqtt311":                             {{"", fanout, 1, false}},
		"mosquitto/mqtt5+ws":                       {{"", pairs, 0, false}, {"", fanin, 2, false}, {"", shared, 1, false}},
		"mochi/mqtt311+ws":                         {{"", fanout, 1, false}},
		"mosquitto/mqtt5+ws>mqtt311":               {{"", pairs, 1, false}},
		"nats/mqtt311>nats":                        {{"", pairs, 1, false}},
		"nats/nats>mqtt311@process":                {{"", fanout, 0, false}},
		"nats/mqtt311>jetstream":                   {{"", pairs, 1, false}},
		"nats/jetstream>nats":                      {{"", pairs, 1, false}},
		"mosquitto+mosquitto":                      {{"", pairs, 1, false}, {"", fanin, 2, false}},
		"mosquitto:tuned+mochi":                    {{"", fanout, 1, false}},
		"mosquitto+nats":                           {{"", pairs, 1, false}},
		"rabbitmq/mqtt311>amqp091":                 {{"", pairs, 1, false}},
		"artemis/mqtt5>amqp10":                     {{"", pairs, 1, false}},
		"mosquitto/mqtt311+nats/jetstream@process": {{"", pairs, 1, false}},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			s := subject(t, text)
			g := guardtest.Start(t)
			for i, l := range loads {
				l.protocol = s.Protocol
				t.Run(l.String(), func(t *testing.T) {
					dir := carryOut(t, g, i+1, s, l, l.pattern == shared)
					if s.Bridge != nil {
						checkFirstLeg(t, dir, l)
					}
				})
			}
		})
	}
}

// checkFirstLeg wants a time of every message at the near end of the bridge, none above the longest from end to end.
func checkFirstLeg(t *testing.T, dir string, l load) {
	t.Helper()
	r, err := run.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all ledger.Window
	for _, w := range r.Trials[0].Windows {
		all.Merge(&w)
	}
	leg := all.Hists[ledger.FirstLeg]
	want := all.Hists[ledger.Response].Count()
	if leg == nil || leg.Count() != want {
		t.Fatalf("the first leg was timed %v times, want %d (%s)", leg, want, l)
	}
	version := r.Trials[0].Broker.Version
	if !strings.Contains(version, " + ") {
		t.Errorf("the version of only one broker is known: %s", version)
	}
}

// TestWebSocketURL: an external broker by its ws:// URL, with its path and the protocol behind it.
func TestWebSocketURL(t *testing.T) {
	t.Parallel()
	s := subject(t, "mochi/mqtt5+ws")
	g := guardtest.Start(t)
	i, err := broker.Start(t.Context(), s, broker.Options{Guard: g})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := i.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	for path, protocol := range map[string]string{"": plan.MQTT5WS, "/mqtt311": plan.MQTT311WS, "/some/where/mqtt5": plan.MQTT5WS} {
		external := subject(t, i.URL+path)
		if external.Protocol != protocol {
			t.Errorf("%s speaks %s", path, external.Protocol)
		}
		carryOut(t, g, 1, external, load{protocol, plan.PatternPairs, 1, false}, false)
	}
}

package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/needs"
	"github.com/mqlab/mqlab/internal/plan"
)

// zenohScript is a router of the eclipse-zenoh package with the settings KEY=JSON of its arguments.
const zenohScript = `
import signal, sys, zenoh
c = zenoh.Config()
for setting in sys.argv[1:]:
    c.insert_json5(*setting.split("=", 1))
session = zenoh.open(c)
signal.pause()
`

// zenohServer runs the router of the eclipse-zenoh package with settings KEY=JSON.
func zenohServer(t *testing.T, settings ...string) *rig {
	t.Helper()
	folder := installed(t, "zenoh")
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		needs.Installed(t, folder, " is not the Python package: run scripts/brokers zenoh")
	}
	port := ports(t, 1)[0]
	r := newRig(t, fmt.Sprintf("zenoh://127.0.0.1:%d", port))
	r.args = append([]string{
		filepath.Join(folder, "bin", "python3"), "-I", r.write("router.py", zenohScript), `mode="router"`,
		fmt.Sprintf(`listen/endpoints=["tcp/127.0.0.1:%d"]`, port), "scouting/multicast/enabled=false", "scouting/gossip/enabled=false",
	}, settings...)
	return r.start()
}

func TestZenohShipped(t *testing.T) {
	t.Parallel()
	r := zenohServer(t)
	expect(t, ask(t, r.url, r.restart, AskReliability, AskWildcards, AskAbsent, AskNagle, AskTerm, AskKill), map[string]string{
		AskReliability: "reliable, best effort", AskWildcards: "yes", AskAbsent: "misses all", AskNagle: "off", AskTerm: "no", AskKill: "no",
	})
}

// TestZenohFollows: each setting is changed in a real router, and the answer must change with it.
func TestZenohFollows(t *testing.T) {
	t.Parallel()
	const congestion = "transport/link/tx/queue/congestion_control/"
	for _, c := range []struct {
		name, question string
		settings       []string
		begins, says   string
		lost           bool
	}{
		{"shipped", AskPayload, nil, "none to 16.0 MiB", "", false},
		{"max_message_size", AskPayload, []string{"transport/link/rx/max_message_size=200000"}, "", "B payload", false},
		{"shipped", AskSlowDrop, nil, "", "newest dropped", true},
		{"wait_before_drop", AskSlowDrop, []string{congestion + "drop/wait_before_drop=60000000"}, "publisher held at", "", false},
		{"shipped", AskSlowBlock, nil, "publisher held", "then cut", true},
		{"wait_before_close", AskSlowBlock, []string{congestion + "block/wait_before_close=60000000"}, "publisher held at", "", false},
	} {
		t.Run(c.question+"/"+c.name, func(t *testing.T) {
			t.Parallel()
			a := zenohServer(t, c.settings...).answer(c.question)
			if a.Value == "" || !strings.HasPrefix(a.Value, c.begins) || !strings.Contains(a.Value, c.says) || (a.Figures["lost"] > 0) != c.lost {
				t.Errorf("%+v, want %s … %s, losses: %v", a, c.begins, c.says, c.lost)
			}
			if c.name == "max_message_size" && (a.Figures["payload_bytes"] < 190_000 || a.Figures["payload_bytes"] > 200_000) {
				t.Errorf("%+v: the router's limit is 200,000 bytes", a)
			}
		})
	}
}

// TestZenohAnswers: what was seen is said, and no more.
func TestZenohAnswers(t *testing.T) {
	for _, c := range []struct {
		reliable, bestEffort int
		want                 string
	}{{100, 100, "reliable, best effort"}, {100, 0, "reliable only"}, {0, 1, "best effort only"}, {0, 0, "neither channel"}} {
		if a := channelsAnswer(c.reliable, c.bestEffort); a.Value != c.want || a.Figures["best_effort"] != int64(c.bestEffort) {
			t.Errorf("%+v: %+v", c, a)
		}
	}
	cut := decided(AskSlow, "cut, by 1.00 MiB", "seen")
	if a := heldAnswer(AskSlowBlock, cut, 5*time.Second); a.Value != "publisher held 5.0 s, then cut, by 1.00 MiB" || a.Question != AskSlowBlock {
		t.Errorf("%+v", a)
	}
	if a := heldAnswer(AskSlowBlock, cut, time.Second/2); a.Value != cut.Value || a.Figures["held_ns"] != int64(time.Second/2) {
		t.Errorf("%+v", a)
	}
}

// TestZenohBlockIsAsked: both ways of a message lead to the same questions.
func TestZenohBlockIsAsked(t *testing.T) {
	s, err := plan.ParseSubject("zenoh://127.0.0.1:1/zenoh-block")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), s, s.URL, Options{}); err == nil || !strings.Contains(err.Error(), "no Zenoh session is accepted") {
		t.Errorf("%v", err)
	}
}

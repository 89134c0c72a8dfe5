package clients

import (
	"testing"

	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/ktrace"
)

// TestBreakdown: the parts are those of the first thread that was woken, they add up, and messages that woke nobody are left out.
func TestBreakdown(t *testing.T) {
	k := &taken{traced: &batch{first: 10}}
	records := map[uint32]agent.Record{}
	for i := range 20 {
		at := int64(1_000_000 * (i + 1))
		k.traced.sent = append(k.traced.sent, at)
		k.left = append(k.left, at+4_000)
		records[10+uint32(i)] = agent.Record{A: uint64(at + 60_000), B: uint64(at + 61_000)}
		k.events = append(k.events, ktrace.Event{At: at - 500, Thread: 1, Kind: ktrace.Return}) // of the message before
		if i > 0 {
			k.events = append(k.events, ktrace.Event{At: at + 12_000, Thread: 1, Kind: ktrace.Woken})
		}
		k.events = append(
			k.events,
			ktrace.Event{At: at + 20_000, Thread: 2, Kind: ktrace.Return},
			ktrace.Event{At: at + 40_000, Thread: 1, Kind: ktrace.Return},
			ktrace.Event{At: at + 45_000, Thread: 1, Kind: ktrace.Return},
		)
	}
	b := k.breakdown(records)
	if b.Count == 0 || b.Awake != 1 || b.Why != "" || b.Total != 61_000 || *b.Network != 12_000 || *b.Send != 4_000 || *b.Wake != 28_000 || *b.Dispatch != 20_000 || b.Callback != 1_000 {
		t.Errorf("%+v", b)
	}
	k.untraced = "no rights"
	if b := k.breakdown(records); b.Network != nil || b.Wake != nil || b.Dispatch != nil || *b.Send != 4_000 || *b.Rest != 56_000 || b.Why != "no rights" {
		t.Errorf("without events: %+v", b)
	}
	k.left = make([]int64, 20)
	if b := k.breakdown(records); b.Send != nil || *b.Rest != 60_000 || b.Method != "" {
		t.Errorf("without stamps: %+v", b)
	}
}

// TestLeak: growth behind the warm-up is growth, growth while warming up is none.
func TestLeak(t *testing.T) {
	var messages, grows, warms []float64
	for i := range leakReadings {
		messages = append(messages, float64(100*i))
		grows = append(grows, 1e6+float64(i*100*64))
		warms = append(warms, 1e6+float64(min(i, leakWarm)*4096))
	}
	for _, c := range []struct {
		memory []float64
		grows  bool
	}{{grows, true}, {warms, false}} {
		x := Leak{}
		if err := x.judge(messages, c.memory); err != nil || x.Grows != c.grows || c.grows && x.Slope != 64 {
			t.Errorf("%+v, %v", x, err)
		}
	}
	if err := (&Leak{}).judge(messages[:12], grows[:12]); err == nil {
		t.Error("two readings were enough")
	}
}

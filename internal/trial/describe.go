package trial

import (
	"cmp"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/mqlab/mqlab/internal/monitor"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/worker"
)

// describeBroker notes what is known of the broker that answers.
func (j *job) describeBroker() {
	b := &j.record.Broker
	b.Version = j.broker.Version
	for _, s := range j.broker.Config {
		b.Config = append(b.Config, run.Setting{Key: s.Key, Value: s.Value, Source: s.Source})
	}
	b.Limits = j.broker.Limits
	if n := len(j.others); n > 0 {
		b.Config = append(b.Config, run.Setting{Key: "instances", Value: strconv.Itoa(n + 1), Source: "as written"})
	}
	if j.second != nil {
		j.describeSecond()
	}
	if j.trial.Secured() {
		j.record.Client.TLS = &run.TLS{Verified: !j.trial.Subject.TLS.SkipVerify}
	}
}

// given is how much CPU the generator was given: a thread per event loop, or all that goroutines may use.
func (j *job) given(f worker.Facts) float64 {
	if f.Engine == plan.EngineLoop {
		return float64(f.Loops)
	}
	if j.placement.Pinned() {
		return float64(len(j.placement.Generator))
	}
	return float64(runtime.GOMAXPROCS(0))
}

func wire(w *worker.Wire) *run.Wire {
	all := w.Publishers
	all.Add(w.Subscribers)
	return &run.Wire{WireTotals: *carried(all), Publishers: carried(w.Publishers), Subscribers: carried(w.Subscribers)}
}

func carried(t monitor.TCPTotals) *run.WireTotals {
	return &run.WireTotals{
		BytesUp: new(t.BytesSent), BytesDown: new(t.BytesReceived),
		SegmentsUp: new(t.SegmentsOut), SegmentsDown: new(t.SegmentsIn), Retransmitted: new(t.Retransmits),
	}
}

func sortFailures(list []run.Failure) {
	slices.SortFunc(list, func(a, b run.Failure) int {
		return cmp.Or(-cmp.Compare(a.Count, b.Count), cmp.Compare(a.Reason, b.Reason))
	})
}

// congestionControl is the one that new connections of this host use, "" if the system does not tell.
func congestionControl() string {
	b, err := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

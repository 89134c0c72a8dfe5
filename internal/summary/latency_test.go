package summary

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/ledger"
)

// evenly records n values, i × step for i from 1.
func evenly(n, step int64) *hist.Hist {
	h := hist.New()
	for i := range n {
		h.Record((i + 1) * step)
	}
	return h
}

func near(t *testing.T, what string, got *int64, want int64) {
	t.Helper()
	if got == nil {
		t.Errorf("%s is absent, want %d", what, want)
	} else if d := *got - want; d < -want/1000-1 || d > want/1000+1 {
		t.Errorf("%s is %d, want %d", what, *got, want)
	}
}

func TestQuantilesOfAllThatArrived(t *testing.T) {
	q := quantilesOf(evenly(10_000, 1000), 10_000)
	near(t, "min", q.Min, 1000)
	near(t, "p50", q.P50, 5_000_000)
	near(t, "p90", q.P90, 9_000_000)
	near(t, "p95", q.P95, 9_500_000)
	near(t, "p99", q.P99, 9_900_000)
	near(t, "p999", q.P999, 9_990_000)
	near(t, "max", q.Max, 10_000_000)
	near(t, "mean", q.Mean, 5_000_500)
	near(t, "stddev", q.StdDev, 2_886_751)
	if q.LostFrom != nil || q.HighestKnown != nil || q.TooFew != nil {
		t.Errorf("%+v", q)
	}
}

func TestLostMessagesAreLaterThanAllOthers(t *testing.T) {
	q := quantilesOf(evenly(9_800, 1000), 10_000) // 2 % lost
	near(t, "p50", q.P50, 5_000_000)              // not 4.9 ms: the lost count
	near(t, "p95", q.P95, 9_500_000)
	if q.P99 != nil || q.P999 != nil || q.Max != nil || q.Mean != nil || q.StdDev != nil {
		t.Errorf("there is a figure among the lost: %+v", q)
	}
	if q.LostFrom == nil || *q.LostFrom != 0.98 {
		t.Errorf("lost from %v", q.LostFrom)
	}
	near(t, "highest known", q.HighestKnown, 9_800_000)
	b, err := json.Marshal(q)
	if err != nil || strings.Contains(string(b), "p99_ns") || strings.Contains(string(b), "max_ns") || !strings.Contains(string(b), `"lost_from_quantile":0.98`) {
		t.Errorf("%s %v", b, err)
	}
}

func TestQuantilesOfLittle(t *testing.T) {
	if q := quantilesOf(nil, 0); q != nil {
		t.Errorf("nothing expected: %+v", q)
	}
	all := quantilesOf(nil, 100_000)
	if all.Count != 0 || all.P50 != nil || all.Min != nil || all.Max != nil || all.HighestKnown != nil || *all.LostFrom != 0 {
		t.Errorf("all lost: %+v", all)
	}
	for _, c := range []struct {
		n    int64
		want string // those there are too few for
	}{
		{19, "p50 p90 p95 p99 p999"},
		{20, "p90 p95 p99 p999"},
		{100, "p95 p99 p999"},
		{999, "p99 p999"},
		{1000, "p999"},
		{9_999, "p999"},
		{10_000, ""},
	} {
		q := quantilesOf(evenly(c.n, 1000), uint64(c.n))
		if got := strings.Join(q.TooFew, " "); got != c.want {
			t.Errorf("%d messages are too few for %q, want %q", c.n, got, c.want)
		}
		for _, p := range Percentiles {
			if absent := *p.Of(q) == nil; absent != strings.Contains(" "+c.want+" ", " "+p.Name+" ") {
				t.Errorf("%d messages: %s absent %v", c.n, p.Name, absent)
			}
		}
	}
	for _, p := range Percentiles {
		if want := 10 / (1 - p.Q); float64(p.Need) < want-1e-6 || float64(p.Need) > want+1 {
			t.Errorf("%s needs %d, want %v", p.Name, p.Need, want)
		}
	}
}

// TestTimesBeyondTheRange: what the histogram cannot hold is not shown as its limit.
func TestTimesBeyondTheRange(t *testing.T) {
	h := evenly(90, 1000)
	h.RecordN(hist.MaxValue+1, 10)
	q := quantilesOf(h, 100)
	if q.Max != nil || q.Mean != nil || *q.LostFrom != 0.9 {
		t.Errorf("%+v", q)
	}
	near(t, "p90", q.P90, 90_000)
	near(t, "highest known", q.HighestKnown, 90_000)
	h.RecordN(hist.MaxValue+1, 10)
	if q := quantilesOf(h, 110); q.P90 != nil {
		t.Errorf("p90 is %d", *q.P90)
	}
}

func TestMoreThanExpected(t *testing.T) {
	if q := quantilesOf(evenly(200, 1000), 100); q.P50 != nil || q.Count != 200 {
		t.Errorf("%+v", q)
	}
}

func TestWhatEachTimeIsOver(t *testing.T) {
	var h [ledger.NumMetrics]*hist.Hist
	for m := range h {
		h[m] = evenly(50, int64(time.Microsecond))
	}
	c := ledger.Counts{Expected: 100, UndeliveredUnsent: 30, Delivered: 60, Acked: 50, Unconfirmed: 4, Refused: 3}
	l := latencyOf(&h, &c, true)
	for name, x := range map[string]struct {
		q    *Quantiles
		want uint64
	}{
		"response": {l.Response, 100}, "service": {l.Service, 70}, "ack": {l.Ack, 57},
		"kernel": {l.Kernel, 50}, "client": {l.Client, 50}, "blocked": {l.Blocked, 50},
	} {
		if x.q.Expected != x.want {
			t.Errorf("%s is over %d, want %d", name, x.q.Expected, x.want)
		}
	}
	if cov := l.Kernel.Coverage; cov == nil || *cov != 50.0/60 || l.Response.Coverage != nil {
		t.Errorf("coverage %v", cov)
	}
	if l := latencyOf(&h, &c, false); l.Ack != nil {
		t.Error("acknowledgement times without a guarantee")
	}
	var none [ledger.NumMetrics]*hist.Hist
	if l := latencyOf(&none, &c, true); l.Kernel != nil || l.Blocked != nil || l.Response.Count != 0 {
		t.Errorf("%+v", l)
	}
}

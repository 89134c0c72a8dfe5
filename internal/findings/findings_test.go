package findings

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/monitor"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
)

const (
	second      = int64(time.Second)
	millisecond = int64(time.Millisecond)
	rate        = 200
	lasts       = 6
	began       = 1000 * second // the measure window, by the monotonic clock
)

// trip is a trial made up for a test: messages are due every 5 ms, and take what the case says of each.
type trip struct {
	run.Trial
	samples bytes.Buffer
}

// newTrip makes a trial. wait is what a message due then takes beyond the least; of this sent is the part before it was sent.
func newTrip(wait func(due int64) (all, sent int64)) *trip {
	t := &trip{}
	t.State, t.MeasureStart = run.Finished, began
	t.Trial.Trial = plan.Trial{ID: 1, Subject: plan.Subject{Name: "mosquitto", Broker: "mosquitto", Runtime: "process"}, Params: plan.Params{
		Publishers: 1, Subscribers: 1, RatePerS: rate, QoS: 1, Window: 100, PayloadBytes: 256,
	}}
	t.Checks.Measured = lasts * second
	t.Wire = &run.Wire{WireTotals: run.WireTotals{Retransmitted: new(uint64(0))}}
	t.samples.WriteString("mqlab-samples version=1 record=48 byte-order=le\n")
	pubs, subs := windows("publishers"), windows("subscribers")
	for i := range int64(lasts * rate) {
		due := i * second / rate
		all, before := wait(due)
		sent, received := due+before, due+all+150_000
		p, s := pubs[due/second], subs[min(received/second, int64(len(subs)-1))]
		p.Counts.Offered++
		left := pubs[min(sent/second, int64(len(pubs)-1))]
		left.InWindow.Sent++
		if before > 0 {
			record(left, ledger.Blocked, before)
		}
		record(p, ledger.Lateness, 2000)
		s.Counts.Delivered++
		record(s, ledger.Response, received-due)
		record(s, ledger.Ack, received-sent)
		record(s, ledger.Client, 20_000)
		t.samples.Write((&run.Sample{Kind: run.SampleReceived, Seq: uint64(i), Due: began + due, Sent: began + sent, Received: began + received}).Append(nil))
	}
	for i := range pubs {
		t.Windows = append(t.Windows, *pubs[i], *subs[i])
	}
	t.Totals = []run.GroupTotal{{Group: "publishers", Counts: ledger.Counts{Offered: lasts * rate}}, {Group: "subscribers", Counts: ledger.Counts{Expected: lasts * rate, Delivered: lasts * rate}}}
	return t
}

func windows(group string) (list []*ledger.Window) {
	for i := range int64(lasts + 3) {
		w := &ledger.Window{Group: group, Start: i * second, End: (i + 1) * second, Phase: "measure"}
		if i >= lasts {
			w.Phase = "drain"
		}
		list = append(list, w)
	}
	return list
}

func record(w *ledger.Window, m ledger.Metric, v int64) {
	if w.Hists[m] == nil {
		w.Hists[m] = hist.New()
	}
	w.Hists[m].Record(v)
}

func none(int64) (all, sent int64) { return 0, 0 }

// stall delays what is due in a stretch of time to its end.
func stall(from, to int64) func(int64) (all, sent int64) {
	return func(due int64) (all, sent int64) {
		if due >= from && due < to {
			return to - due, 0
		}
		return 0, 0
	}
}

// watch writes samples of the broker: each second what set makes of it.
func (t *trip) watch(set func(i int, s *monitor.Sample)) *trip {
	for i := range lasts + 1 {
		s := monitor.Sample{T: began + int64(i)*second, Role: monitor.Broker}
		set(i, &s)
		t.Monitor = append(t.Monitor, s)
	}
	return t
}

var trips = []struct {
	name string
	make func() *trip
	want []diagnose.Cause // by the second, and by samples
}{
	{"healthy", func() *trip { return newTrip(none) }, []diagnose.Cause{diagnose.None}},
	{"a pause of the broker", func() *trip {
		t := newTrip(stall(2*second, 3*second))
		t.Events = []run.Event{{T: 2 * second, Kind: "pause"}, {T: 3 * second, Kind: "resume"}}
		return t
	}, []diagnose.Cause{diagnose.BrokerStall}},
	{"a pause that fills the window as well", func() *trip {
		t := newTrip(func(due int64) (all, sent int64) {
			if due >= 2*second && due < 3*second {
				return 3*second - due, max(0, 3*second-due-20*millisecond)
			}
			return 0, 0
		})
		t.Events = []run.Event{{T: 2 * second, Kind: "pause"}, {T: 3 * second, Kind: "resume"}}
		return t
	}, []diagnose.Cause{diagnose.BrokerStall}},
	{"the broker stood still by itself", func() *trip { return newTrip(stall(2300*millisecond, 3700*millisecond)) }, []diagnose.Cause{diagnose.BrokerStall}},
	{"a window that is full", func() *trip {
		t := newTrip(func(due int64) (all, sent int64) { return due/2 + 20*millisecond, due / 2 })
		t.Trial.Trial.Params.Window, t.Client.Window = 1, 1
		return t
	}, []diagnose.Cause{diagnose.WindowFull}},
	{"a quota", func() *trip {
		return newTrip(func(due int64) (all, sent int64) { return 60*millisecond - due%(100*millisecond)/2, 0 }).watch(func(i int, s *monitor.Sample) {
			s.Quota = &monitor.Quota{Periods: uint64(10 * i), Throttled: uint64(8 * i), ThrottledSeconds: 0.5 * float64(i)}
		})
	}, []diagnose.Cause{diagnose.Throttling}},
	{"losses", func() *trip {
		t := newTrip(func(due int64) (all, sent int64) {
			if n := due / (5 * millisecond); n*n*n%101 < 5 { // one in twenty, at no rhythm
				return 290 * millisecond, 0
			}
			return 40 * millisecond, 0
		})
		t.Trial.Trial.Params.Link = plan.Link{Profile: link.Profile{Name: "own", Up: link.Params{Delay: 20 * time.Millisecond}, Down: link.Params{Delay: 20 * time.Millisecond}}}
		t.Link = &run.Link{}
		for i := range int64(lasts) {
			t.Link.Intervals = append(t.Link.Intervals, run.LinkInterval{T: (i + 1) * second, Up: run.LinkFlow{Lost: 900}})
		}
		return t
	}, []diagnose.Cause{diagnose.PacketLoss}},
	{"an outage of the network", func() *trip {
		t := newTrip(stall(2*second, 3200*millisecond))
		t.Events = []run.Event{
			{T: 2 * second, Kind: "outage", Text: "rst for 1s"},
			{T: 2*second + 1, Kind: "lost", Text: "sub-1: connection reset"},
			{T: 3 * second, Kind: "mended", Text: "rst"},
			{T: 3200 * millisecond, Kind: "reconnected", Text: "sub-1"},
		}
		return t
	}, []diagnose.Cause{diagnose.Outage, diagnose.Handshake}},
	{"an alarm of the broker about its memory", func() *trip {
		t := newTrip(func(due int64) (all, sent int64) {
			if due >= 2*second && due < 3500*millisecond {
				return 3500*millisecond - due, 3500*millisecond - due
			}
			return 0, 0
		})
		t.Events = []run.Event{{T: 2 * second, Kind: "refused", Text: `publisher 0: amqp091: broker blocks publishers: resource alarm: "low on memory"`}}
		return t
	}, []diagnose.Cause{diagnose.ResourceAlarm}},
	{"a restart of the broker", func() *trip {
		t := newTrip(stall(2*second, 3*second))
		t.Events = []run.Event{{T: 2 * second, Kind: "kill"}, {T: 3 * second, Kind: "start"}}
		return t
	}, []diagnose.Cause{diagnose.Outage}},
	{"a black hole that is noticed late", func() *trip {
		t := newTrip(stall(1*second, 4*second))
		t.Events = []run.Event{
			{T: 1 * second, Kind: "outage", Text: "blackhole for 1s"},
			{T: 2 * second, Kind: "mended", Text: "blackhole"},
			{T: 4 * second, Kind: "lost", Text: "pub-1: keepalive"},
			{T: 4*second + 1, Kind: "reconnected", Text: "pub-1"},
		}
		return t
	}, []diagnose.Cause{diagnose.DeadPeer, diagnose.Outage}},
}

func causes(r *diagnose.Result) (list []diagnose.Cause) {
	for _, f := range r.Findings {
		list = append(list, f.Cause)
	}
	return list
}

// TestTrips: by the second and by samples the same is named.
func TestTrips(t *testing.T) {
	for _, c := range trips {
		x := c.make()
		by := bothOf(t, x)
		for name, r := range by {
			got := causes(r)
			slices.Sort(got)
			want := slices.Sorted(slices.Values(c.want))
			if !slices.Equal(got, want) {
				t.Errorf("%s, by %s: %v, want %v\n%+v", c.name, name, got, c.want, r.In("en").Findings)
			}
		}
	}
}

// bothOf diagnoses a trip by the second and by its samples.
func bothOf(t *testing.T, x *trip) map[string]*diagnose.Result {
	t.Helper()
	c := Course(&x.Trial)
	in, note, err := messages(&x.Trial, c, bytes.NewReader(x.samples.Bytes()), int64(x.samples.Len()))
	if err != nil || note != "" || len(in.Messages) != lasts*rate {
		t.Fatalf("%d messages, %q, %v", len(in.Messages), note, err)
	}
	return map[string]*diagnose.Result{"second": Of(&x.Trial), "samples": both(diagnose.Diagnose(in), diagnose.DiagnoseCourse(c))}
}

// TestInterval: a stall has the right interval.
func TestInterval(t *testing.T) {
	x := newTrip(stall(2300*millisecond, 3700*millisecond))
	for by, r := range bothOf(t, x) {
		spans := r.Findings[0].Spans
		if len(spans) != 1 || spans[0].From < 2250*millisecond || spans[0].From > 2350*millisecond || spans[0].To < 3650*millisecond || spans[0].To > 3750*millisecond {
			t.Errorf("by %s: %v", by, spans)
		}
	}
}

// TestWhy: what cannot be diagnosed says why.
func TestWhy(t *testing.T) {
	for _, c := range []struct {
		edit func(*trip)
		want string
	}{
		{func(x *trip) { x.Trial.Trial.Params.RatePerS = 0 }, "as much as possible"},
		{func(x *trip) { x.Windows = nil }, "nothing of it was recorded"},
		{func(x *trip) {
			for i := range x.Windows {
				x.Windows[i].Hists[ledger.Response] = nil
			}
		}, "no message arrived"},
	} {
		x := newTrip(none)
		c.edit(x)
		if got := Why(&x.Trial); !strings.Contains(got, c.want) || Of(&x.Trial) != nil {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestLong: a day has no more stretches than an hour.
func TestLong(t *testing.T) {
	x := newTrip(none)
	w := x.Windows[1]
	x.Windows = nil
	for i := range int64(100_000) {
		w.Start, w.End = i*second, (i+1)*second
		x.Windows = append(x.Windows, w)
	}
	if c := Course(&x.Trial); len(c.Stretches) > mostStretches || c.Figures.Messages != 100_000*rate {
		t.Errorf("%d stretches, %d messages", len(c.Stretches), c.Figures.Messages)
	}
}

// FuzzSamples: whatever stands in samples.bin, it is read or refused.
func FuzzSamples(f *testing.F) {
	x := newTrip(stall(2*second, 3*second))
	f.Add(x.samples.Bytes()[:48*20])
	f.Add([]byte("rubbish"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := Course(&x.Trial)
		in, _, err := messages(&x.Trial, c, bytes.NewReader(b), int64(len(b)))
		if err == nil {
			both(diagnose.Diagnose(in), diagnose.DiagnoseCourse(c))
		}
	})
}

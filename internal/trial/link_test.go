package trial_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/guard/guardtest"
	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/link/linktest"
	"github.com/mqlab/mqlab/internal/link/tun"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/summary"
	"github.com/mqlab/mqlab/internal/trial"
)

// overLink carries out a trial over a link, without a full test of it, and returns what came of it.
func overLink(t *testing.T, job plan.Trial, l plan.Link) *summary.Trial {
	t.Helper()
	job.ID, job.Cell, job.Point, job.Repetition, job.Seed = 1, 1, 1, 1, 1
	job.Params.Link = l
	runID := run.NewID()
	w, err := run.Create(t.TempDir(), run.Manifest{ID: runID, Scenario: "link"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.Trial(job.ID)
	if err != nil {
		t.Fatal(err)
	}
	said := 0
	lab := &trial.Lab{
		Place: netns.Host, Guard: guardtest.Start(t), RunID: runID, Links: new(trial.LinkTests), Say: func(string) { said++ },
		LinkTest: linktest.Options{Packets: 200, Full: 300 * time.Millisecond},
	}
	record, err := lab.Run(t.Context(), job, out)
	if err != nil || record.State != run.Finished || record.Failure != "" {
		t.Fatalf("%v, %s: %s", err, record.State, record.Failure)
	}
	if said != 1 || record.Link == nil || record.Link.SelfTest == nil || len(record.Link.SelfTest.Checks) == 0 {
		t.Fatalf("the link was tested %d times: %+v", said, record.Link)
	}
	so, err := run.Open(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	return &summary.Of(so).Trials[0]
}

// backends are those that lose packets and can be had here.
func backends(t *testing.T) []string {
	t.Helper()
	list := []string{"netstack"}
	if err := tun.Supported(); err == nil {
		list = append(list, "tun")
	}
	return list
}

// TestOverLink: over a link that loses packets everything of QoS 1 arrives, no sooner than the link allows; every packet is
// accounted for, TCP and link agree within 1 % on what was sent, and a message takes as many bytes as the plan said.
func TestOverLink(t *testing.T) {
	for _, text := range []string{"mosquitto/mqtt311", "nats@process"} {
		s := subject(t, text)
		for _, backend := range backends(t) {
			t.Run(text+" by "+backend, func(t *testing.T) {
				p := paramsOf(load{s.Protocol, plan.PatternPairs, 1, false})
				if s.Protocol == plan.NATS {
					p.QoS = 0
				}
				p.RatePerS, p.Phases.Measure = 30, 2*time.Second
				l := plan.Link{Backend: backend, Profile: link.Profile{
					Name: "lossy", Up: link.Params{Delay: 20 * time.Millisecond, Loss: 0.02}, Down: link.Params{Delay: 30 * time.Millisecond, Loss: 0.02},
				}}
				got := overLink(t, plan.Trial{Subject: s, Params: p}, l)
				checkLink(t, got, backend)
				if min := got.Latency.Response.Min; *got.Counts.Delivered != 60 || *got.Counts.Lost > 0 || min == nil || *min < int64(50*time.Millisecond) {
					t.Errorf("%d delivered, %d lost, at best in %v", *got.Counts.Delivered, *got.Counts.Lost, min)
				}
				need, _ := (&plan.Trial{Subject: s, Params: got.Params}).Need()
				// Acknowledgements that TCP holds back ride on the next segment; what is lost is sent again.
				least, most := float64(60*need.Up.PerMessage.Data), 1.3*float64(60*(need.Up.PerMessage.Data+need.Up.PerMessage.Acks))
				if bytes := float64(got.Link.Up.Counters.Offered.Bytes); bytes < least || bytes > most {
					t.Errorf("%v bytes up for 60 messages, want %v to %v", bytes, least, most)
				}
			})
		}
	}
}

func checkLink(t *testing.T, got *summary.Trial, backend string) {
	t.Helper()
	l := got.Link
	if l == nil || l.Backend != backend || l.Facts.CongestionControl == "" || l.Up == nil || l.Down == nil || l.Profile != got.Params.Link.Name {
		t.Fatalf("link: %+v", l)
	}
	for name, c := range map[string]*link.Counters{"up": &l.Up.Total, "down": &l.Down.Total} {
		sum := c.Carried.Packets + c.Lost.Packets + c.QueueDropped.Packets + c.Outage.Packets + c.InFlight.Packets
		if sum != c.Offered.Packets || c.Offered.Packets == 0 || c.Overrun.Packets > 0 {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if a := l.Agreement; a == nil || math.Abs(a.Packets) > 0.01 || math.Abs(a.Ratio) > 0.02 {
		t.Errorf("TCP and link: %+v", a)
	}
}

// TestSaturated: a link that is offered more than it can carry is the verdict, and nothing is delivered above its capacity.
func TestSaturated(t *testing.T) {
	s := subject(t, "mosquitto/mqtt311")
	p := paramsOf(load{s.Protocol, plan.PatternPairs, 0, false})
	p.RatePerS, p.PayloadBytes, p.Phases.Measure, p.Phases.Drain = 200, 512, 3*time.Second, 100*time.Millisecond
	const rate = 256_000
	slow := link.Params{Delay: 10 * time.Millisecond, Rate: rate}
	got := overLink(t, plan.Trial{Subject: s, Params: p}, plan.Link{Backend: "netstack", Profile: link.Profile{Name: "slow", Up: slow, Down: slow}})
	if !got.Link.Saturated {
		t.Fatalf("not saturated: %+v", got.Link.Up)
	}
	said := ""
	for _, r := range got.Reasons {
		if r.Code == "link_saturated" {
			said = r.Text
		}
	}
	if !strings.Contains(said, "messages/s offered need") || !strings.Contains(said, "of its capacity used") {
		t.Errorf("said: %q", said)
	}
	if u := *got.Link.Up.Utilisation; u < 0.8 || u > 1.01 {
		t.Errorf("%v of the capacity was used", u)
	}
	if bits := *got.Rates.Delivered * 512 * 8; bits > rate {
		t.Errorf("%v bit/s were delivered over %d", bits, rate)
	}
}

// TestLinkRefused: a link that cannot be made is why the trial failed, in one line.
func TestLinkRefused(t *testing.T) {
	s := subject(t, "mosquitto/mqtt311")
	w, err := run.Create(t.TempDir(), run.Manifest{ID: run.NewID(), Scenario: "link"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.Trial(1)
	if err != nil {
		t.Fatal(err)
	}
	p := paramsOf(load{s.Protocol, plan.PatternPairs, 0, false})
	p.Link = plan.Link{Backend: "proxy", Profile: link.Profile{Name: "lossy", Up: link.Params{Loss: 0.1}}}
	lab := &trial.Lab{Place: netns.Host, Guard: guardtest.Start(t), RunID: "link"}
	record, err := lab.Run(t.Context(), plan.Trial{ID: 1, Seed: 1, Subject: s, Params: p}, out)
	if err != nil {
		t.Fatal(err)
	}
	if record.State != run.Failed || !strings.HasPrefix(record.Failure, "option loss (up): backend proxy ") || strings.Contains(record.Failure, "\n") {
		t.Errorf("%s: %s", record.State, record.Failure)
	}
}

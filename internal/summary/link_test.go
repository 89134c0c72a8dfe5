package summary_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/run/runtest"
	"github.com/mqlab/mqlab/internal/summary"
)

// over summarises a trial over a link of 10 Mbit/s and 100 ms: 3,000 messages of 256 bytes in 3 seconds.
func over(t *testing.T, edit func(*run.Link), more ...func(*run.TrialRecord)) *summary.Trial {
	t.Helper()
	params := runtest.Params()
	path := link.Params{Delay: 100 * time.Millisecond, Rate: 10_000_000}
	params.Link = plan.Link{Profile: link.Profile{Name: "wide", Up: path, Down: path}, Backend: "auto"}
	trials := runtest.Repeated([]string{"mochi"}, 1, 1, params, func(x *runtest.Trial) {
		x.Edit = func(r *run.TrialRecord) {
			count := link.Count{Packets: 3000, Bytes: 1_000_000}
			way := run.LinkWay{Total: link.Counters{Offered: count, Carried: count}, Measured: link.Counters{Offered: count, Carried: count}}
			up, down := way, way
			r.Link = &run.Link{
				Backend: "netstack", Why: "asked for", Facts: link.Facts{Backend: "netstack", CongestionControl: "cubic"}, Up: &up, Down: &down,
				Agreement: &run.LinkAgreement{By: "TCP_INFO", TCPBytes: 995_000, LinkBytes: 1_000_000, TCPPackets: 3000, LinkPackets: 3000},
				SelfTest:  &run.LinkTest{Pass: true},
			}
			for s := range int64(3) {
				flow := run.LinkFlow{Offered: 333_333, Carried: 333_333, Wait: time.Duration(s) * time.Millisecond}
				r.Link.Intervals = append(r.Link.Intervals, run.LinkInterval{T: (s + 1) * int64(time.Second), Up: flow, Down: flow})
			}
			if edit != nil {
				edit(r.Link)
			}
			for _, f := range more {
				f(r)
			}
		}
	})
	return &summary.Of(runtest.Write(t, "link", trials)).Trials[0]
}

// TestLinkFigures: what is per second, and of what.
func TestLinkFigures(t *testing.T) {
	l := over(t, func(l *run.Link) {
		m := &l.Up.Measured
		m.Lost, m.QueueDropped, m.LongestWait = link.Count{Packets: 150, Bytes: 50_000}, link.Count{Packets: 3, Bytes: 1000}, 7*time.Millisecond
	}).Link
	near := func(what string, got *float64, want float64) {
		t.Helper()
		if got == nil || *got < want*0.999 || *got > want*1.001 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	near("carried", l.Up.Carried, 1_000_000*8/3.0)
	near("utilisation", l.Up.Utilisation, 1_050_000*8/3.0/10_000_000)
	near("lost", l.Up.Lost, 150.0/3150)
	near("dropped", l.Up.Dropped, 3.0/3000)
	near("capacity", l.Up.Capacity, 10_000_000)
	if *l.Up.StandingQueue != 0 || *l.Up.LongestWait != int64(7*time.Millisecond) || l.Saturated || l.Profile != "wide" {
		t.Errorf("%+v", l)
	}
	near("difference", new(-l.Agreement.Ratio), 0.005)
	if host := summary.Of(runtest.Comparison(t)).Trials[0].Link; host != nil {
		t.Errorf("the host's own network: %+v", host)
	}
}

// TestLinkVerdicts: each reason comes when it should and not otherwise.
func TestLinkVerdicts(t *testing.T) {
	for _, c := range []struct {
		what string
		edit func(*run.Link)
		code string // "" = none of a link's
		says string
		bad  summary.Validity
	}{
		{"all well", nil, "", "", ""},
		{"untrue", func(l *run.Link) { l.SelfTest = &run.LinkTest{Why: []string{"up loss is 7 %, configured 5 %"}} }, "link_untrue", "up loss is 7 %", summary.Invalid},
		{"overrun", func(l *run.Link) { l.Down.Total.Overrun.Packets = 5 }, "link_overrun", "5 packets (down)", summary.Invalid},
		{"went another way", func(l *run.Link) { l.Down.Total.Carried.Bytes = 700_000 }, "link_exceeded", "another way", summary.Invalid},
		{"copies count", func(l *run.Link) {
			l.Down.Total.Carried.Bytes, l.Down.Total.Duplicated.Bytes = 700_000, 100_000
		}, "", "", ""},
		{"full", func(l *run.Link) { l.Up.Measured.Carried.Bytes = 3_700_000 }, "link_saturated", "saturated (up): 98.7 % of its capacity used", summary.Warning},
		{"dropping", func(l *run.Link) { l.Up.Measured.QueueDropped.Packets = 30 }, "link_saturated", "1.00 % of the packets dropped", summary.Warning},
		{"standing", func(l *run.Link) {
			for i := range l.Intervals {
				l.Intervals[i].Down.Wait += 5 * time.Millisecond
			}
		}, "link_saturated", "never less than 5.00 ms of waiting in a queue of 1.00 s", summary.Warning},
		{"late", func(l *run.Link) { l.Facts.Late = link.Lateness{Packets: 9, P99: 6 * time.Millisecond} }, "link_late", "6.00 ms late at p99, more than 5.00 ms", summary.Warning},
		{"in time", func(l *run.Link) { l.Facts.Late = link.Lateness{Packets: 9, P99: 4 * time.Millisecond} }, "", "", ""},
		{"disagreeing", func(l *run.Link) { l.Agreement.TCPPackets = 2900 }, "link_disagrees", "2,900 segments", summary.Warning},
		{"disagreeing about bytes", func(l *run.Link) { l.Agreement.TCPBytes = l.Agreement.LinkBytes * 90 / 100 }, "link_disagrees", "bytes", summary.Invalid},
		{"disagreeing about what was sent again", func(l *run.Link) { l.Agreement.TCPAgain, l.Agreement.LinkAgain = 103, 100 }, "link_disagrees", "103 segments sent again", summary.Warning},
		{"not counted", func(l *run.Link) { l.Up, l.Down, l.Agreement, l.SelfTest = nil, nil, nil, nil }, "", "", ""},
	} {
		trial := over(t, c.edit)
		found := ""
		for _, r := range trial.Reasons {
			if strings.HasPrefix(r.Code, "link_") {
				found += r.Code
				if r.Code == c.code && (r.Level != c.bad || !strings.Contains(r.Text, c.says)) {
					t.Errorf("%s: %s %s, want %s %q", c.what, r.Level, r.Text, c.bad, c.says)
				}
			}
		}
		if found != c.code {
			t.Errorf("%s: reasons %q, want %q", c.what, found, c.code)
		}
	}
}

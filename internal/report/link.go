package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/summary"
)

// link shows what lay between clients and brokers in each trial that had a link: what it was to be, how it was made, and what became
// of the packets.
func (d *document) link(s *summary.Summary) {
	sec := d.section("The link")
	t := &table{head: []string{"", "offered", "carried", "used", "lost", "dropped", "queue"}, left: 1}
	several := severalLinks(s)
	seen := map[string]bool{}
	say := func(text string) {
		if text != "" && !seen[text] {
			seen[text] = true
			sec.say(plain, text)
		}
	}
	for i := range s.Trials {
		trial := &s.Trials[i]
		l := trial.Link
		if l == nil {
			continue
		}
		p := &trial.Params.Link
		ways := "both ways " + plan.DescribePath(p.Up)
		if p.Up != p.Down {
			ways = "up " + plan.DescribePath(p.Up) + "; down " + plan.DescribePath(p.Down)
		}
		say(fmt.Sprintf("%s: %s. Figures: %s.", p.Name, ways, p.Source))
		say(madeBy(l))
		for _, why := range l.Facts.Why {
			say("Backend " + l.Backend + ": " + why + ".")
		}
		say(tested(l.SelfTest))
		name := fmt.Sprintf("%d %s", trial.ID, trial.Subject.Name)
		if several {
			name += " " + l.Profile
		}
		t.way(name+" up", l.Up)
		t.way(name+" down", l.Down)
	}
	if len(t.rows) == 0 {
		return
	}
	sec.needs(s)
	t.dropEmpty()
	sec.add(t)
	sec.agreements(s)
	sec.say(plain, "Bytes are those of packets with their IP headers, in the measure window. used: of the capacity, lost packets included; lost: of the packets that were on the air; dropped: of those offered, for want of room in the queue; queue: the shortest mean wait of any second, that is a queue that never emptied.")
}

// needs says what the load needs of the links, as it was said before the first trial.
func (sec *section) needs(s *summary.Summary) {
	var said list
	for _, n := range s.Run.Needs {
		said = append(said, paragraph{n + ".", plain})
	}
	if len(said) > 0 {
		sec.say(plain, "Said beforehand:")
		sec.add(said)
	}
}

// agreements says how well link and TCP agree on what devices sent, over all trials in which both could be asked.
func (sec *section) agreements(s *summary.Summary) {
	n, worst := 0, 0.0
	var again, of uint64
	for i := range s.Trials {
		l := s.Trials[i].Link
		if l == nil || l.Agreement == nil {
			continue
		}
		n++
		worst = max(worst, math.Abs(l.Agreement.Ratio), math.Abs(l.Agreement.Packets), math.Abs(l.Agreement.Again))
		again, of = again+l.Agreement.LinkAgain, of+l.Agreement.LinkPackets
	}
	if n > 0 {
		sec.say(plain, fmt.Sprintf("Link and TCP agree on what devices sent within %.2f %% in segments, bytes, and segments sent again (%s of %s), in each of %s in which both could be asked.",
			worst*100, summary.Count(again), summary.Count(of), summary.Plural(uint64(n), "trial")))
	}
}

// madeBy says how a link was made.
func madeBy(l *summary.Link) string {
	text := "Made by backend " + l.Backend
	if l.Why != "" {
		text += " (" + l.Why + ")"
	}
	if cc := l.Facts.CongestionControl; cc != "" {
		text += ", TCP " + cc
	}
	return text + "."
}

// tested says in a sentence what probes found out about a link before it was used.
func tested(t *run.LinkTest) string {
	switch {
	case t == nil:
		return ""
	case !t.Pass:
		return "Self-test: it does not do what it is told: " + strings.Join(t.Why, "; ") + "."
	}
	var parts []string
	for _, c := range t.Checks {
		parts = append(parts, fmt.Sprintf("%s %s %s of %s", c.Direction, c.What, linkFigure(c.What, c.Achieved), linkFigure(c.What, c.Configured)))
	}
	text := "Self-test: it does what it is told: " + strings.Join(parts, ", ") + " (measured of configured)"
	if len(t.Untested) > 0 {
		text += "; not tested: " + strings.Join(t.Untested, "; ")
	}
	return text + "."
}

// linkFigure writes a figure of a link's test in its unit.
func linkFigure(what string, v float64) string {
	switch what {
	case "loss":
		return fmt.Sprintf("%.2f %%", v*100)
	case "burst":
		return summary.Number(v) + " packets"
	case "rate":
		return bitRate(&v)
	}
	return summary.Duration(int64(v))
}

// severalLinks reports whether trials had different links.
func severalLinks(s *summary.Summary) bool {
	names := map[string]bool{}
	for i := range s.Trials {
		if l := s.Trials[i].Link; l != nil {
			names[l.Profile] = true
		}
	}
	return len(names) > 1
}

// way adds one direction of a trial's link.
func (t *table) way(name string, w *summary.LinkWay) {
	if w != nil {
		t.row(name, bitRate(w.Offered), bitRate(w.Carried), orUnknown(ratio(w.Utilisation)), orUnknown(ratio(w.Lost)), orUnknown(ratio(w.Dropped)),
			orUnknown(duration(w.StandingQueue)))
	}
}

func bitRate(bits *float64) string {
	if bits == nil {
		return unknown
	}
	if *bits < 1000 {
		return summary.Number(*bits) + " bit/s"
	}
	return plan.BitRate(rounded(*bits))
}

// rounded keeps three digits.
func rounded(f float64) float64 {
	scale := 1.0
	for f/scale >= 1000 {
		scale *= 10
	}
	return float64(int64(f/scale+0.5)) * scale
}

// linkName names the link of a group's points, and by what it was to be made.
func linkName(p *plan.Params) string {
	if !p.Link.Emulated() {
		return ""
	}
	return "over link " + p.Link.Name
}

// linkDetail says in sentences what one trial's link did.
func (sec *section) linkDetail(l *summary.Link) {
	if l == nil {
		return
	}
	for _, w := range []struct {
		name string
		way  *summary.LinkWay
	}{{"link up", l.Up}, {"link down", l.Down}} {
		if w.way == nil {
			continue
		}
		total := &w.way.Total
		sec.facts(w.name, fact("packets offered", summary.Count(total.Offered.Packets)), fact("carried", summary.Count(total.Carried.Packets)),
			fact("lost", summary.Count(total.Lost.Packets)), fact("dropped", summary.Count(total.QueueDropped.Packets)),
			fact("in an outage", summary.Count(total.Outage.Packets)), fact("in flight at the end", summary.Count(total.InFlight.Packets)))
	}
	if late := l.Facts.Late; late.Packets > 0 {
		sec.facts("link emulation", fact("late p50", summary.Duration(int64(late.P50))), fact("p99", summary.Duration(int64(late.P99))), fact("max", summary.Duration(int64(late.Max))))
	}
	if a := l.Agreement; a != nil {
		for _, of := range []struct {
			what      string
			tcp, link uint64
			part      float64
		}{{"segments up", a.TCPPackets, a.LinkPackets, a.Packets}, {"bytes up", a.TCPBytes, a.LinkBytes, a.Ratio}, {"sent again up", a.TCPAgain, a.LinkAgain, a.Again}} {
			sec.facts(of.what, fact("by TCP", summary.Count(of.tcp)+" ("+a.By+")"), fact("by the link", summary.Count(of.link)), fact("difference", fmt.Sprintf("%.2f %%", of.part*100)))
		}
	}
	for _, o := range l.Outages {
		sec.facts("outage", string(o.Kind), "at "+o.At.Round(time.Millisecond).String(), "for "+o.For.Round(time.Millisecond).String())
	}
}

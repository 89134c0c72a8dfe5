package summary

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
)

// Link is the network between clients and brokers, and what it did.
type Link struct {
	Profile   string         `json:"profile"`
	Backend   string         `json:"backend"` // that was taken
	Why       string         `json:"why,omitempty"`
	Facts     link.Facts     `json:"facts"`
	SelfTest  *run.LinkTest  `json:"self_test,omitempty"` // absent: it was not tested
	Up        *LinkWay       `json:"up,omitempty"`        // absent: the backend does not count
	Down      *LinkWay       `json:"down,omitempty"`
	Saturated bool           `json:"saturated"` // one of its directions
	Outages   []link.Outage  `json:"outages,omitempty"`
	Agreement *LinkAgreement `json:"agreement,omitempty"`
}

// LinkWay is one direction of a link.
type LinkWay struct {
	Counters link.Counters `json:"counters"` // of the measure window
	Total    link.Counters `json:"total"`    // of the whole trial
	// Of the measure window, in bits per second at the network layer.
	Capacity    *float64 `json:"capacity_bits_per_s,omitempty"` // absent: without limit
	Offered     *float64 `json:"offered_bits_per_s,omitempty"`
	Carried     *float64 `json:"carried_bits_per_s,omitempty"`
	Utilisation *float64 `json:"utilisation_ratio,omitempty"` // of the capacity, lost packets included
	Lost        *float64 `json:"lost_ratio,omitempty"`        // of the packets that were on the air
	Dropped     *float64 `json:"queue_dropped_ratio,omitempty"`
	// StandingQueue is the shortest of the mean waits of the window's intervals: a queue that never emptied.
	StandingQueue *int64 `json:"standing_queue_ns,omitempty"`
	LongestWait   *int64 `json:"longest_wait_ns,omitempty"`
	// TCP is what the TCP that sends in this direction has sent. Absent: the backend does not show packets.
	TCP       *run.LinkTCP `json:"tcp,omitempty"`
	saturated bool
}

// LinkAgreement compares the link's account with that of TCP.
type LinkAgreement struct {
	run.LinkAgreement
	Ratio   float64 `json:"difference_ratio"` // of bytes, of the link's
	Packets float64 `json:"packets_difference_ratio"`
	Again   float64 `json:"retransmitted_difference_ratio"` // 0 also where neither knows of any
}

// Limits of a link.
const (
	saturatedAt   = 0.95  // of the capacity
	saturatedDrop = 0.001 // of the packets
	maxDisagree   = 0.01  // between the accounts of link and TCP
	maxUntrue     = 0.05  // likewise: one of them is wrong
	maxLinkLate   = 0.05  // of the delay, at the 99th percentile; or
	maxLinkJitter = 0.10  // of the jitter
)

// linkOf folds what a link did; nil = there was none.
func linkOf(rec *run.Trial) *Link {
	r := rec.Link
	if r == nil {
		return nil
	}
	p := &rec.Trial.Params.Link
	l := &Link{Profile: p.Name, Backend: r.Backend, Why: r.Why, Facts: r.Facts, SelfTest: r.SelfTest, Outages: r.Outages}
	var window time.Duration
	if n := len(r.Intervals); n > 0 {
		window = time.Duration(r.Intervals[n-1].T)
	}
	l.Up = wayOf(r.Up, p.Up, window, r.Intervals, func(i *run.LinkInterval) *run.LinkFlow { return &i.Up })
	l.Down = wayOf(r.Down, p.Down, window, r.Intervals, func(i *run.LinkInterval) *run.LinkFlow { return &i.Down })
	for _, w := range []*LinkWay{l.Up, l.Down} {
		l.Saturated = l.Saturated || w != nil && w.saturated
	}
	if a := r.Agreement; a != nil && a.LinkBytes > 0 {
		l.Agreement = &LinkAgreement{*a, apart(a.TCPBytes, a.LinkBytes), apart(a.TCPPackets, a.LinkPackets), apart(a.TCPAgain, a.LinkAgain)}
	}
	return l
}

// apart is by which part of the link's figure that of TCP is larger.
func apart(tcp, link uint64) float64 {
	if tcp == link {
		return 0
	}
	return (float64(tcp) - float64(link)) / float64(max(link, 1))
}

func wayOf(r *run.LinkWay, p link.Params, window time.Duration, intervals []run.LinkInterval, flow func(*run.LinkInterval) *run.LinkFlow) *LinkWay {
	if r == nil {
		return nil
	}
	w := &LinkWay{Counters: r.Measured, Total: r.Total, TCP: r.TCP}
	if p.Rate > 0 {
		w.Capacity = new(float64(p.Rate))
	}
	if window <= 0 {
		return w
	}
	c := &r.Measured
	perSecond := func(bytes uint64) *float64 { return new(float64(bytes) * 8 / window.Seconds()) }
	w.Offered, w.Carried = perSecond(c.Offered.Bytes), perSecond(c.Carried.Bytes)
	if c.Offered.Packets > 0 {
		w.Dropped = new(float64(c.QueueDropped.Packets) / float64(c.Offered.Packets))
	}
	if air := c.Carried.Packets + c.Lost.Packets; air > 0 {
		w.Lost = new(float64(c.Lost.Packets) / float64(air))
	}
	if p.Rate == 0 {
		return w
	}
	w.LongestWait = new(int64(c.LongestWait))
	air := c.Carried.Bytes + c.Lost.Bytes + uint64(p.OverheadBytes)*(c.Carried.Packets+c.Lost.Packets)
	w.Utilisation = new(*perSecond(air) / float64(p.Rate))
	for i := range intervals {
		if f := flow(&intervals[i]); w.StandingQueue == nil || int64(f.Wait) < *w.StandingQueue {
			w.StandingQueue = new(int64(f.Wait))
		}
	}
	standing := w.StandingQueue != nil && *w.StandingQueue > int64(p.AirTime(fullPacket))
	w.saturated = *w.Utilisation > saturatedAt || w.Dropped != nil && *w.Dropped > saturatedDrop || standing
	return w
}

// fullPacket is the size of the largest packet, in bytes: a queue that is never shorter in time than one is standing.
const fullPacket = 1500

// checkLink: did the link do what it was told, and was it the limit?
func (t *Trial) checkLink(f *folded) {
	l := t.Link
	if l == nil {
		return
	}
	if test := l.SelfTest; test != nil && !test.Pass {
		t.add(Invalid, "link_untrue", "the link does not do what it is told: %s", strings.Join(test.Why, "; "))
	}
	p := &t.Params.Link
	for _, w := range []struct {
		name string
		way  *LinkWay
		p    link.Params
	}{{"up", l.Up, p.Up}, {"down", l.Down, p.Down}} {
		if w.way == nil {
			continue
		}
		if n := w.way.Total.Overrun.Packets; n > 0 {
			t.add(Invalid, "link_overrun", "the link's emulation was too slow for %s packets (%s)", Count(n), w.name)
		}
		if w.way.saturated {
			t.add(Warning, "link_saturated", "%s", t.saturation(w.name, w.way, w.p))
		}
		if late, most := int64(l.Facts.Late.P99), linkTolerance(w.p); l.Facts.Late.Packets > 0 && most > 0 && late > most && w.name == "up" {
			t.add(Warning, "link_late", "the link's emulation was %s late at p99, more than %s: delays are longer than they should be by that", Duration(late), Duration(most))
		}
	}
	t.checkAgreement(l.Agreement)
	if over := t.besideLink(); over != "" {
		t.add(Invalid, "link_exceeded", "%s", over)
	}
}

// checkAgreement: do link and TCP have the same account of what devices sent?
func (t *Trial) checkAgreement(a *LinkAgreement) {
	if a == nil {
		return
	}
	for _, c := range []struct {
		what      string
		part      float64
		tcp, link string
	}{
		{"segments", a.Packets, Count(a.TCPPackets), Count(a.LinkPackets)},
		{"bytes", a.Ratio, Count(a.TCPBytes), Count(a.LinkBytes)},
		{"segments sent again", a.Again, Count(a.TCPAgain), Count(a.LinkAgain)},
	} {
		level := Warning
		switch off := math.Abs(c.part); {
		case off <= maxDisagree:
			continue
		case off > maxUntrue:
			level = Invalid
		}
		t.add(level, "link_disagrees", "TCP (%s) says that devices sent %s %s, the link that it was offered %s", a.By, c.tcp, c.what, c.link)
		return
	}
}

// linkTolerance is how late the emulation may be: 5 % of the delay, or 10 % of the jitter if that is more; 0 = as late as it likes.
func linkTolerance(p link.Params) int64 {
	return max(int64(maxLinkLate*float64(p.Delay)), int64(maxLinkJitter*float64(p.Jitter)))
}

// saturation is one sentence about a direction that was the limit.
func (t *Trial) saturation(name string, w *LinkWay, p link.Params) string {
	parts := []string{fmt.Sprintf("%s of its capacity used", Ratio(*w.Utilisation))}
	if w.Dropped != nil && *w.Dropped > 0 {
		parts = append(parts, Ratio(*w.Dropped)+" of the packets dropped for want of room")
	}
	if w.StandingQueue != nil && *w.StandingQueue > 0 {
		full := time.Duration(float64(p.Queue()) * 8 / float64(p.Rate) * 1e9)
		parts = append(parts, fmt.Sprintf("never less than %s of waiting in a queue of %s", Duration(*w.StandingQueue), Duration(int64(full))))
	}
	text := fmt.Sprintf("the link was saturated (%s): %s", name, strings.Join(parts, ", "))
	if t.Rates.Offered != nil && t.Rates.Delivered != nil {
		text += fmt.Sprintf("; %s messages/s offered", Number(*t.Rates.Offered))
		if n, ok := (&plan.Trial{Subject: plan.Subject{Protocol: t.Subject.Publish.Protocol, Subscribe: t.Subject.Subscribe.Protocol, Runtime: t.Subject.Runtime, URL: t.Subject.URL}, Params: t.Params}).Need(); ok {
			d := n.Up
			if name == "down" {
				d = n.Down
			}
			text += fmt.Sprintf(" need %s × the link", Number(d.TimesInAll()))
		}
		text += fmt.Sprintf(", %s/s delivered", Number(*t.Rates.Delivered))
	}
	return text
}

// besideLink says that more was delivered than came over the link: then messages went another way. "" = all came over it.
func (t *Trial) besideLink() string {
	if t.Link.Down == nil || t.Counts.Received == nil {
		return ""
	}
	bytes := *t.Counts.Received * uint64(t.Params.PayloadBytes)
	total := &t.Link.Down.Total
	if carried := total.Carried.Bytes + total.Duplicated.Bytes; bytes > carried {
		return fmt.Sprintf("%s of payload were received, though the link carried only %s: they went another way", Bytes(bytes), Bytes(carried))
	}
	return ""
}

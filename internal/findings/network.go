package findings

import (
	"net"
	"net/url"

	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
)

// network adds what is known of the way between clients and broker.
func network(rec *run.Trial, c *diagnose.Course) {
	if w := rec.Wire; w != nil && w.Retransmitted != nil {
		c.Retransmitted = w.Retransmitted
		c.Sources = append(c.Sources, diagnose.Sockets)
	}
	l := rec.Link
	if l == nil {
		c.Local = local(&rec.Trial.Subject)
		return
	}
	p := &rec.Trial.Params.Link
	c.Floor = p.Up.Delay + p.Down.Delay
	c.RoundTrip = c.Floor
	c.Slack = 3 * (p.Up.Jitter + p.Down.Jitter)
	size := rec.Trial.Params.PayloadBytes
	c.Floor += p.Up.AirTime(size) + p.Down.AirTime(size)
	c.Sources = append(c.Sources, diagnose.Link)
	before := int64(0)
	for i := range l.Intervals {
		v := &l.Intervals[i]
		each(c, before, v.T, v)
		before = v.T
	}
}

// each gives an interval of the link to the stretch that its middle lies in.
func each(c *diagnose.Course, from, to int64, v *run.LinkInterval) {
	middle := (from + to) / 2
	for i := range c.Stretches {
		s := &c.Stretches[i]
		if middle < s.From || middle >= s.To {
			continue
		}
		s.Queued = max(s.Queued, v.Up.Wait+v.Down.Wait)
		s.Lost += int(v.Up.Lost + v.Up.Dropped + v.Down.Lost + v.Down.Dropped)
		return
	}
}

// local reports whether a subject is on this host.
func local(s *plan.Subject) bool {
	if s.URL == "" {
		return true
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

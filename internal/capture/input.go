package capture

import (
	"cmp"
	"slices"

	"github.com/mqlab/mqlab/internal/diagnose"
)

// Series is which times of messages a capture holds.
type Series string

// The series.
const (
	Acks    Series = "acks"    // from PUBLISH to PUBACK or PUBREC
	Transit Series = "transit" // from PUBLISH into the broker to PUBLISH out of it
	Pings   Series = "pings"   // from PINGREQ to PINGRESP
)

// messages are the times of one series.
func (c *Capture) messages(series Series) (list []diagnose.Message) {
	for _, k := range c.Connections {
		for _, s := range []*Side{&k.FromClient, &k.FromBroker} {
			of := map[Series][]Publish{Acks: s.Publishes, Transit: s.Transit, Pings: s.Pings}[series]
			for _, p := range of {
				if series == Acks && p.QoS == 0 {
					continue
				}
				list = append(list, diagnose.Message{Sent: p.Sent, Recv: p.Acked, Lost: p.Acked == 0})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b diagnose.Message) int { return cmp.Compare(a.Sent, b.Sent) })
	return list
}

// enough messages of a series to prefer it.
const enough = 50

// Input turns a capture into what a diagnosis is made from: the first series that has enough messages, or the largest.
func (c *Capture) Input() (*diagnose.Input, Series) {
	var messages []diagnose.Message
	var chosen Series
	for _, s := range []Series{Acks, Transit, Pings} {
		if m := c.messages(s); len(messages) < enough && len(m) > len(messages) {
			messages, chosen = m, s
		}
	}
	in := &diagnose.Input{Messages: messages, Sources: []diagnose.Source{diagnose.Times, diagnose.Capture}}
	for _, k := range c.Connections {
		in.KeepAlive = cmp.Or(in.KeepAlive, k.KeepAlive)
	}
	in.Signals = c.signals()
	return in, chosen
}

// signals are what kept messages waiting, by side.
func (c *Capture) signals() (list []diagnose.Signal) {
	at := func(cause diagnose.Cause, side string) *diagnose.Signal {
		i := slices.IndexFunc(list, func(s diagnose.Signal) bool { return s.Cause == cause && s.Side == side })
		if i < 0 {
			i = len(list)
			list = append(list, diagnose.Signal{Cause: cause, Side: side})
		}
		return &list[i]
	}
	add := func(cause diagnose.Cause, side string, spans []Span) {
		if len(spans) == 0 {
			return
		}
		s := at(cause, side)
		for _, x := range spans {
			s.Spans = append(s.Spans, diagnose.Span(x))
		}
	}
	for _, k := range c.Connections {
		for side, s := range map[string]*Side{"client": &k.FromClient, "broker": &k.FromBroker} {
			add(diagnose.PacketLoss, "network", s.Retransmissions)
			add(diagnose.DelayedAck, side, s.Nagle)
			if len(s.Nagle) > 0 {
				at(diagnose.DelayedAck, side).Certain = true
			}
			add(diagnose.NotReading, side, s.ZeroWindow)
		}
		if silence := k.silence(); len(silence) > 0 { // nothing came through meanwhile
			add(diagnose.DeadPeer, "network", silence)
			at(diagnose.DeadPeer, "network").Certain = true
		}
	}
	slices.SortFunc(list, func(a, b diagnose.Signal) int {
		return cmp.Or(cmp.Compare(a.Cause, b.Cause), cmp.Compare(a.Side, b.Side))
	})
	return list
}

// longSilence is how long a side must go on sending the same data in vain before its peer is called dead: several retransmissions with
// the timer doubled each time.
const longSilence = 5_000_000_000

// silence are the times in which one side sent data again and again, and heard nothing.
func (k *Connection) silence() (list []Span) {
	for _, s := range []*Side{&k.FromClient, &k.FromBroker} {
		for _, r := range s.Retransmissions {
			if r.To-r.From >= longSilence {
				list = append(list, r)
			}
		}
	}
	return list
}

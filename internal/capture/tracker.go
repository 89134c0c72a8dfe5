package capture

import "time"

// tracker follows the data of one direction until it is acknowledged.
type tracker struct {
	known bool
	next  uint32 // behind the highest byte sent
	open  []outstanding
	held  *outstanding // data whose delayed acknowledgement has just come: what is sent next was held back
	heard int64        // when that was
}

// outstanding is a segment that is not acknowledged yet.
type outstanding struct {
	end   uint32
	first int64 // when it was sent first
	again bool  // it was sent again
}

const (
	maxOutstanding = 4096
	nagleRelease   = int64(time.Millisecond)     // how soon held data leave after the acknowledgement
	leastHold      = 5 * int64(time.Millisecond) // an acknowledgement sooner than this was not delayed
)

// delayed are the times by which stacks delay acknowledgements: Linux 40 ms, others 200 ms.
var delayed = [][2]time.Duration{{35 * time.Millisecond, 47 * time.Millisecond}, {190 * time.Millisecond, 215 * time.Millisecond}}

// after tells whether sequence number a is behind b (RFC 9293, 3.4: modulo 2^32).
func after(a, b uint32) bool { return int32(a-b) > 0 }

// sent books data of this side. since is the packet that they waited behind, if Nagle's algorithm held them back; otherwise their own
// time.
func (s *Side) sent(p *packet) (since int64) {
	t := &s.track
	end := p.seq + uint32(p.length)
	s.Segments++
	if !t.known {
		t.known, t.next = true, p.seq
	}
	if !after(end, t.next) {
		if p.length > 1 || end != t.next { // one byte again is a keep-alive probe
			s.resent(p)
		}
		return p.at
	}
	s.Bytes += p.length
	t.next = end
	since = p.at
	if t.held != nil && p.at-t.heard < nagleRelease {
		since = t.held.first
		s.Nagle = append(s.Nagle, Span{since, p.at})
	}
	t.held = nil
	if len(t.open) < maxOutstanding {
		t.open = append(t.open, outstanding{end: end, first: p.at})
	}
	return since
}

// resent books a segment that had been sent before.
func (s *Side) resent(p *packet) {
	s.Retransmitted++
	for i := range s.track.open {
		if o := &s.track.open[i]; after(o.end, p.seq) {
			o.again = true
			return
		}
	}
}

// acknowledged books an acknowledgement of this side's data.
func (s *Side) acknowledged(p *packet) {
	t := &s.track
	n := 0
	for n < len(t.open) && !after(t.open[n].end, p.ack) {
		o := t.open[n]
		n++
		if o.again {
			s.Retransmissions = append(s.Retransmissions, Span{o.first, p.at})
			continue
		}
		wait := p.at - o.first
		if p.length > 0 || p.fin || p.rst || wait < leastHold {
			continue
		}
		for _, d := range delayed {
			if time.Duration(wait) >= d[0] && time.Duration(wait) <= d[1] {
				s.DelayedAcks++
			}
		}
		t.held, t.heard = &o, p.at
	}
	t.open = t.open[n:]
}

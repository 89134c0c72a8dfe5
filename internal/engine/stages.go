package engine

import "time"

// Stages are how far messages due in the measure window have come on their way to the broker's TCP: what was accepted (Counts.Sent)
// may still wait in this program; what was written waits in the kernel, or is on its way; what is TCP-acked is in the broker's host.
// A message that is sent again counts once.
type Stages struct {
	Written  uint64 `json:"written"`
	TCPAcked uint64 `json:"tcp_acked"`
}

// Add adds those of another Core.
func (s *Stages) Add(o Stages) {
	s.Written += o.Written
	s.TCPAcked += o.TCPAcked
}

// unacker is a Wire that knows how many bytes of a connection are written, and not acknowledged by the TCP of the peer.
type unacker interface {
	Unacked(id int) (bytes int, known bool)
}

// How far a message has come.
const (
	inProgram uint8 = iota
	inKernel
	atPeer
)

// mark is where a message ends in the bytes of its connection.
type mark struct {
	end   uint64
	seq   uint64
	token int32 // of its flight; below 0 = none
	stage uint8
}

// flow follows a publisher's messages through its connection.
type flow struct {
	handed uint64 // bytes of this connection, so far as Core.send was given them
	marks  []mark // of messages that are not at the peer, in order
}

// sampleEvery is how often connections are asked how much is acknowledged; they are also asked when they end.
const sampleEvery = int64(time.Second)

// mark notes a message that ends n bytes behind what was handed over.
func (c *Core) mark(cl *client, n int, m mark) {
	if f := cl.pub.flow; f != nil {
		m.end = f.handed + uint64(n)
		f.marks = append(f.marks, m)
	}
}

// followAll asks all connections when it is time, and notes what is known at the end of the measure window.
func (c *Core) followAll(now int64) {
	if !c.Follow || now < c.followed+sampleEvery && (c.atEnd != nil || now < c.end) {
		return
	}
	c.followed = now
	for cl := range c.all() {
		c.follow(cl)
	}
	if c.atEnd == nil && now >= c.end {
		c.atEnd = new(c.stages)
	}
}

// follow asks a connection how much of what it was given is written and acknowledged.
func (c *Core) follow(cl *client) {
	if cl.pub == nil || cl.pub.flow == nil || cl.state == down || len(cl.pub.flow.marks) == 0 {
		return
	}
	w, can := c.wire.(unacker)
	if !can {
		return
	}
	f := cl.pub.flow
	written := f.handed
	if cl.pend != nil {
		written -= uint64(len(*cl.pend))
	}
	unacked, known := w.Unacked(int(cl.id))
	acked := uint64(0)
	if known && uint64(unacked) < written {
		acked = written - uint64(unacked)
	}
	gone := 0
	for i := range f.marks {
		m := &f.marks[i]
		if m.end > written {
			break
		}
		c.reached(cl.pub, m, inKernel)
		if m.end <= acked {
			c.reached(cl.pub, m, atPeer)
			gone = i + 1
		}
	}
	f.marks = append(f.marks[:0], f.marks[gone:]...)
}

// reached counts a message at its next stage.
func (c *Core) reached(p *publisher, m *mark, stage uint8) {
	if m.stage >= stage {
		return
	}
	m.stage = stage
	if stage == inKernel {
		c.stages.Written++
	} else {
		c.stages.TCPAcked++
	}
	if m.token >= 0 && int(m.token) < len(p.flights) {
		if fl := &p.flights[m.token]; fl.busy && fl.seq == m.seq {
			fl.stage = stage
		}
	}
}

// cutFlow forgets the connection; messages that are sent again keep what they have reached.
func (p *publisher) cutFlow() {
	if p.flow != nil {
		p.flow.handed, p.flow.marks = 0, p.flow.marks[:0]
	}
}

// StagesNow returns how far messages have come; after CloseBooks, in all. The second are those at the end of the measure window, nil if
// that has not come. Nothing is known without Settings.Follow.
func (c *Core) StagesNow() (now Stages, atEnd *Stages) { return c.stages, c.atEnd }

package trial

import (
	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/worker"
)

// parting is what the link knew of devices at a moment when their connections were about to be closed.
type parting struct {
	offered link.Count    // by devices
	total   link.Segments // sent by devices
	open    link.Segments // of these, by connections that are open
	conns   int           // that are open
}

// stackAccount is a network that counts by itself what its TCP has sent.
type stackAccount interface {
	Sent() (up, down link.Count)
	Retransmitted() (up, down uint64)
}

// leaving reads what devices have sent, right before and right after their sockets are asked for it.
func (j *job) leaving() {
	n := &j.network
	if n.Network == nil || n.sight == nil {
		return
	}
	up, _ := n.Counters() // by then, what was offered before has been seen
	p := parting{offered: up.Offered}
	n.sight.mu.Lock()
	p.total = n.sight.flows.Total(link.Up)
	p.open, p.conns = n.sight.flows.Open()
	n.sight.mu.Unlock()
	n.partings = append(n.partings, p)
	if s, own := n.Network.(stackAccount); own && len(n.partings) == 1 {
		sent, _ := s.Sent()
		again, _ := s.Retransmitted()
		n.stack = &run.LinkAgreement{By: "stack", TCPBytes: sent.Bytes, TCPPackets: sent.Packets, TCPAgain: again}
	}
}

// agree compares the link's account of what devices have sent with that of their TCP: of the stack that they share, or of the sockets
// that are open, if the link knows of just as many.
func (j *job) agree(r *worker.Result) {
	n := &j.network
	if len(n.partings) != 2 || n.partings[0].offered.Packets == 0 {
		return
	}
	before, later := &n.partings[0], &n.partings[1]
	if a := n.stack; a != nil {
		a.LinkBytes = nearest(a.TCPBytes, before.offered.Bytes, later.offered.Bytes)
		a.LinkPackets = nearest(a.TCPPackets, before.offered.Packets, later.offered.Packets)
		a.LinkAgain = nearest(a.TCPAgain, before.total.Again, later.total.Again)
		j.record.Link.Agreement = a
		return
	}
	if r.TCP == nil || before.conns != later.conns {
		return
	}
	tcp := r.TCP.Publishers
	tcp.Add(r.TCP.Subscribers)
	if uint64(before.conns) != tcp.Sockets {
		return
	}
	j.record.Link.Agreement = &run.LinkAgreement{
		By: "TCP_INFO", Connections: before.conns,
		TCPBytes: tcp.BytesSent, LinkBytes: nearest(tcp.BytesSent, before.open.Bytes, later.open.Bytes),
		TCPPackets: tcp.SegmentsOut, LinkPackets: nearest(tcp.SegmentsOut, before.open.Segments, later.open.Segments),
		TCPAgain: tcp.Retransmits, LinkAgain: nearest(tcp.Retransmits, before.open.Again, later.open.Again),
	}
}

// nearest is what is nearest to a figure of what a counter said that went from one value to another.
func nearest(to, from, until uint64) uint64 { return min(max(to, from), until) }

package capture

import (
	"net/netip"
	"time"
)

// Span is a stretch of time in ns since 1970.
type Span struct{ From, To int64 }

// Publish is one message and its acknowledgement, as the capturing host saw them. Times are ns since 1970. When a message was written
// that Nagle's algorithm held back is not seen: it counts from the packet that it waited behind, so that its time is an upper bound.
type Publish struct {
	Sent, Acked int64 // Acked 0 = none was seen
	QoS         uint8
}

// Connection is one TCP connection. Sides are named by their roles: the client connects.
type Connection struct {
	Client, Broker netip.AddrPort
	First, Last    int64  // packet
	Middle         bool   // the capture began when it stood already
	MQTT           bool   // messages of MQTT were recognised
	TLS            bool   // it is encrypted: only TCP is seen
	ClientID       string // of CONNECT
	KeepAlive      time.Duration
	RTT            time.Duration // of the handshake; 0 = not seen
	FromClient     Side
	FromBroker     Side
	Closed         string // who ended it and how, "" = nobody in this capture
	ClosedAt       int64
	over           bool
	capture        *Capture
	synAt          int64
}

// Side is what one side sent.
type Side struct {
	Segments, Bytes int // with data
	Retransmitted   int // segments
	Retransmissions []Span
	DelayedAcks     int    // of its data, that came alone after 35 to 47 or 190 to 215 ms
	Nagle           []Span // data held back for such an acknowledgement
	ZeroWindow      []Span // it did not read: its receive window was closed
	Publishes       []Publish
	Transit         []Publish // to a subscriber: Sent = when the broker got it, Acked = when it sent it on
	Coalesced       int       // segments with more than one message
	Pings           []Publish // PINGREQ and its answer
	Malformed       int       // places at which it was no MQTT
	stream          stream
	track           tracker
	pending         map[uint16]int // packet id → index in Publishes
}

func newConnection(c *Capture, p *packet) *Connection {
	k := &Connection{Client: p.from, Broker: p.to, First: p.at, Middle: !p.syn, capture: c}
	if p.syn && p.acks || !p.syn && isBroker(p.from.Port()) && !isBroker(p.to.Port()) {
		k.Client, k.Broker = p.to, p.from
	}
	for _, s := range []*Side{&k.FromClient, &k.FromBroker} {
		s.pending = map[uint16]int{}
	}
	return k
}

// isBroker: ports registered for MQTT, plain and with TLS, or those usual for it.
func isBroker(port uint16) bool { return port == 1883 || port == 8883 || port == 1884 || port == 8884 }

// sides are who sent the packet, and the other.
func (k *Connection) sides(p *packet) (sender, receiver *Side, fromClient bool) {
	if p.from == k.Client {
		return &k.FromClient, &k.FromBroker, true
	}
	return &k.FromBroker, &k.FromClient, false
}

// segment books one TCP segment.
func (k *Connection) segment(p *packet) {
	k.Last = max(k.Last, p.at)
	sender, receiver, fromClient := k.sides(p)
	switch {
	case p.syn && !p.acks:
		k.synAt = p.at
	case p.syn && k.synAt > 0 && k.RTT == 0:
		k.RTT = time.Duration(p.at - k.synAt)
	}
	sender.window(p)
	if p.acks {
		receiver.acknowledged(p)
	}
	if p.length > 0 {
		since := sender.sent(p)
		sender.stream.add(p, since, func(w *piece) { k.feed(sender, fromClient, w) })
	}
	if (p.fin || p.rst) && k.Closed == "" {
		who, how := "broker", "FIN"
		if fromClient {
			who = "client"
		}
		if p.rst {
			how = "RST"
		}
		k.Closed, k.ClosedAt = who+" "+how, p.at
	}
	k.over = k.over || p.fin || p.rst
}

// window notes when the sender of a packet cannot take anything.
func (s *Side) window(p *packet) {
	n := len(s.ZeroWindow)
	closed := n > 0 && s.ZeroWindow[n-1].To == 0
	switch {
	case p.window == 0 && !closed && !p.rst && !p.syn:
		s.ZeroWindow = append(s.ZeroWindow, Span{From: p.at})
	case p.window > 0 && closed:
		s.ZeroWindow[n-1].To = p.at
	}
}

// finish ends what is still open.
func (k *Connection) finish() {
	for _, s := range []*Side{&k.FromClient, &k.FromBroker} {
		if n := len(s.ZeroWindow); n > 0 && s.ZeroWindow[n-1].To == 0 {
			s.ZeroWindow[n-1].To = k.Last
		}
		for _, o := range s.track.open {
			if o.again {
				s.Retransmissions = append(s.Retransmissions, Span{o.first, k.Last})
			}
		}
	}
}

package link

// Segments are what the TCP at one end of a link has sent, counted as TCP_INFO counts it.
type Segments struct {
	Segments   uint64 `json:"segments"`       // all of them
	Bytes      uint64 `json:"stream_bytes"`   // of the streams, what was sent again included, without headers
	Acks       uint64 `json:"pure_acks"`      // segments that do nothing but acknowledge
	Again      uint64 `json:"again_segments"` // that had been sent before, in full or in part
	AgainBytes uint64 `json:"again_bytes"`    // of the streams
}

// Add adds those of others.
func (s *Segments) Add(o Segments) {
	s.Segments += o.Segments
	s.Bytes += o.Bytes
	s.Acks += o.Acks
	s.Again += o.Again
	s.AgainBytes += o.AgainBytes
}

func (s *Segments) count(p *segment, again bool) {
	s.Segments++
	s.Bytes += uint64(p.payload)
	if p.length() == 0 && !p.has(tcpRST) {
		s.Acks++
	}
	if again {
		s.Again++
		s.AgainBytes += uint64(p.payload)
	}
}

// SmallBytes bounds the payloads that Flows keeps apart by their size: keep-alives and heartbeats, with what TLS adds.
const SmallBytes = 64

// Small are segments with one size of payload, sent for the first time in the window, and how the other end acknowledged them. A
// segment whose acknowledgement has not been seen, or that was acknowledged together with a later one, is in neither.
type Small struct {
	Sent     uint64 `json:"sent"`
	Bytes    uint64 `json:"bytes"`      // of their packets
	Acks     uint64 `json:"acks"`       // that came alone
	AckBytes uint64 `json:"ack_bytes"`  // of their packets
	Carried  uint64 `json:"piggybacks"` // acknowledgements that came with data
}

// Flows follows the TCP connections on a link by the heads of the packets that are offered to it, so that it sees what was lost, too.
// It is told of both directions in the order in which packets are sent. The zero value is ready; it is not safe for concurrent use.
type Flows struct {
	From, Until int64 // the window, [From, Until)
	conns       map[uint64]*conn
	total, seen [2]Segments // by Direction: ever, and in the window
	small       [2][SmallBytes + 1]Small
}

// conn is a connection: what each of its ends has sent.
type conn [2]half

// half is one direction of a connection.
type half struct {
	Segments
	wire    Count  // its packets
	next    uint32 // sequence number after the last one sent
	begun   bool   // next is known
	fin     bool
	spoke   bool   // it has sent a segment without SYN: for a device, that is a connection made
	waiting uint32 // sequence number after the small segment that waits for its acknowledgement
	size    int    // of that segment; 0 = there is none
}

// Packet tells of a packet that is offered, of which the head is known.
func (f *Flows) Packet(way Direction, at int64, size int, head []byte) {
	p, ok := segmentOf(head, size)
	if !ok {
		return
	}
	in := at >= f.From && at < f.Until
	key := DeviceOf(head, way)
	c := f.conns[key]
	if p.has(tcpSYN) && !p.has(tcpACK) && (c == nil || c[way].next != p.seq+1) { // else it is sent again
		if f.conns == nil {
			f.conns = map[uint64]*conn{}
		}
		c = &conn{}
		f.conns[key] = c
	}
	again := false
	if c != nil {
		again = c[way].send(&p)
		c[way].wire.add(size)
		f.acknowledge(way, c, &p, size)
		if in && !again && p.payload > 0 && p.payload <= SmallBytes {
			f.await(way, &c[way], &p, size)
		}
	}
	f.total[way].count(&p, again)
	if in {
		f.seen[way].count(&p, again)
	}
	if c != nil && (p.has(tcpRST) || c[Up].fin && c[Down].fin && p.length() == 0) {
		delete(f.conns, key)
	}
}

// send notes a segment and reports whether it, or a part of it, had been sent before.
func (h *half) send(p *segment) (again bool) {
	end := p.seq + p.length()
	again = h.begun && p.length() > 0 && after(h.next, p.seq)
	if p.length() > 0 && (!h.begun || after(end, h.next)) {
		h.next, h.begun = end, true
	}
	h.fin = h.fin || p.has(tcpFIN)
	h.spoke = h.spoke || !p.has(tcpSYN)
	h.count(p, again)
	return again
}

// await notes a small segment, whose acknowledgement is looked for.
func (f *Flows) await(way Direction, h *half, p *segment, size int) {
	s := &f.small[way][p.payload]
	s.Sent++
	s.Bytes += uint64(size)
	h.waiting, h.size = p.seq+uint32(p.payload), p.payload
}

// acknowledge notes what a segment says of the small one that waits at the other end.
func (f *Flows) acknowledge(way Direction, c *conn, p *segment, size int) {
	other := &c[1-way]
	if other.size == 0 || !p.has(tcpACK) || after(other.waiting, p.ack) {
		return
	}
	s := &f.small[1-way][other.size]
	if p.length() > 0 {
		s.Carried++
	} else {
		s.Acks++
		s.AckBytes += uint64(size)
	}
	other.size = 0
}

// Total is what one end has sent so far.
func (f *Flows) Total(way Direction) Segments { return f.total[way] }

// Measured is what one end has sent in the window.
func (f *Flows) Measured(way Direction) Segments { return f.seen[way] }

// Small are the segments of one end, in the window, with payloads of so many bytes, from 1 to SmallBytes.
func (f *Flows) Small(way Direction, payload int) Small { return f.small[way][payload] }

// Open is what devices have sent over the connections that are open, and how many these are: made, and ended by neither a reset nor
// their own side.
func (f *Flows) Open() (sent Segments, connections int) {
	for _, c := range f.conns {
		if up := &c[Up]; up.spoke && !up.fin {
			sent.Add(up.Segments)
			connections++
		}
	}
	return sent, connections
}

// Each tells of every connection that is open: its device, as DeviceOf has it, and the packets of both directions.
func (f *Flows) Each(tell func(device uint64, up, down Count)) {
	for device, c := range f.conns {
		if c[Up].spoke && !c[Up].fin {
			tell(device, c[Up].wire, c[Down].wire)
		}
	}
}

package amqp091

import "bytes"

// Door lets a session share a connection: to the session, which speaks to it instead of a broker, it is a connection of its own with
// one channel; to the broker it is one of the channels of a connection that a Client has opened. What concerns the connection is
// answered here.
type Door struct {
	channel  uint16
	frameMax uint32
	beat     uint16
	part     []byte // of a frame, or of the protocol header
	greeted  bool
	open     bool // the channel, at the broker
}

// Door makes the door to a channel, from 2 on: the first is the Client's own. The Client must be ready.
func (c *Client) Door(channel uint16) *Door {
	return &Door{channel: channel, frameMax: c.frameMax, beat: c.heartbeat.every}
}

// Sent takes what the session wrote. It appends to up what goes to the broker, and to back what is answered at once.
func (d *Door) Sent(b, up, back []byte) (u, k []byte, err error) {
	in := b
	if len(d.part) > 0 {
		in = append(d.part, b...)
	}
	if !d.greeted {
		if len(in) < len(protocolHeader) {
			d.part = bytes.Clone(in)
			return up, back, nil
		}
		if !bytes.HasPrefix(in, []byte(protocolHeader)) {
			return up, back, errFrame(&frame{kind: in[0]})
		}
		d.greeted, in = true, in[len(protocolHeader):]
		back = d.start(back)
	}
	for {
		var f frame
		n, err := cutFrame(in, d.frameMax, &f)
		if err != nil {
			return up, back, err
		}
		if n == 0 {
			d.part = bytes.Clone(in)
			return up, back, nil
		}
		up, back = d.sent(&f, in[:n], up, back)
		in = in[n:]
	}
}

// sent handles one frame of the session.
func (d *Door) sent(f *frame, raw, up, back []byte) (u, k []byte) {
	m, _, _ := f.method() // what is no method is none of those below
	switch {
	case f.kind == frameHeartbeat:
		return up, back
	case f.channel != 0:
		if f.kind == frameMethod && m == channelOpen {
			d.open = true
		}
		if f.kind == frameMethod && m == channelCloseOK {
			d.open = false
		}
		return d.renumber(up, raw, d.channel), back
	case m == connectionStartOK:
		back, start := beginMethod(back, 0, connectionTune)
		max := d.frameMax
		back = append(back, 0, 1, byte(max>>24), byte(max>>16), byte(max>>8), byte(max), byte(d.beat>>8), byte(d.beat))
		return up, endFrame(back, start)
	case m == connectionOpen:
		back, start := beginMethod(back, 0, connectionOpenOK)
		return up, endFrame(append(back, 0), start)
	case m == connectionClose:
		return d.Leave(up), appendBare(back, 0, connectionCloseOK)
	}
	return up, back
}

// start appends the greeting of a broker that takes whatever login: the broker has seen the Client's.
func (d *Door) start(out []byte) []byte {
	out, start := beginMethod(out, 0, connectionStart)
	out = append(out, 0, 9)
	out = appendTable(out, Table{{"product", "mqlab"}})
	out = appendLong(out, "PLAIN EXTERNAL ANONYMOUS")
	out = appendLong(out, "en_US")
	return endFrame(out, start)
}

// Leave appends the end of the channel, if it is open. It is free again once Open is false.
func (d *Door) Leave(up []byte) []byte {
	if !d.open {
		return up
	}
	return appendClose(up, d.channel, replySuccess, "goodbye", 0)
}

// Open tells that the broker knows the channel.
func (d *Door) Open() bool { return d.open }

// Came takes a frame that the broker sent on the channel, and appends it as the session is to see it.
func (d *Door) Came(raw, back []byte) []byte {
	f := frame{kind: raw[0], payload: raw[frameHead : len(raw)-1]}
	if m, _, err := f.method(); err == nil && f.kind == frameMethod && m == channelCloseOK { // of Leave
		d.open = false
		return back
	}
	return d.renumber(back, raw, clientChannel)
}

func (d *Door) renumber(out, raw []byte, channel uint16) []byte {
	at := len(out)
	out = append(out, raw...)
	out[at+1], out[at+2] = byte(channel>>8), byte(channel)
	return out
}

// SplitFrame finds the frame at the start of what a broker sent: its size, 0 where it is not complete, and its channel.
func (c *Client) SplitFrame(in []byte) (n int, channel uint16, err error) {
	var f frame
	n, err = cutFrame(in, c.frameMax, &f)
	return n, f.channel, err
}

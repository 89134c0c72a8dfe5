package amqp10

import (
	"fmt"
	"math"
	"time"
)

// endpoint is what both sides of a connection have in common: its only session, the links of that, and what they carry.
type endpoint struct {
	links    []*link    // by our handle; nil = free
	sent     *unsettled // nil until the first message of QoS 1
	held     *held      // what flow control does not let through yet; nil = nothing
	received acks
	idle     idle

	sendMax    uint32 // largest frame that the peer takes
	receiveMax uint32 // largest frame that we take

	// The session windows (§2.5.6), counted in transfer frames.
	nextOut   uint32 // number of our next frame
	outWindow uint32 // frames that the peer takes now
	nextIn    uint32 // number of the peer's next frame
	inWindow  uint32 // frames that the peer may send now
	inMax     uint32 // what inWindow is renewed to

	nextDelivery uint32 // delivery-id of our next message
	handleMax    uint32 // highest handle that the peer takes
}

// renew forgets an earlier connection; memory in use is kept.
func (e *endpoint) renew(frameMax, window uint32) {
	sent := e.sent
	*e = endpoint{sent: sent, sendMax: minFrame, receiveMax: frameMax, inWindow: window, inMax: window}
	if sent != nil {
		sent.reset(0)
	}
	e.idle.start(0, 0, 0)
}

// InFlight is how many messages of QoS 1 are not settled.
func (e *endpoint) InFlight() int {
	if e.sent == nil {
		return 0
	}
	return e.sent.open
}

// outgoingWindow is what we announce; the lab has no limit of its own.
const outgoingWindow = math.MaxUint16

// appendOpen appends an open (§2.7.1).
func (e *endpoint) appendOpen(out []byte, container, host string, idleTimeout time.Duration) []byte {
	out, start := beginFrame(out, doOpen)
	out = appendText(out, codeString8, container)
	out = appendName(out, codeString8, host)
	out = appendUint(out, e.receiveMax)
	out = append(out, codeUShort, 0, 0) // channel-max
	count := 4
	if idleTimeout > 0 {
		out = appendUint(out, uint32(idleTimeout.Milliseconds()))
		count = 5
	}
	return endFrame(out, start, count)
}

// open takes the peer's open.
func (e *endpoint) open(now int64, f *frame, ours time.Duration) error {
	r := &f.fields
	r.skip(2) // container-id, hostname
	size := r.u32(math.MaxUint32)
	r.skip(1) // channel-max
	idle := r.u32(0)
	switch {
	case r.bad:
		return errMalformed(doOpen)
	case size < minFrame:
		return fmt.Errorf("amqp10: the peer takes frames of up to %d bytes only, less than the least of %d", size, minFrame)
	}
	e.sendMax = min(size, e.receiveMax)
	e.idle.start(now, uint32(ours.Milliseconds()), idle)
	return nil
}

// appendBegin appends a begin (§2.7.2); answer tells that it answers the peer's.
func (e *endpoint) appendBegin(out []byte, answer bool) []byte {
	out, start := beginFrame(out, doBegin)
	if answer {
		out = append(out, codeUShort, 0, 0)
	} else {
		out = append(out, codeNull)
	}
	out = appendUint(out, e.nextOut)
	out = appendUint(out, e.inWindow)
	out = appendUint(out, outgoingWindow)
	return endFrame(out, start, 4)
}

// begin takes the peer's begin.
func (e *endpoint) begin(f *frame) error {
	r := &f.fields
	r.skip(1) // remote-channel
	e.nextIn, e.outWindow = r.u32(0), r.u32(0)
	r.skip(1) // outgoing-window
	e.handleMax = r.u32(math.MaxUint32)
	if r.bad {
		return errMalformed(doBegin)
	}
	return nil
}

// appendFlow tells the session windows, and the credit of a link unless l is nil (§2.7.4).
func (e *endpoint) appendFlow(out []byte, l *link) []byte {
	out, start, count := e.beginFlow(out, l)
	return endFrame(out, start, count)
}

// appendDrained tells that a sender has no credit left, as it was asked to.
func (e *endpoint) appendDrained(out []byte, l *link) []byte {
	out, start, count := e.beginFlow(out, l)
	return endFrame(append(out, codeUint0, codeTrue), start, count+2) // available, drain
}

func (e *endpoint) beginFlow(out []byte, l *link) (o []byte, start, count int) {
	out, start = beginFrame(out, doFlow)
	e.inWindow = e.inMax
	out = appendUint(out, e.nextIn)
	out = appendUint(out, e.inWindow)
	out = appendUint(out, e.nextOut)
	out = appendUint(out, outgoingWindow)
	if l == nil {
		return out, start, 4
	}
	out = appendUint(out, l.handle)
	out = appendUint(out, l.count)
	out = appendUint(out, uint32(max(0, l.credit)))
	return out, start, 7
}

// flow takes the peer's flow and sends what it lets through. Asked to use up its credit or give it back (drain), a
// sender gives it back: what waits belongs to the caller.
func (e *endpoint) flow(f *frame, out []byte) ([]byte, error) {
	r := &f.fields
	unseen := e.nextOut - r.u32(0) // frames that the peer had not received
	window := r.u32(0)
	e.outWindow = window - min(window, unseen)
	r.skip(2) // next-outgoing-id, outgoing-window
	handle := r.next()
	number, named := handle.number()
	count := r.next()
	delivered, counted := count.number()
	credit := r.next()
	granted, grants := credit.number()
	r.skip(1) // available
	drain, echo := r.flag(), r.flag()
	if r.bad || number > math.MaxUint32 || (!named && !handle.null()) {
		return out, errMalformed(doFlow)
	}
	if !named {
		if echo {
			out = e.appendFlow(out, nil)
		}
		return e.release(out), nil
	}
	l := e.byPeer(uint32(number))
	if l == nil {
		return out, fmt.Errorf("amqp10: flow for link handle %d, which is not attached", number)
	}
	if l.sends && grants {
		if !counted { // the peer has not seen our attach
			delivered = 0
		}
		l.credit = int32(uint32(delivered) + uint32(min(granted, math.MaxInt32)) - l.count)
		out = e.release(out)
		if drain {
			l.count += uint32(max(0, l.credit))
			l.credit = min(0, l.credit)
			return e.appendDrained(out, l), nil
		}
	}
	if echo {
		out = e.appendFlow(out, l)
	}
	return out, nil
}

// Need returns how many bytes the unit at the start of in occupies; 0 = not known yet, or about to be refused by Feed.
func (e *endpoint) need(in []byte) int {
	n, err := frameSize(in, max(e.receiveMax, minFrame))
	if err != nil {
		return 0
	}
	return n
}

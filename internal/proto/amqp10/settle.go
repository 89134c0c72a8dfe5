package amqp10

import (
	"fmt"
	"math"

	"github.com/mqlab/mqlab/internal/proto"
)

// acks are deliveries of the peer that we accept, collected to settle several at once.
type acks struct {
	first, last uint32
	count       uint32
}

// accept settles a delivery, at once or together with others whose ids follow one another.
func (e *endpoint) accept(id uint32, every int, out []byte) []byte {
	a := &e.received
	if a.count > 0 && id != a.last+1 {
		out = e.flush(out)
	}
	if a.count == 0 {
		a.first = id
	}
	a.last = id
	a.count++
	if int(a.count) >= every {
		return e.flush(out)
	}
	return out
}

// flush settles all that were accepted.
func (e *endpoint) flush(out []byte) []byte {
	if e.received.count == 0 {
		return out
	}
	e.received.count = 0
	return appendDisposition(out, true, e.received.first, e.received.last)
}

// appendDisposition settles deliveries as accepted, in the role of their receiver or of their sender (§2.7.6).
func appendDisposition(out []byte, receiver bool, first, last uint32) []byte {
	start := len(out)
	out = append(out, 0, 0, 0, 0, 2, frameAMQP, 0, 0, codeDescribed, codeULSmall, byte(doDisposition), codeList8, 0, 5)
	out = appendUint(appendUint(appendBool(out, receiver), first), last)
	out = append(out, codeTrue, codeDescribed, codeULSmall, typeAccepted, codeList0)
	out[start+frameHead+4] = byte(len(out) - start - frameHead - 5)
	out[start+3] = byte(len(out) - start)
	return out
}

// settled handles a disposition. done = false tells that it settles more than what ev reports: it must be presented again.
func (e *endpoint) settled(f *frame, out []byte, ev *proto.Event) (done bool, o []byte, err error) {
	r := &f.fields
	receiver, first := r.flag(), r.u32(0)
	last := r.u32(first)
	settled, state := r.flag(), r.next()
	if r.bad {
		return false, out, errMalformed(doDisposition)
	}
	final, refusal := outcome(&state)
	switch {
	case int32(last-first) < 0:
		return false, out, fmt.Errorf("amqp10: disposition for deliveries %d to %d", first, last)
	case !receiver || (!settled && !final): // about what we received; or a state on the way
		return true, out, nil
	case int32(last-e.nextDelivery) >= 0:
		return false, out, fmt.Errorf("amqp10: disposition for delivery %d, the next one is %d", last, e.nextDelivery)
	case e.sent == nil:
		return true, out, nil
	}
	token, ok := e.sent.settleRange(first, last)
	if ok {
		ev.Kind, ev.Token, ev.QoS, ev.Err = proto.Acked, token, 1, refusal
	}
	if ok && first != last {
		return false, out, nil
	}
	if !settled { // the receiver wants to hear that we know
		out = appendDisposition(out, false, first, last)
	}
	return true, out, nil
}

// credited renews the credit of a receiver once half of it is used, and the session window likewise. What is to be
// settled is settled first, so that the peer has no more than the credit under way.
func (e *endpoint) credited(l *link, credit int, out []byte) []byte {
	switch {
	case int(l.credit) <= credit/2:
		out = e.flush(out)
		l.credit = int32(min(credit, math.MaxInt32))
		return e.appendFlow(out, l)
	case e.inWindow <= e.inMax/2:
		return e.appendFlow(out, nil)
	}
	return out
}

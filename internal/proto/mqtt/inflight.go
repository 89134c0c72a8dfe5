package mqtt

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mqlab/mqlab/internal/proto"
)

// What a packet identifier of ours is in use for.
const (
	slotFree        = iota
	slotQoS1        // PUBLISH sent, PUBACK wanted
	slotQoS2        // PUBLISH sent, PUBREC wanted
	slotReleased    // PUBREL sent, PUBCOMP wanted
	slotSubscribing // SUBSCRIBE sent, SUBACK wanted
	slotRetired     // settled after a resumption, see inflight.release
)

// slot is one packet identifier.
type slot struct {
	token uint64
	order uint32 // position among all sent; wraps
	next  uint16 // of a free slot: the packet identifier that is free next
	state uint8
	kept  bool // in use since before the connection was resumed
}

// inflight is the table of our packet identifiers in use. It grows to the number used at once, and then stays.
type inflight struct {
	slots       []slot // slots[i] is packet identifier i+1
	first, last uint16 // free list, oldest first, so that an identifier rests as long as it can
	order       uint32
	wire        int      // messages that count against flow control on this connection
	resend      []uint16 // after a resumption: to be published again, in order; not counted in wire until reported
	reported    int      // how many at the front of resend were reported as Resend and await their Publish
}

// take occupies a packet identifier; 0 means that all 65,535 are in use.
func (f *inflight) take(token uint64, state uint8) uint16 {
	id := f.first
	switch {
	case id != 0:
		f.first = f.slots[id-1].next
		if f.first == 0 {
			f.last = 0
		}
	case len(f.slots) < 65535:
		f.slots = append(f.slots, slot{})
		id = uint16(len(f.slots))
	default:
		return 0
	}
	f.order++
	f.slots[id-1] = slot{token: token, order: f.order, state: state}
	return id
}

// release frees a packet identifier. One kept over a resumption rests until the next connection: it may be confirmed
// twice, by what the peer still sends for the first try and by its answer to the second, and the second confirmation
// must not be taken for that of another message.
func (f *inflight) release(id uint16) {
	if f.slots[id-1].kept {
		f.slots[id-1] = slot{state: slotRetired}
		return
	}
	f.free(id)
}

// free puts a packet identifier at the end of the free list.
func (f *inflight) free(id uint16) {
	f.slots[id-1] = slot{}
	if f.last == 0 {
		f.first = id
	} else {
		f.slots[f.last-1].next = id
	}
	f.last = id
}

// get returns the slot of an identifier in use for one of two purposes, or nil.
func (f *inflight) get(id uint16, state, or uint8) *slot {
	if f == nil || id == 0 || int(id) > len(f.slots) {
		return nil
	}
	s := &f.slots[id-1]
	if s.state != state && s.state != or {
		return nil
	}
	return s
}

// settle frees a message's identifier and gives its place in the window back.
func (f *inflight) settle(id uint16) {
	f.release(id)
	if len(f.resend) > 0 {
		if i := slices.Index(f.resend, id); i >= 0 && !f.unlist(i) {
			return
		}
	}
	f.wire--
}

// recorded moves a QoS 2 message on: the peer has it, and it is never published again.
func (f *inflight) recorded(id uint16) {
	f.slots[id-1].state = slotReleased
	if len(f.resend) == 0 {
		return
	}
	if i := slices.Index(f.resend, id); i >= 0 && !f.unlist(i) {
		f.wire++
	}
}

// unlist takes entry i out of resend and tells whether it had been reported.
func (f *inflight) unlist(i int) (reported bool) {
	reported = i < f.reported
	if reported {
		f.reported--
	}
	if i == 0 {
		f.resend = f.resend[1:]
	} else {
		f.resend = slices.Delete(f.resend, i, i+1)
	}
	return reported
}

// unused tells that no packet identifier is in use, nor rests for a reason. It looks at the newest ones first.
func (f *inflight) unused() bool {
	for i := len(f.slots) - 1; i >= 0; i-- {
		if f.slots[i].state != slotFree {
			return false
		}
	}
	return true
}

// messages counts application messages that are not acknowledged, sent on this connection or not.
func (f *inflight) messages() int {
	if f == nil {
		return 0
	}
	n := 0
	for i := range f.slots {
		switch f.slots[i].state {
		case slotQoS1, slotQoS2, slotReleased:
			n++
		}
	}
	return n
}

// reopen frees what only the lost connection needed: unanswered SUBSCRIBE packets and retired identifiers.
func (f *inflight) reopen() {
	for i := range f.slots {
		if s := f.slots[i].state; s == slotSubscribing || s == slotRetired {
			f.free(uint16(i + 1))
		}
	}
}

// resume prepares a connection on which the peer kept the session: PUBREL packets are appended to out at once
// (§4.4), messages are listed for report.
func (f *inflight) resume(version byte, out []byte) []byte {
	var ids []uint16
	for i := range f.slots {
		if f.slots[i].state != slotFree {
			f.slots[i].kept = true
			ids = append(ids, uint16(i+1))
		}
	}
	slices.SortFunc(ids, func(a, b uint16) int {
		return cmp.Compare(int32(f.slots[a-1].order-f.slots[b-1].order), 0)
	})
	f.wire, f.reported, f.resend = 0, 0, nil
	for _, id := range ids {
		if f.slots[id-1].state == slotReleased {
			out = appendAck(out, version, pktPubrel, id, 0)
			f.wire++
			continue
		}
		f.resend = append(f.resend, id)
	}
	return out
}

// unreported tells whether messages of an earlier connection have yet to be reported; new ones must not overtake them.
func (f *inflight) unreported() bool { return f.reported < len(f.resend) }

// report describes the next message to be published again, if flow control has room for it.
func (f *inflight) report(limit uint16, ev *proto.Event) bool {
	if !f.unreported() || f.wire >= int(limit) {
		return false
	}
	s := &f.slots[f.resend[f.reported]-1]
	ev.Kind, ev.Token, ev.QoS = proto.Resend, s.token, s.state-slotQoS1+1
	f.reported++
	f.wire++
	return true
}

// again returns the packet identifier under which a reported message goes out again, or 0 if none with this token was reported.
func (f *inflight) again(token uint64, qos uint8) (uint16, error) {
	for i, id := range f.resend[:f.reported] {
		if f.slots[id-1].token != token {
			continue
		}
		if first := f.slots[id-1].state - slotQoS1 + 1; first != qos {
			return 0, fmt.Errorf("mqtt: message %d was sent with QoS %d and cannot be repeated with QoS %d", token, first, qos)
		}
		f.unlist(i)
		return id, nil
	}
	return 0, nil
}

package proxy

import (
	"encoding/binary"
	"time"

	"github.com/mqlab/mqlab/internal/link"
)

// now is the monotonic time, in nanoseconds.
func (n *Network) now() int64 { return n.epoch + int64(time.Since(n.opened)) }

// flag says what a segment means.
type flag byte

// The segments of a stream.
const (
	data   flag = iota
	syn         // asks for a connection (up), or tells that there is one (down)
	refuse      // tells that there is none
	fin         // no more data follow
	reset       // the connection was aborted
)

// segment frames what is carried: the space of the header holds which stream it belongs to and what it means.
func segment(id uint32, f flag, payload []byte) []byte {
	b := make([]byte, headerBytes+len(payload))
	binary.BigEndian.PutUint32(b, id)
	b[4] = byte(f)
	copy(b[headerBytes:], payload)
	return b
}

// send offers a segment of s; n.mu is held.
func (n *Network) send(s *stream, d link.Direction, f flag, payload []byte) {
	t := n.now()
	if n.forget > 0 && t-s.heard > int64(n.forget) {
		s.forgotten = true
	}
	s.heard = t
	if s.forgotten {
		return
	}
	b := segment(s.id, f, payload)
	s.outstanding[d] += len(payload)
	n.machine[d].Push(t, b, s.id)
	n.wake(d)
}

// room waits until a segment of s may be offered; false = s has ended. n.mu is held.
func (n *Network) room(s *stream, d link.Direction) bool {
	for !s.ended && !s.forgotten && (s.outstanding[d] >= windowBytes || n.machine[d].Counters().InFlight.Bytes >= n.limit[d]) {
		n.changed.Wait()
	}
	return !s.ended
}

// wake makes the carrier look again; n.mu is held or not.
func (n *Network) wake(d link.Direction) { n.alarm[d].Ring() }

// carry hands over the segments of a direction when they are due.
func (n *Network) carry(d link.Direction) {
	n.alarm[d].Own()
	for n.ctx.Err() == nil {
		n.alarm[d].Wait(n.deliver(d))
	}
}

// deliver hands over what is due, and returns how long it is until the next segment is; below 0 = none is on its way.
func (n *Network) deliver(d link.Direction) (next time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for !n.stalled {
		b, ok := n.machine[d].Pop(n.now())
		if !ok {
			due, any := n.machine[d].Next()
			if !any {
				return -1
			}
			return max(time.Duration(due-n.now()), 0)
		}
		if s := n.streams[binary.BigEndian.Uint32(b)]; s != nil && !s.forgotten {
			s.arrived(d, flag(b[4]), b[headerBytes:])
		}
		n.changed.Broadcast()
	}
	return -1
}

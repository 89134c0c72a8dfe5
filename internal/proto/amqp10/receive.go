package amqp10

import (
	"errors"
	"fmt"

	"github.com/mqlab/mqlab/internal/proto"
)

// transfer is what a transfer frame says.
type transfer struct {
	id              uint32
	hasID           bool
	settled         bool
	more, cancelled bool
}

func readTransfer(r *fields) (handle uint32, t transfer, err error) {
	handle = r.u32(0)
	id := r.next()
	n, ok := id.number()
	t.id, t.hasID = uint32(n), ok
	r.skip(2) // delivery-tag, message-format
	t.settled, t.more = r.flag(), r.flag()
	r.skip(3) // rcv-settle-mode, state, resume
	t.cancelled = r.flag()
	if r.bad || (!ok && !id.null()) {
		return 0, t, errMalformed(doTransfer)
	}
	return handle, t, nil
}

// assembly puts together a message that comes in several frames.
type assembly struct {
	buf    []byte
	body   []byte // of several sections
	at     transfer
	active bool
}

// receive takes a transfer frame. l is its link. If the message is complete it is described in ev, and t tells how it came.
func (e *endpoint) receive(f *frame, limit uint64, ev *proto.Event) (l *link, t transfer, err error) {
	handle, t, err := readTransfer(&f.fields)
	if err != nil {
		return nil, t, err
	}
	if l = e.byPeer(handle); l == nil || l.sends {
		return nil, t, fmt.Errorf("amqp10: transfer on link handle %d, which is not attached", handle)
	}
	e.nextIn++
	if e.inWindow > 0 {
		e.inWindow--
	}
	a := l.incoming
	if (a == nil || !a.active) && !t.more && !t.cancelled {
		if uint64(len(f.payload)) > limit {
			return l, t, errTooLarge(uint64(len(f.payload)), limit)
		}
		return l, t, l.complete(&t, f.payload, ev)
	}
	if a == nil {
		a = new(assembly)
		l.incoming = a
	}
	if !a.active {
		a.active, a.at, a.buf = true, t, a.buf[:0]
	}
	a.at.settled = a.at.settled || t.settled
	if a.at.more = t.more; t.cancelled {
		a.active = false
		return l, t, nil
	}
	if size := uint64(len(a.buf) + len(f.payload)); size > limit {
		return l, t, errTooLarge(size, limit)
	}
	a.buf = append(a.buf, f.payload...)
	if t.more {
		return l, t, nil
	}
	a.active = false
	t = a.at
	return l, t, l.complete(&t, a.buf, ev)
}

func errTooLarge(size, limit uint64) error {
	return fmt.Errorf("amqp10: a message of %d bytes or more: more than the %d bytes this session handles", size, limit)
}

// complete describes a message that is there.
func (l *link) complete(t *transfer, message []byte, ev *proto.Event) error {
	if !t.hasID {
		return errors.New("amqp10: transfer without a delivery-id")
	}
	l.count++
	l.credit--
	ev.Kind, ev.Token = proto.Delivered, l.token
	if !t.settled {
		ev.QoS = 1
	}
	return l.readMessage(message, ev)
}

package zenoh

import "errors"

// Extensions of Fragments.
const (
	extFirst = 0x02
	extDrop  = 0x03
)

// partials are messages that come in Fragments, one per channel.
type partials [2]partial

type partial struct {
	open bool
	next uint32 // the sequence number that continues it
	buf  []byte
}

// appendFragments appends a message, which is head and payload, in batches that are full but for the last.
func (l *link) appendFragments(out []byte, reliable bool, head, payload []byte) []byte {
	for first := true; first || len(head)+len(payload) > 0; first = false {
		start, kind := len(out), byte(idFragment)
		if reliable {
			kind |= flagReliable
		}
		if first && l.markers {
			kind |= flagExt
		}
		out = append(begin(out), kind)
		out = appendNumber(out, l.number(reliable))
		if kind&flagExt != 0 {
			out = append(out, extFirst)
		}
		room := int(l.batch) - (len(out) - start)
		n := min(room, len(head))
		out, head = append(out, head[:n]...), head[n:]
		n = min(room-n, len(payload))
		out, payload = append(out, payload[:n]...), payload[n:]
		if len(head)+len(payload) > 0 {
			out[start+lengthLen] |= flagMore
		}
		out = end(out, start)
	}
	return out
}

var errFragments = errors.New("zenoh: the peer sends a fragmented message that is larger than we accept")

// fragment reads a Fragment. It returns the whole message once its last part is there; until then nil. A message of which
// parts are missing was dropped on its way.
func (l *link) fragment(r *reader, header byte, limit uint64) ([]byte, error) {
	sn := uint32(r.number(uint64(l.mask)))
	first, dropped := false, false
	for more := header&flagExt != 0; more && !r.bad; {
		e := r.extension(1 << 1)
		more = e.more
		first = first || e.id == extFirst
		dropped = dropped || e.id == extDrop
	}
	if r.bad {
		return nil, nil
	}
	if l.partial == nil {
		l.partial = new(partials)
	}
	p := &l.partial[header&flagReliable/flagReliable]
	body := r.rest()
	begins := first || !l.markers && !p.open
	if begins {
		p.open, p.buf = true, p.buf[:0]
	} else if p.open && sn != p.next {
		p.open = false
	}
	if !p.open {
		return nil, nil
	}
	if dropped {
		p.open = false
		return nil, nil
	}
	if uint64(len(p.buf)+len(body)) > limit {
		return nil, errFragments
	}
	p.buf = append(p.buf, body...)
	p.next = (sn + 1) & l.mask
	if header&flagMore != 0 {
		return nil, nil
	}
	p.open = false
	return p.buf, nil
}

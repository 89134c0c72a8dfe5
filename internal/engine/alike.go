package engine

import (
	"bytes"

	"github.com/mqlab/mqlab/internal/proto"
)

// alike is how a message of a plain session stands in its bytes. Others that are alike but for their payload need not be
// encoded or parsed again.
type alike struct {
	head    []byte // what stands before the payload
	size    int    // of all
	trailer string
}

// framed returns what unit, a message with this payload at its end but for the trailer, has in common with others of its
// connection; ok is false where that is not known.
func framed(s proto.Session, qos uint8, unit, payload []byte) (a alike, ok bool) {
	plain, can := s.(proto.Plain)
	if !can {
		return a, false
	}
	a.trailer, ok = plain.Plain(qos)
	at := len(unit) - len(a.trailer) - len(payload)
	if !ok || at < 0 {
		return a, false
	}
	a.head, a.size = unit[:at], len(unit)
	return a, true
}

// stamped tells whether each message carries a binary stamp at the start of a payload of the template's size.
func (a *alike) stamped(p *Payload) bool {
	return !p.json && a.size == len(a.head)+len(p.template)+len(a.trailer)
}

// payload returns that of the message at the start of in, if it is alike.
func (a *alike) payload(in []byte) (p []byte, ok bool) {
	if a.size == 0 || len(in) < a.size || !bytes.Equal(in[:len(a.head)], a.head) {
		return nil, false
	}
	end := a.size - len(a.trailer)
	if a.trailer != "" && string(in[end:a.size]) != a.trailer {
		return nil, false
	}
	return in[len(a.head):end:end], true
}

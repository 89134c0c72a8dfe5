package engine

import (
	"bytes"

	"github.com/mqlab/mqlab/internal/stamp"
)

// Payload is what every message of a trial carries behind its stamp. It is a scratch buffer, too: a Payload belongs to one Core.
type Payload struct {
	template []byte
	json     bool
	every    uint64 // the filler of each such sequence number is compared byte for byte
	header   int
}

// NewPayload returns a payload whose bytes are template, to be overwritten by the stamp at its start. template must be at
// least stamp.Size bytes (stamp.JSONSize in JSON form). every = 1 compares the filler of each message, n of each n-th.
func NewPayload(template []byte, json bool, every uint64) Payload {
	p := Payload{template: bytes.Clone(template), json: json, every: max(every, 1), header: stamp.Size}
	if json {
		p.header = stamp.JSONSize
	}
	return p
}

// stamped returns the payload carrying s, valid until the next call.
func (p *Payload) stamped(s *stamp.Stamp) []byte {
	p.put(p.template, s)
	return p.template
}

// put makes b, a copy of the template, carry s.
func (p *Payload) put(b []byte, s *stamp.Stamp) {
	if p.json {
		stamp.PutJSON(b, s)
	} else {
		stamp.Put(b, s)
	}
}

// same tells that got is, behind a binary stamp, what is sent: the usual case, and the quickest to find.
func (p *Payload) same(got []byte) bool {
	return !p.json && len(got) == len(p.template) && string(got[stamp.Size:]) == string(p.template[stamp.Size:])
}

// intact tells whether got, which carries s, is what was sent. The check sum of a JSON stamp is over its numbers, not its bytes,
// so those are compared, too.
func (p *Payload) intact(got []byte, s *stamp.Stamp) bool {
	switch {
	case len(got) != len(p.template):
		return false
	case p.json && !bytes.Equal(got[:p.header], p.stamped(s)[:p.header]):
		return false
	}
	return (p.every > 1 && s.Seq%p.every != 0) || bytes.Equal(got[p.header:], p.template[p.header:])
}

package amqp10

import (
	"fmt"

	"github.com/mqlab/mqlab/internal/proto"
)

// readMessage finds in the sections of a message (§3.2) what an event tells. The topic is its subject, else its address
// (to), else that of the link.
func (l *link) readMessage(message []byte, ev *proto.Event) error {
	r := reader{rest: message}
	bodies := 0
	for len(r.rest) > 0 {
		v, ok := r.value(), true
		switch {
		case r.bad || !v.described:
			ok = false
		case v.descriptor == sectionHeader:
			ok = readHeader(&v, ev)
		case v.descriptor == sectionProperties:
			ok = readProperties(&v, ev)
		case v.descriptor >= sectionData && v.descriptor <= sectionValue:
			var part []byte
			part, ok = readBody(&v)
			if bodies++; bodies == 1 {
				ev.Payload = part
			} else {
				l.join(bodies, part, ev)
			}
		}
		if !ok {
			return fmt.Errorf("amqp10: malformed message of %d bytes", len(message))
		}
	}
	if len(ev.Topic) == 0 {
		ev.Topic = l.topic
	}
	return nil
}

// readHeader looks whether the message may have been delivered before.
func readHeader(v *value, ev *proto.Event) bool {
	f, ok := v.fields()
	f.skip(3) // durable, priority, ttl
	first := f.next()
	ev.Redelivered = first.code == codeFalse || (first.code == codeBoolean && first.data[0] == 0)
	if f.number(0) > 0 { // delivery-count
		ev.Redelivered = true
	}
	return ok && !f.bad
}

func readProperties(v *value, ev *proto.Event) bool {
	f, ok := v.fields()
	f.skip(2) // message-id, user-id
	to, subject := f.text(), f.text()
	if ev.Topic = subject; len(subject) == 0 {
		ev.Topic = to
	}
	return ok && !f.bad
}

// readBody returns what a body section carries: a binary or string as it is, also one alone in a sequence, any other
// value as it is encoded.
func readBody(v *value) (part []byte, ok bool) {
	switch v.descriptor {
	case sectionData:
		return v.data, v.code == codeBinary8 || v.code == codeBinary32
	case sectionSequence:
		f, ok := v.fields()
		if f.left == 1 {
			only := f.next()
			if text, is := only.text(); is {
				return text, ok
			}
		}
		return v.data, ok && !f.bad
	}
	return v.data, true
}

// join puts the parts of a body of several sections together.
func (l *link) join(bodies int, part []byte, ev *proto.Event) {
	if l.incoming == nil {
		l.incoming = new(assembly)
	}
	if bodies == 2 {
		l.incoming.body = append(l.incoming.body[:0], ev.Payload...)
	}
	l.incoming.body = append(l.incoming.body, part...)
	ev.Payload = l.incoming.body
}

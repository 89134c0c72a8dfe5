package nats

import (
	"fmt"
	"slices"
)

// message is what appendMessage encodes: PUB or MSG, with headers HPUB or HMSG.
type message struct {
	verb    string // with the blank behind it
	subject []byte
	sid     string // with the blank behind it; MSG and HMSG
	headers []byte
	payload []byte
}

// fixedSize is an upper bound of what appendMessage adds to the variable parts.
const fixedSize = len("HPUB ") + len(" 12345678 12345678\r\n") + len("\r\n")

func (m *message) size() int { return len(m.headers) + len(m.payload) }

func (m *message) append(out []byte) []byte {
	out = slices.Grow(out, fixedSize+len(m.subject)+len(m.sid)+m.size())
	out = append(out, m.verb...)
	out = append(out, m.subject...)
	out = append(out, ' ')
	out = append(out, m.sid...)
	if len(m.headers) > 0 {
		out = appendUint(out, uint64(len(m.headers)))
		out = append(out, ' ')
	}
	out = appendUint(out, uint64(m.size()))
	out = append(out, '\r', '\n')
	out = append(out, m.headers...)
	out = append(out, m.payload...)
	return append(out, '\r', '\n')
}

// appendUint appends v in decimal digits.
func appendUint(out []byte, v uint64) []byte {
	var b [20]byte
	i := len(b)
	for v >= 10 {
		i--
		b[i] = byte('0' + v%10)
		v /= 10
	}
	i--
	b[i] = byte('0' + v)
	return append(out, b[i:]...)
}

// AppendErr appends -ERR with a text, as a server refuses something.
func AppendErr(out []byte, text string) []byte {
	return fmt.Appendf(out, "-ERR '%s'\r\n", text)
}

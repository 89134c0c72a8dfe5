package nats

import (
	"fmt"
	"slices"
)

// fixedSize is an upper bound of what appendMessage adds to the variable parts.
const fixedSize = len("HPUB ") + len(" 12345678 12345678\r\n") + len("\r\n")

// appendMessage appends PUB or MSG, or with headers HPUB or HMSG. The verb has its blank behind it, and so has what stands
// between subject and sizes: the sid of MSG and HMSG, the reply subject of PUB and HPUB.
func appendMessage[S ~string | ~[]byte](out []byte, verb string, subject []byte, between S, headers, payload []byte) []byte {
	size := len(headers) + len(payload)
	out = slices.Grow(out, fixedSize+len(subject)+len(between)+size)
	out = append(out, verb...)
	out = append(out, subject...)
	out = append(out, ' ')
	out = append(out, between...)
	if len(headers) > 0 {
		out = appendUint(out, uint64(len(headers)))
		out = append(out, ' ')
	}
	out = appendUint(out, uint64(size))
	out = append(out, '\r', '\n')
	out = append(out, headers...)
	out = append(out, payload...)
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

// appendErr appends -ERR with a text, as a server refuses something.
func appendErr(out []byte, text string) []byte {
	return fmt.Appendf(out, "-ERR '%s'\r\n", text)
}

package resp

import "slices"

// fixedSize is an upper bound of what a command with one topic and one payload adds to them.
const fixedSize = 128

// appendCommand appends an array of strings.
func appendCommand(out []byte, words ...string) []byte {
	out = appendHead(out, '*', len(words))
	for _, w := range words {
		out = appendBulk(out, w)
	}
	return out
}

// appendBulk appends a counted string.
func appendBulk[T ~string | ~[]byte](out []byte, text T) []byte {
	out = appendHead(out, '$', len(text))
	out = append(out, text...)
	return append(out, '\r', '\n')
}

// appendHead appends the first line of a value that has a length.
func appendHead(out []byte, kind byte, n int) []byte {
	if n < 10 {
		return append(out, kind, byte('0'+n), '\r', '\n')
	}
	out = append(out, kind)
	out = appendUint(out, uint64(n))
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

// grow makes room for a command with a topic and a payload.
func grow(out, topic, payload []byte) []byte {
	return slices.Grow(out, fixedSize+len(topic)+len(payload))
}

// appendNumber appends a counted string of decimal digits.
func appendNumber(out []byte, n int) []byte {
	digits := 1
	for rest := n; rest >= 10; rest /= 10 {
		digits++
	}
	out = appendHead(out, '$', digits)
	out = appendUint(out, uint64(n))
	return append(out, '\r', '\n')
}

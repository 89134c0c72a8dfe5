package resp

import (
	"bytes"
	"fmt"
	"math"
)

const (
	maxLine     = 64 << 10  // of a simple string, an error or a number
	maxBulk     = 512 << 20 // of a counted string
	maxElements = 1 << 20   // of an aggregate, and of all that is nested in one unit
)

// null is the length of a value that is absent.
const null = -1

// head is the first line of a value.
type head struct {
	kind byte   // the byte that tells the type
	line []byte // of simple strings, errors and everything else that is no count
	n    int64  // of integers their value; of strings and aggregates their length, or null
}

// isError tells that the value is an error, simple or counted.
func (h *head) isError() bool { return h.kind == '-' || h.kind == '!' }

// isNull tells that the value is absent, in the way of either version.
func (h *head) isNull() bool {
	return h.kind == '_' || h.n == null && (h.kind == '$' || h.kind == '*')
}

// scanner reads values from the start of in. Once it is short of bytes or has found an error, it reads no more.
type scanner struct {
	in    []byte
	at    int
	short bool
	err   error
}

// stuck tells that what was read since the start is worthless.
func (s *scanner) stuck() bool { return s.short || s.err != nil }

// head reads the first line of a value.
func (s *scanner) head() (h head) {
	if s.stuck() || s.at >= len(s.in) {
		s.short = true
		return head{}
	}
	h.kind = s.in[s.at]
	switch h.kind {
	case '$', '*', '>', ':', '%', '~', '|', '=', '!':
		h.n = s.number(h.kind)
	case '+', '-', '_', ',', '#', '(':
		h.line = s.line()
	default:
		s.err = fmt.Errorf("redis: no value begins with %q", s.in[s.at:s.at+1])
	}
	return h
}

// number reads what follows the type: decimal digits and CR LF. A length must be in bounds.
func (s *scanner) number(kind byte) int64 {
	i, start := s.at+1, s.at+1
	negative := i < len(s.in) && s.in[i] == '-'
	if negative {
		i, start = i+1, start+1
	}
	var v uint64
	for ; i < len(s.in) && i-start < 20 && v <= math.MaxInt64; i++ {
		d := s.in[i] - '0'
		if d > 9 {
			break
		}
		v = v*10 + uint64(d)
	}
	if i-start > 19 || v > math.MaxInt64 {
		return s.malformed(kind, i)
	}
	if i >= len(s.in) {
		s.short = true
		return 0
	}
	if i == start || s.in[i] != '\r' {
		return s.malformed(kind, i+1)
	}
	if i+1 >= len(s.in) {
		s.short = true
		return 0
	}
	if s.in[i+1] != '\n' {
		return s.malformed(kind, i+2)
	}
	n := int64(v)
	if negative {
		n = -n
	}
	if kind != ':' && !lengthAllowed(kind, n) {
		s.err = fmt.Errorf("redis: length %d of %q is out of bounds", n, string(kind))
		return 0
	}
	s.at = i + 2
	return n
}

func lengthAllowed(kind byte, n int64) bool {
	switch kind {
	case '$':
		return null <= n && n <= maxBulk
	case '=', '!':
		return 0 <= n && n <= maxBulk
	case '*':
		return null <= n && n <= maxElements
	}
	return 0 <= n && n <= maxElements
}

func (s *scanner) malformed(kind byte, end int) int64 {
	s.err = fmt.Errorf("redis: %q is not followed by a number: %q", string(kind), s.in[s.at:end])
	return 0
}

// line reads the rest of a line.
func (s *scanner) line() []byte {
	rest := s.in[s.at+1:]
	end := bytes.IndexByte(rest[:min(len(rest), maxLine)], '\n')
	switch {
	case end < 0 && len(rest) >= maxLine:
		s.err = fmt.Errorf("redis: line of more than %d bytes", maxLine)
		return nil
	case end < 0:
		s.short = true
		return nil
	case end == 0 || rest[end-1] != '\r':
		s.err = fmt.Errorf("redis: line without CR: %q", shorten(rest[:end]))
		return nil
	}
	s.at += end + 2
	return rest[: end-1 : end-1]
}

// text reads the rest of a string whose first line was h: simple or counted, or an error; an absent one is nil.
func (s *scanner) text(h *head) []byte {
	switch h.kind {
	case '$', '=', '!':
		return s.counted(h.n)
	case '+', '-':
		return h.line
	case '_':
		return nil
	}
	if !s.stuck() {
		s.err = fmt.Errorf("redis: %q where a string belongs", string(h.kind))
	}
	return nil
}

func (s *scanner) counted(n int64) []byte {
	if s.stuck() || n == null {
		return nil
	}
	end := s.at + int(n)
	if len(s.in) < end+2 {
		s.short = true
		return nil
	}
	if s.in[end] != '\r' || s.in[end+1] != '\n' {
		s.err = fmt.Errorf("redis: a string of %d bytes does not end where it says", n)
		return nil
	}
	b := s.in[s.at:end:end]
	s.at = end + 2
	return b
}

// bulk reads a string. The short way is for a short counted one that is there as a whole; whatever is not so simple takes
// the long way.
func (s *scanner) bulk() []byte {
	if s.err == nil && !s.short {
		if start, end := plain(s.in, s.at); end > 0 {
			s.at = end + 2
			return s.in[start:end:end]
		}
	}
	h := s.head()
	return s.text(&h)
}

// plain returns where the content of the counted string at i is, or 0 if there is anything special about it.
func plain(in []byte, i int) (start, end int) {
	const digits = 6
	if len(in)-i < len("$")+digits+len("\r\n") || in[i] != '$' {
		return 0, 0
	}
	n := 0
	for k := 1; k <= digits; k++ {
		d := in[i+k] - '0'
		if d <= 9 {
			n = n*10 + int(d)
			continue
		}
		if k == 1 || in[i+k] != '\r' || in[i+k+1] != '\n' {
			return 0, 0
		}
		start = i + k + 2
		end = start + n
		if len(in) < end+2 || in[end] != '\r' || in[end+1] != '\n' {
			return 0, 0
		}
		return start, end
	}
	return 0, 0
}

// skip reads n whole values, with all that is nested in them.
func (s *scanner) skip(n int64) {
	for n > 0 && !s.stuck() {
		h := s.head()
		n += s.inside(&h) - 1
		if n > maxElements {
			s.err = fmt.Errorf("redis: more than %d values in one reply", maxElements)
		}
	}
}

// inside reads the rest of a string, and returns how many values follow the first line of an aggregate.
func (s *scanner) inside(h *head) int64 {
	switch h.kind {
	case '$', '=', '!':
		s.counted(h.n)
	case '*', '>', '~':
		return max(h.n, 0)
	case '%':
		return 2 * h.n
	case '|': // attributes precede the value that they describe
		return 2*h.n + 1
	}
	return 0
}

// shorten keeps error messages to one line.
func shorten(b []byte) []byte { return b[:min(len(b), 200)] }

package nats

import (
	"bytes"
	"fmt"
)

const (
	maxLine    = 64 << 10 // of a control line; INFO of a big cluster is the longest
	maxMessage = 64 << 20 // of headers and payload together
)

// op is a protocol operation.
type op uint8

const (
	opUnknown op = iota
	opInfo
	opConnect
	opPub
	opHpub
	opSub
	opUnsub
	opMsg
	opHmsg
	opPing
	opPong
	opOK
	opErr
)

// cutLine returns the control line at the start of in without its line end, and the bytes it occupies; n = 0 means that
// in holds no whole line yet. Lines end with CR LF; a lone LF is accepted as servers do.
func cutLine(in []byte) (line []byte, n int, err error) {
	i := bytes.IndexByte(in[:min(len(in), maxLine)], '\n')
	if i < 0 {
		if len(in) >= maxLine {
			return nil, 0, fmt.Errorf("nats: control line of more than %d bytes", maxLine)
		}
		return nil, 0, nil
	}
	line = in[:i]
	if i > 0 && line[i-1] == '\r' {
		line = line[:i-1]
	}
	return line, i + 1, nil
}

// cutOp splits a control line into its operation and the arguments.
func cutOp(line []byte) (op, []byte) {
	word, args := cutWord(line)
	return opOf(word), args
}

func opOf(word []byte) op {
	switch string(word) {
	case "MSG":
		return opMsg
	case "PUB":
		return opPub
	case "HMSG":
		return opHmsg
	case "HPUB":
		return opHpub
	case "PING":
		return opPing
	case "PONG":
		return opPong
	case "+OK":
		return opOK
	case "-ERR":
		return opErr
	case "SUB":
		return opSub
	case "UNSUB":
		return opUnsub
	case "INFO":
		return opInfo
	case "CONNECT":
		return opConnect
	}
	return opOfLower(word)
}

// opOfLower finds an operation that is not written in capitals: names are case-insensitive.
func opOfLower(word []byte) op {
	var b [len("CONNECT")]byte
	if len(word) > len(b) {
		return opUnknown
	}
	changed := false
	for i, c := range word {
		b[i] = upper(c)
		changed = changed || b[i] != c
	}
	if !changed {
		return opUnknown
	}
	return opOf(b[:len(word)])
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

// cutWord returns the first word of b, which ends at white space, and what follows that white space.
func cutWord(b []byte) (word, rest []byte) {
	i := 0
	for i < len(b) && b[i] > ' ' {
		i++
	}
	word = b[:i]
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	return word, b[i:]
}

// frame is the control line of a message in either direction.
type frame struct {
	subject, reply []byte
	sid            []byte // MSG and HMSG
	headers, total int    // bytes of the headers, and of headers and payload together
}

// parseFrame reads the arguments of an operation that carries a message:
//
//	PUB  subject [reply] total          MSG  subject sid [reply] total
//	HPUB subject [reply] headers total  HMSG subject sid [reply] headers total
func parseFrame(o op, args []byte, f *frame) error {
	var words [5][]byte
	n := 0
	for rest := args; len(rest) > 0; n++ {
		if n == len(words) {
			return malformed(o, args)
		}
		words[n], rest = cutWord(rest)
		if len(words[n]) == 0 {
			return malformed(o, args)
		}
	}
	fixed := 2 // words that must be there
	if o == opMsg || o == opHmsg {
		fixed++
	}
	withHeaders := o == opHpub || o == opHmsg
	if withHeaders {
		fixed++
	}
	if n != fixed && n != fixed+1 {
		return malformed(o, args)
	}
	*f = frame{subject: words[0]}
	if o == opMsg || o == opHmsg {
		f.sid = words[1]
	}
	total, ok := parseUint(words[n-1])
	if !ok {
		return malformed(o, args)
	}
	var headers uint64
	if withHeaders {
		if headers, ok = parseUint(words[n-2]); !ok || headers > total {
			return malformed(o, args)
		}
	}
	if n == fixed+1 {
		f.reply = words[fixed-1]
		if withHeaders {
			f.reply = words[fixed-2]
		}
	}
	if total > maxMessage {
		return fmt.Errorf("nats: %s of %d bytes: more than the %d bytes this session handles", o, total, maxMessage)
	}
	f.headers, f.total = int(headers), int(total)
	return nil
}

// body returns headers and payload behind a control line of n bytes, and the size of the whole unit; 0 means that in
// does not hold all of it yet.
func (f *frame) body(o op, in []byte, n int) (headers, payload []byte, unit int, err error) {
	end := n + f.total
	if len(in) < end+2 {
		return nil, nil, 0, nil
	}
	if in[end] != '\r' || in[end+1] != '\n' {
		return nil, nil, 0, fmt.Errorf("nats: %s of %d bytes does not end where it says", o, f.total)
	}
	return in[n : n+f.headers : n+f.headers], in[n+f.headers : end : end], end + 2, nil
}

// need returns how many bytes the unit at the start of in occupies, as far as its control line says so: 0 means that
// this is not known yet or that Feed is going to refuse the unit.
func need(in []byte) int {
	line, n, err := cutLine(in)
	if n == 0 || err != nil {
		return 0
	}
	o, args := cutOp(line)
	switch o {
	case opPub, opHpub, opMsg, opHmsg:
		var f frame
		if parseFrame(o, args, &f) != nil {
			return 0
		}
		return n + f.total + 2
	}
	return n
}

// parseUint reads a decimal number of up to 19 digits.
func parseUint(b []byte) (v uint64, ok bool) {
	if len(b) == 0 || len(b) > 19 {
		return 0, false
	}
	for _, c := range b {
		d := c - '0'
		if d > 9 {
			return 0, false
		}
		v = v*10 + uint64(d)
	}
	return v, true
}

func malformed(o op, args []byte) error {
	return fmt.Errorf("nats: malformed %s %q", o, shorten(args))
}

// shorten keeps error messages to one line.
func shorten(b []byte) []byte { return b[:min(len(b), 200)] }

func (o op) String() string {
	return [...]string{
		"unknown operation", "INFO", "CONNECT", "PUB", "HPUB", "SUB", "UNSUB", "MSG", "HMSG", "PING", "PONG", "+OK", "-ERR",
	}[o]
}

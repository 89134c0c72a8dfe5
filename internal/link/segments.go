package link

import "encoding/binary"

// Flags of a TCP header (RFC 9293, 3.1).
const (
	tcpFIN = 1 << iota
	tcpSYN
	tcpRST
	_ // PSH
	tcpACK
)

// segment is what the head of a packet tells of TCP.
type segment struct {
	seq, ack uint32
	flags    byte
	payload  int // bytes of the stream
}

// has reports whether it has one of these flags.
func (s *segment) has(flags byte) bool { return s.flags&flags != 0 }

// length is how many sequence numbers the segment takes: SYN and FIN have one each.
func (s *segment) length() uint32 {
	n := uint32(s.payload)
	if s.has(tcpSYN) {
		n++
	}
	if s.has(tcpFIN) {
		n++
	}
	return n
}

// segmentOf reads the head of a packet of so many bytes; ok is false where it is not TCP over IPv4, whole.
func segmentOf(head []byte, size int) (s segment, ok bool) {
	offset, protocol, isIP := transport(head)
	if !isIP || head[0]>>4 != 4 || protocol != protocolTCP || len(head) < offset+20 || fragment(head) {
		return s, false
	}
	h := head[offset:]
	s = segment{seq: binary.BigEndian.Uint32(h[4:]), ack: binary.BigEndian.Uint32(h[8:]), flags: h[13]}
	s.payload = size - offset - int(h[12]>>4)*4
	return s, s.payload >= 0 && h[12]>>4 >= 5
}

// after reports whether sequence number a is later than b.
func after(a, b uint32) bool { return int32(a-b) > 0 }

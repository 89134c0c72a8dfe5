// Package packettest makes and checks IPv4 packets of TCP and UDP for tests, by code that shares nothing with what it tests.
package packettest

import "encoding/binary"

const (
	header = 20 // of IPv4 without options
	tcp    = 6  // protocol number; UDP is 17
)

// Checksum is that of RFC 1071 over b, with a starting value; 0 if b holds a right one.
func Checksum(b []byte, start uint32) uint16 {
	sum := start
	for i := 0; i < len(b); i += 2 {
		word := uint32(b[i]) << 8
		if i+1 < len(b) {
			word |= uint32(b[i+1])
		}
		sum += word
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

// Transport is the checksum of TCP or UDP in p, pseudo header included; 0 if p holds a right one.
func Transport(p []byte) uint16 {
	return Checksum(p[header:], uint32(^Checksum(p[12:header], 0))+uint32(p[9])+uint32(len(p)-header))
}

// Seal writes the length and the checksums of p, a packet of TCP or UDP.
func Seal(p []byte) {
	binary.BigEndian.PutUint16(p[2:], uint16(len(p)))
	at := header + 6
	if p[9] == tcp {
		at = header + 16
	}
	for _, sum := range []struct {
		at   int
		over func() uint16
	}{{10, func() uint16 { return Checksum(p[:header], 0) }}, {at, func() uint16 { return Transport(p) }}} {
		binary.BigEndian.PutUint16(p[sum.at:], 0)
		binary.BigEndian.PutUint16(p[sum.at:], sum.over())
	}
}

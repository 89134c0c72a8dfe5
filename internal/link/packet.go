package link

import (
	"encoding/binary"
	"math/rand/v2"
)

const (
	protocolTCP = 6
	protocolUDP = 17
)

// transport returns where the payload of an IP packet begins and which protocol it is of; ok is false if it is not IP. Extension
// headers of IPv6 are taken for payload.
func transport(packet []byte) (offset int, protocol byte, ok bool) {
	switch {
	case len(packet) >= 20 && packet[0]>>4 == 4:
		offset = int(packet[0]&15) * 4
		return offset, packet[9], offset >= 20 && offset <= len(packet)
	case len(packet) >= 40 && packet[0]>>4 == 6:
		return 40, packet[6], true
	}
	return 0, 0, false
}

// fragment reports whether an IPv4 packet is not the first part of a whole one: no ports are in it.
func fragment(packet []byte) bool {
	return packet[0]>>4 == 4 && binary.BigEndian.Uint16(packet[6:])&0x1fff != 0
}

// FlowOf returns a number that is the same for all packets of a flow: of IP addresses, protocol and ports. 0 if it is not IP.
func FlowOf(packet []byte) uint32 {
	offset, protocol, ok := transport(packet)
	if !ok {
		return 0
	}
	addresses := packet[12:20]
	if packet[0]>>4 == 6 {
		addresses = packet[8:40]
	}
	const prime = 16777619 // FNV-1a
	h := uint32(2166136261)
	for _, b := range addresses {
		h = (h ^ uint32(b)) * prime
	}
	h = (h ^ uint32(protocol)) * prime
	if (protocol == protocolTCP || protocol == protocolUDP) && len(packet) >= offset+4 && !fragment(packet) {
		for _, b := range packet[offset : offset+4] {
			h = (h ^ uint32(b)) * prime
		}
	}
	return h ^ h>>16
}

// DeviceOf returns a number that is the same for all packets, either way, of one address and port of a device. 0 if it is not IP.
func DeviceOf(packet []byte, way Direction) uint64 {
	offset, protocol, ok := transport(packet)
	if !ok || packet[0]>>4 != 4 {
		return 0
	}
	address, port := packet[12:16], offset // of the source
	if way == Down {
		address, port = packet[16:20], offset+2
	}
	device := uint64(binary.BigEndian.Uint32(address)) << 16
	if (protocol == protocolTCP || protocol == protocolUDP) && len(packet) >= port+2 && !fragment(packet) {
		device |= uint64(binary.BigEndian.Uint16(packet[port:]))
	}
	return device
}

// corrupt turns over one bit, chosen by chance, and reports whether there was one: behind the IP header, or of the payload if the
// checksum is to be right again. What is not IP is all payload.
func corrupt(packet []byte, chance *rand.Rand, fix bool) bool {
	begin, protocol, isIP := transport(packet)
	sum := 0
	if fix && isIP {
		begin, sum = payload(packet, begin, protocol)
	}
	if begin >= len(packet) {
		return false
	}
	bit := chance.IntN((len(packet) - begin) * 8)
	at := begin + bit/8
	old := word(packet, at, begin)
	packet[at] ^= 1 << (bit % 8)
	if sum > 0 {
		fixChecksum(packet[sum:sum+2], old, word(packet, at, begin))
	}
	return true
}

// payload returns where the payload of TCP or UDP begins and where their checksum is; sum is 0 where there is none to fix. The
// checksum covers words of 16 bits from the transport header on; both headers have even lengths.
func payload(packet []byte, offset int, protocol byte) (begin, sum int) {
	switch {
	case fragment(packet):
		return len(packet), 0 // its checksum is in another packet
	case protocol == protocolTCP && len(packet) >= offset+20:
		return offset + max(20, int(packet[offset+12]>>4)*4), offset + 16
	case protocol == protocolUDP && len(packet) >= offset+8:
		begin, sum = offset+8, offset+6
		if packet[sum] == 0 && packet[sum+1] == 0 {
			sum = 0 // sent without
		}
		return begin, sum
	}
	return offset, 0
}

// word returns the 16 bits, counted from begin, in which the byte at a place lies.
func word(packet []byte, at, begin int) uint16 {
	at -= (at - begin) % 2
	if at+1 == len(packet) {
		return uint16(packet[at]) << 8
	}
	return binary.BigEndian.Uint16(packet[at:])
}

// fixChecksum corrects a checksum of the Internet for a word that has changed (RFC 1624, equation 3).
func fixChecksum(sum []byte, old, changed uint16) {
	s := uint32(^binary.BigEndian.Uint16(sum)) + uint32(^old) + uint32(changed)
	s = s&0xffff + s>>16
	s = s&0xffff + s>>16
	binary.BigEndian.PutUint16(sum, ^uint16(s))
}

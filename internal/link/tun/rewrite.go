package tun

import "encoding/binary"

// The addresses of IPv4 that rewriting is about, in host order, and the first 16 bits of the devices' ones.
const (
	loopbackOutside = 198<<24 | 19<<16 | 127<<8 | 1 // Loopback
	loopbackInside  = 127<<24 | 1
	devicesOutside  = 198<<8 | 18
	devicesInside   = 127<<8 | 18
)

const (
	sourceAt, destinationAt = 12, 16
	protocolTCP             = 6
	protocolUDP             = 17
)

// toLoopback changes a packet from a device to Loopback into one to 127.0.0.1 from 127.18.0.0/16; others stay as they are.
func toLoopback(packet []byte) {
	if !isIPv4(packet) || binary.BigEndian.Uint32(packet[destinationAt:]) != loopbackOutside {
		return
	}
	rewrite(packet, sourceAt, swapHigh(packet[sourceAt:], devicesOutside, devicesInside))
	rewrite(packet, destinationAt, loopbackInside)
}

// fromLoopback undoes toLoopback for a packet that goes back.
func fromLoopback(packet []byte) {
	if !isIPv4(packet) || binary.BigEndian.Uint32(packet[sourceAt:]) != loopbackInside {
		return
	}
	rewrite(packet, sourceAt, loopbackOutside)
	rewrite(packet, destinationAt, swapHigh(packet[destinationAt:], devicesInside, devicesOutside))
}

func isIPv4(packet []byte) bool {
	return len(packet) >= 20 && packet[0]>>4 == 4 && int(packet[0]&15)*4 <= len(packet) && packet[0]&15 >= 5
}

// swapHigh returns an address with other first 16 bits, if they are what they should be.
func swapHigh(address []byte, from, to uint32) uint32 {
	a := binary.BigEndian.Uint32(address)
	if a>>16 == from {
		a = a&0xffff | to<<16
	}
	return a
}

// rewrite changes an address and corrects the checksums that cover it: of the IP header, and of TCP and UDP, whose pseudo header has it.
func rewrite(packet []byte, at int, address uint32) {
	old := binary.BigEndian.Uint32(packet[at:])
	if old == address {
		return
	}
	binary.BigEndian.PutUint32(packet[at:], address)
	adjust(packet[10:12], old, address)
	if binary.BigEndian.Uint16(packet[6:])&0x1fff != 0 {
		return // a later fragment has no transport header
	}
	transport := packet[int(packet[0]&15)*4:]
	switch {
	case packet[9] == protocolTCP && len(transport) >= 18:
		adjust(transport[16:18], old, address)
	case packet[9] == protocolUDP && len(transport) >= 8 && (transport[6] != 0 || transport[7] != 0):
		adjust(transport[6:8], old, address)
		if transport[6] == 0 && transport[7] == 0 {
			transport[6], transport[7] = 0xff, 0xff // 0 means that there is none (RFC 768)
		}
	}
}

// adjust corrects a checksum for 32 bits that have changed (RFC 1624, equation 3).
func adjust(sum []byte, old, changed uint32) {
	s := uint32(^binary.BigEndian.Uint16(sum)) + (^old>>16)&0xffff + ^old&0xffff + changed>>16 + changed&0xffff
	s = s&0xffff + s>>16
	s = s&0xffff + s>>16
	binary.BigEndian.PutUint16(sum, ^uint16(s))
}

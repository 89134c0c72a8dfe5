package tun

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/mqlab/mqlab/internal/link/packettest"
)

// packet makes a packet with right checksums.
func packet(protocol byte, from, to string, payload string) []byte {
	header := 20
	if protocol == protocolUDP {
		header = 8
	}
	p := append(make([]byte, 20+header), payload...)
	p[0], p[8], p[9] = 0x45, 64, protocol
	copy(p[12:], netip.MustParseAddr(from).AsSlice())
	copy(p[16:], netip.MustParseAddr(to).AsSlice())
	binary.BigEndian.PutUint16(p[20:], 12345)
	packettest.Seal(p)
	return p
}

func addresses(p []byte) (from, to string) {
	return netip.AddrFrom4([4]byte(p[12:16])).String(), netip.AddrFrom4([4]byte(p[16:20])).String()
}

func TestRewriteToLoopbackAndBack(t *testing.T) {
	for _, protocol := range []byte{protocolTCP, protocolUDP} {
		there := packet(protocol, "198.18.1.2", "198.19.127.1", "hello, broker")
		original := bytes.Clone(there)
		toLoopback(there)
		if from, to := addresses(there); from != "127.18.1.2" || to != "127.0.0.1" {
			t.Errorf("protocol %d: from %s to %s", protocol, from, to)
		}
		if packettest.Checksum(there[:20], 0) != 0 || packettest.Transport(there) != 0 {
			t.Errorf("protocol %d: wrong checksums in %x", protocol, there)
		}
		back := packet(protocol, "127.0.0.1", "127.18.1.2", "hello, device")
		fromLoopback(back)
		if from, to := addresses(back); from != "198.19.127.1" || to != "198.18.1.2" {
			t.Errorf("protocol %d: from %s to %s", protocol, from, to)
		}
		if packettest.Checksum(back[:20], 0) != 0 || packettest.Transport(back) != 0 {
			t.Errorf("protocol %d: wrong checksums in %x", protocol, back)
		}
		if bytes.Equal(original, there) {
			t.Error("nothing changed")
		}
	}
}

func TestRewriteLeavesOthers(t *testing.T) {
	for name, p := range map[string][]byte{
		"to the broker's own address": packet(protocolTCP, "198.18.1.2", "198.19.0.1", "x"),
		"from it":                     packet(protocolTCP, "198.19.0.1", "198.18.1.2", "x"),
		"no IP":                       []byte("\x65 is not IPv4, but long enough to be"),
		"cut":                         {0x4f, 0, 0, 20, 0, 0, 0, 0, 64, 6, 0, 0, 1, 2, 3, 4, 198, 19, 127, 1},
	} {
		before := bytes.Clone(p)
		toLoopback(p)
		fromLoopback(p)
		if !bytes.Equal(p, before) {
			t.Errorf("%s: %x became %x", name, before, p)
		}
	}
}

// TestRewriteUDPWithoutChecksum: 0 stays 0, and what becomes 0 is written as its equal.
func TestRewriteUDPWithoutChecksum(t *testing.T) {
	p := packet(protocolUDP, "198.18.1.2", "198.19.127.1", "hello")
	p[26], p[27] = 0, 0
	toLoopback(p)
	if p[26] != 0 || p[27] != 0 {
		t.Errorf("checksum %x", p[26:28])
	}
}

// FuzzRewrite: no bytes make it fail, and there and back again nothing has changed, checksums of value 0 and 0xffff being the same.
func FuzzRewrite(f *testing.F) {
	f.Add(packet(protocolTCP, "198.18.1.2", "198.19.127.1", "x"))
	f.Add(packet(protocolUDP, "198.18.255.255", "198.19.127.1", "xy"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p := bytes.Clone(b)
		toLoopback(p)
		if bytes.Equal(p, b) || len(p) < 20 {
			fromLoopback(p)
			return
		}
		// The answer has the ends exchanged.
		source, destination := [4]byte(p[12:16]), [4]byte(p[16:20])
		copy(p[12:], destination[:])
		copy(p[16:], source[:])
		fromLoopback(p)
		if to := [4]byte(p[16:20]); source[0] == 127 && source[1] == 18 && to != [4]byte(b[12:16]) {
			t.Fatalf("the answer to %x goes to %v", b, to)
		}
	})
}

package link

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/mqlab/mqlab/internal/link/packettest"
)

// ip4 makes a packet with right checksums: TCP with 12 bytes of options, or UDP.
func ip4(protocol byte, payload int, chance *rand.Rand) []byte {
	header := 32
	if protocol == protocolUDP {
		header = 8
	}
	p := make([]byte, 20+header+payload)
	p[0], p[9] = 0x45, protocol
	for i := 12; i < len(p); i++ {
		p[i] = byte(chance.Uint32())
	}
	if protocol == protocolTCP {
		p[20+12] = 8 << 4
	}
	packettest.Seal(p)
	return p
}

func differing(a, b []byte) (n int) {
	for i := range a {
		n += bits.OnesCount8(a[i] ^ b[i])
	}
	return n
}

func TestCorruptTurnsOneBitBehindTheHeader(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		whole := ip4(protocolTCP, chance.IntN(50), chance)
		p := append([]byte(nil), whole...)
		if !corrupt(p, chance, false) || differing(p, whole) != 1 || differing(p[:20], whole[:20]) != 0 {
			t.Fatalf("%x became %x", whole, p)
		}
	}
}

func TestCorruptWithFixedChecksum(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	for _, protocol := range []byte{protocolTCP, protocolUDP} {
		header := len(ip4(protocol, 0, chance))
		for range 2000 {
			whole := ip4(protocol, 1+chance.IntN(50), chance)
			p := append([]byte(nil), whole...)
			if !corrupt(p, chance, true) || differing(p[header:], whole[header:]) != 1 {
				t.Fatalf("%x became %x", whole, p)
			}
			if sum := packettest.Transport(p); sum != 0 {
				t.Fatalf("protocol %d: the checksum of %x is off by %#x", protocol, p, sum)
			}
		}
		bare := ip4(protocol, 0, chance)
		if corrupt(bare, chance, true) {
			t.Errorf("protocol %d: a packet without payload was changed", protocol)
		}
	}
}

func TestFlowOf(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	a := ip4(protocolTCP, 10, chance)
	same := append([]byte(nil), a...)
	same[len(same)-1]++ // payload
	if FlowOf(a) != FlowOf(same) {
		t.Error("payload is part of the flow")
	}
	for i, what := range map[int]string{9: "protocol", 12: "source", 19: "destination", 21: "source port", 23: "destination port"} {
		other := append([]byte(nil), a...)
		other[i] ^= 1
		if i == 9 {
			other[9] = protocolUDP
		}
		if FlowOf(a) == FlowOf(other) {
			t.Errorf("%s is not part of the flow", what)
		}
	}
	six := make([]byte, 60)
	six[0], six[6] = 0x60, protocolUDP
	other := append([]byte(nil), six...)
	other[39] = 1
	if FlowOf(six) == FlowOf(other) {
		t.Error("IPv6 addresses are not part of the flow")
	}
}

// FuzzPackets: no bytes make the parser fail.
func FuzzPackets(f *testing.F) {
	f.Add([]byte("\x45\x00\x00\x14\x00\x00\x00\x00\x40\x06\x00\x00\x01\x02\x03\x04\x05\x06\x07\x08\x00\x01\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\xf0"), true)
	f.Add([]byte("\x60"), false)
	f.Fuzz(func(t *testing.T, b []byte, fix bool) {
		FlowOf(b)
		p := append([]byte(nil), b...)
		changed := corrupt(p, rand.New(rand.NewPCG(1, uint64(len(b)))), fix)
		if n := differing(p, b); changed != (n > 0) || !fix && n > 1 {
			t.Fatalf("%x became %x (%v)", b, p, changed)
		}
	})
}

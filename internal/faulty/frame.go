package faulty

import (
	"errors"
	"math/rand/v2"
	"slices"
)

var errFrame = errors.New("relay: this is no MQTT packet: its remaining length has more than four bytes")

// packetSize returns the size of the MQTT packet at the start of b, from its fixed header: a byte of type and flags, and
// the remaining length in up to four bytes of seven bits, lowest first. 0 means that b holds no whole fixed header yet.
func packetSize(b []byte) (int, error) {
	length := 0
	for i := 1; i < len(b); i++ {
		if i > 4 {
			return 0, errFrame
		}
		length |= int(b[i]&0x7f) << (7 * (i - 1))
		if b[i] < 0x80 {
			return 1 + i + length, nil
		}
	}
	return 0, nil
}

// isPlainPublish reports whether a packet with this first byte is a PUBLISH with QoS 0.
func isPlainPublish(first byte) bool { return first>>4 == 3 && first&0x06 == 0 }

// RelayPlan says what a Relay does to the PUBLISH packets of QoS 0 on their way from the broker to its clients.
type RelayPlan struct {
	Seed uint64
	// Faults are by ordinal number, from 0, of the packet among all such packets. There is no Foreign: a relay knows no stamps.
	Faults map[uint64]Fault
	// Payload is how many bytes at the end of each packet are its payload: where Corrupt may do damage.
	Payload int
}

// RelayTruth is what a Relay did.
type RelayTruth struct {
	Packets  uint64 // of the kind that has faults
	Lost     uint64
	Repeated uint64
	Deferred uint64 // and really overtaken
	Damaged  uint64
}

// tampering is what all connections of a Relay share.
type tampering struct {
	plan  RelayPlan
	rng   *rand.Rand
	truth RelayTruth
}

func newTampering(p RelayPlan) *tampering {
	return &tampering{plan: p, rng: rand.New(rand.NewPCG(p.Seed, 0x72656c6179))}
}

// tamper is one connection's way from the broker to the client.
type tamper struct {
	*tampering
	held []heldPacket
}

type heldPacket struct {
	bytes  []byte
	left   int
	repeat bool
}

// feed passes the whole packets of in on to out, with their faults, and returns how much of in it used.
func (t *tamper) feed(in, out []byte) (used int, _ []byte, err error) {
	for used < len(in) {
		n, err := packetSize(in[used:])
		if err != nil {
			return used, out, err
		}
		if n == 0 || n > len(in)-used {
			break
		}
		packet := in[used : used+n]
		used += n
		if isPlainPublish(packet[0]) {
			out = t.pass(packet, out)
		} else {
			out = append(out, packet...)
		}
	}
	return used, out, nil
}

func (t *tamper) pass(packet, out []byte) []byte {
	f := t.plan.Faults[t.truth.Packets]
	t.truth.Packets++
	switch {
	case f.Kind == Lose:
		t.truth.Lost++
		return out
	case f.Kind == Defer && f.By > 0:
		t.hold(packet, f.By, false)
		return out
	}
	out = append(out, packet...)
	switch {
	case f.Kind == Corrupt && t.plan.Payload > 0:
		t.truth.Damaged++
		bit := t.rng.IntN(8 * t.plan.Payload)
		out[len(out)-t.plan.Payload+bit/8] ^= 1 << (bit % 8)
	case f.Kind == Repeat && f.By == 0:
		t.truth.Repeated++
		out = append(out, packet...)
	}
	out = t.overtake(out)
	if f.Kind == Repeat && f.By > 0 {
		t.hold(packet, f.By, true)
	}
	return out
}

func (t *tamper) hold(packet []byte, by int, repeat bool) {
	t.held = append(t.held, heldPacket{slices.Clone(packet), by, repeat})
}

// overtake lets go what has now been overtaken by enough packets.
func (t *tamper) overtake(out []byte) []byte {
	keep := t.held[:0]
	for _, h := range t.held {
		if h.left--; h.left > 0 {
			keep = append(keep, h)
			continue
		}
		if h.repeat {
			t.truth.Repeated++
		} else {
			t.truth.Deferred++
		}
		out = append(out, h.bytes...)
	}
	t.held = keep
	return out
}

// flush lets go everything but repetitions, which are given up: nothing has come for long.
func (t *tamper) flush(out []byte) []byte {
	for _, h := range t.held {
		if !h.repeat {
			out = append(out, h.bytes...)
		}
	}
	t.held = nil
	return out
}

package probe

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mqlab/mqlab/internal/proto/mqtt"
)

const (
	packetBound  = 16 << 20 // bytes of the largest message that is tried
	receiveBound = 10_000   // unreleased QoS 2 messages that are tried at most
)

// appendPublish encodes a PUBLISH (§3.3) that keeps to no limit of the broker, as the session would. id 0 = QoS 0, else 2.
func appendPublish(out []byte, version byte, topic string, id uint16, payload []byte) []byte {
	remaining := 2 + len(topic) + len(payload)
	first := byte(0x30)
	if id > 0 {
		first, remaining = 0x34, remaining+2
	}
	if version == mqtt.V5 {
		remaining++
	}
	out = binary.AppendUvarint(append(out, first), uint64(remaining))
	out = append(out, byte(len(topic)>>8), byte(len(topic)))
	out = append(out, topic...)
	if id > 0 {
		out = append(out, byte(id>>8), byte(id))
	}
	if version == mqtt.V5 {
		out = append(out, 0)
	}
	return append(out, payload...)
}

// overhead is what a PUBLISH with QoS 0 needs besides a payload of this size.
func overhead(version byte, topic string, size int) int {
	return len(appendPublish(nil, version, topic, 0, nil)) + len(binary.AppendUvarint(nil, uint64(size))) - 1
}

// packets looks for the largest message that reaches a subscriber.
func (m *mqttLab) packets(ctx context.Context) ([]Answer, error) {
	topic := m.topic()
	seen := sizeSeen{overhead: func(size int) int { return overhead(m.version, topic, size) }, bound: packetBound}
	if m.claims.maxPacket != nil {
		seen.claimed = int(*m.claims.maxPacket)
	}
	sub, err := m.connect(ctx, m.id("packetsub"), nil)
	if err != nil {
		return nil, err
	}
	defer sub.close()
	if _, err := sub.subscribe(topic, "", 0); err != nil {
		return nil, err
	}
	seq := uint64(0)
	err = seen.search(func(size int) (bool, string, error) {
		seq += 2
		return m.passes(ctx, sub, topic, seq, size)
	})
	return []Answer{seen.answer(AskPacket)}, err
}

// passes publishes message seq with this size, and a small one after it, and tells whether the first arrived; if not,
// what the broker said.
func (m *mqttLab) passes(ctx context.Context, sub *peer, topic string, seq uint64, size int) (bool, string, error) {
	pub, err := m.connect(ctx, m.id("packetpub"), nil)
	if err != nil {
		return false, "", err
	}
	arrived := make(chan error, 1)
	go func() { arrived <- sub.await(seq + 1) }()
	pub.out = appendPublish(pub.out, m.version, topic, 0, payload(seq, size))
	refusal := pub.send()
	if refusal == nil {
		refusal = pub.settle()
	}
	if refusal != nil {
		pub.drop()
		if pub, err = m.connect(ctx, m.id("packetpub"), nil); err != nil {
			return false, "", errors.Join(err, <-arrived)
		}
	}
	defer pub.close()
	err = pub.publish(message(topic, 0, seq+1))
	err = errors.Join(<-arrived, err)
	passed := false
	for _, d := range sub.got {
		passed = passed || d.seq == seq && d.size == max(size, minPayload)
	}
	sub.got = nil
	if err != nil && !passed { // a broker that is busy with the large message may drop the small one
		return false, "", fmt.Errorf("a message of %d bytes: %w", size, err)
	}
	if refusal != nil {
		return passed, refusal.Error(), nil
	}
	return passed, "silently dropped", nil
}

// receiveMaximum sends as many QoS 2 messages at once as the broker claims to take, and then more, without releasing any.
func (m *mqttLab) receiveMaximum(ctx context.Context) ([]Answer, error) {
	seen := receiveSeen{version: m.version, claimed: m.claims.receiveMaximum, maxQoS: m.claims.maxQoS}
	if !seen.testable() {
		return []Answer{seen.answer()}, nil
	}
	p, err := m.connect(ctx, m.id("receive"), nil)
	if err != nil {
		return nil, err
	}
	defer p.drop()
	topic := m.topic()
	send := func(from, to int) (recorded int, end string) {
		for id := from; id < to; id++ {
			p.out = appendPublish(p.out, m.version, topic, uint16(id+1), payload(uint64(id), 0))
		}
		if err := p.flush(); err != nil {
			return 0, err.Error()
		}
		return readRecords(p, to-from)
	}
	limit := int(*seen.claimed)
	if seen.within, seen.withinEnd = send(0, limit); seen.withinEnd == "" {
		seen.beyond, seen.beyondEnd = send(limit, limit+receiveExtra)
	}
	return []Answer{seen.answer()}, nil
}

// readRecords reads packets until n PUBRECs are there, or the connection ended.
func readRecords(p *peer, n int) (records int, end string) {
	const pubrec, disconnect = 5, 14
	in := p.in[p.used:]
	deadline := p.until(time.Second)
	for records < n {
		for size := mqtt.Need(in); size > 0 && size <= len(in); size = mqtt.Need(in) {
			switch packet := in[:size]; packet[0] >> 4 {
			case pubrec:
				records++
			case disconnect:
				if size > 2 {
					return records, fmt.Sprintf("disconnected with reason 0x%02X", packet[2])
				}
				return records, "disconnected"
			}
			in = in[size:]
		}
		if records >= n {
			break
		}
		if err := p.nc.SetReadDeadline(deadline); err != nil {
			return records, err.Error()
		}
		buf := make([]byte, 4096)
		k, err := p.nc.Read(buf)
		in = append(in[:len(in):len(in)], buf[:k]...)
		switch {
		case errors.Is(err, io.EOF):
			return records, "connection closed"
		case err != nil && time.Now().After(deadline):
			return records, ""
		case err != nil:
			return records, err.Error()
		}
	}
	return records, ""
}

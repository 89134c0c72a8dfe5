package probe

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
)

const (
	nagleHow    = "delay of a second small message, while the first is not acknowledged by TCP"
	naglePairs  = 10
	naglePause  = 60 * time.Millisecond // after which the kernel has acknowledged what it received
	nagleStall  = 20 * time.Millisecond // half of the kernel's delay of an acknowledgement (40 ms)
	nagleAgree  = 8                     // of naglePairs that must say the same
	controlRuns = 3
)

// nagleSeen is how much longer the second of two small messages took than the first.
//
// A broker with Nagle's algorithm holds back a small segment while an earlier one is not acknowledged; the reader's kernel
// delays the acknowledgement by 40 ms where it can. The control is a sender of our own with Nagle's algorithm on: only if
// that stalls does the reader's kernel delay as it must, and only then does the absence of a stall mean anything.
type nagleSeen struct {
	excess  []time.Duration
	control []time.Duration
}

func (s *nagleSeen) answer() Answer {
	stalls, quick := 0, 0
	for _, d := range s.excess {
		switch {
		case d >= nagleStall:
			stalls++
		case d < nagleStall/2:
			quick++
		}
	}
	evidence := fmt.Sprintf("second message later by %s (median of %d); with a sender of ours with Nagle on: %s",
		milliseconds(median(s.excess)), len(s.excess), milliseconds(median(s.control)))
	switch {
	case len(s.excess) < naglePairs:
		return undecided(AskNagle, "only %d of %d pairs arrived", len(s.excess), naglePairs)
	case stalls >= nagleAgree:
		return decided(AskNagle, "on", "%s", evidence).with("stalls", int64(stalls)).with("median_ns", int64(median(s.excess)))
	case median(s.control) < nagleStall:
		return undecided(AskNagle, "the kernel of this host does not delay its acknowledgements: %s", evidence)
	case quick >= nagleAgree:
		return decided(AskNagle, "off", "%s", evidence).with("stalls", int64(stalls)).with("median_ns", int64(median(s.excess)))
	}
	return undecided(AskNagle, "ambiguous: of %d pairs %d stalled, %d did not", len(s.excess), stalls, quick)
}

func median(list []time.Duration) time.Duration {
	if len(list) == 0 {
		return 0
	}
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/1e6) }

// gaps measures pairs: send makes message seq leave, receive waits for it. The reader's kernel is told to delay its
// acknowledgements.
func gaps(ctx context.Context, tcp *net.TCPConn, pairs int, send, receive func(seq uint64) error) (excess []time.Duration, err error) {
	for i := range uint64(pairs) {
		if err := clock.Pause(ctx, naglePause); err != nil {
			return nil, err
		}
		var took [2]time.Duration
		for j := range took {
			if err := delayAcks(tcp); err != nil {
				return nil, err
			}
			start := time.Now()
			seq := 2*i + uint64(j)
			if err := send(seq); err != nil {
				return nil, err
			}
			if err := receive(seq); err != nil {
				return nil, err
			}
			took[j] = time.Since(start)
		}
		excess = append(excess, took[1]-took[0])
	}
	return excess, nil
}

// nagle measures the connection of sub, to which publish sends small messages.
func (l *lab) nagle(ctx context.Context, sub *peer, publish func(seq uint64) error) ([]Answer, error) {
	if sub.tcp == nil {
		return []Answer{undecided(AskNagle, "the connection is no TCP socket of this host")}, nil
	}
	var seen nagleSeen
	var err error
	if seen.excess, err = gaps(ctx, sub.tcp, naglePairs, publish, sub.await); err != nil {
		return nil, err
	}
	if seen.control, err = nagleControl(ctx); err != nil {
		return nil, err
	}
	return []Answer{seen.answer()}, nil
}

// nagleControl measures a sender of our own that has Nagle's algorithm on.
func nagleControl(ctx context.Context) ([]time.Duration, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.Close() }()
	reader, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return nil, err
	}
	defer func() { _ = reader.Close() }()
	writer, err := l.Accept()
	if err != nil {
		return nil, err
	}
	defer func() { _ = writer.Close() }()
	if err := writer.(*net.TCPConn).SetNoDelay(false); err != nil {
		return nil, err
	}
	if err := reader.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	buf := make([]byte, minPayload)
	send := func(seq uint64) error {
		_, err := writer.Write(payload(seq, 0))
		return err
	}
	receive := func(uint64) error {
		_, err := io.ReadFull(reader, buf)
		return err
	}
	return gaps(ctx, reader.(*net.TCPConn), controlRuns, send, receive)
}

// nagle measures with QoS 0, where the subscriber writes nothing that could carry an acknowledgement.
func (m *mqttLab) nagle(ctx context.Context) ([]Answer, error) {
	topic := m.topic()
	p, err := m.pair(ctx, "nagle", topic, 0)
	if err != nil {
		return nil, err
	}
	defer p.close()
	return m.lab.nagle(ctx, p.sub, func(seq uint64) error { return p.pub.publish(message(topic, 0, seq)) })
}

package linktest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/link"
)

const (
	streamed  = "streams"
	lines     = 64 // connections: a stream keeps its order, so that each carries one probe at a time
	frameSize = 32
	chunk     = 4 << 10 // of a flood
)

// streams moves probes over byte streams, for links that carry nothing else. They lose nothing and wait where packets would be
// dropped.
type streams struct {
	network  Network
	listener net.Listener
	ends     [2][]net.Conn // link.Up: of the devices
}

func newStreams(ctx context.Context, n Network) (mover, error) {
	l, err := n.Broker().Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &streams{network: n, listener: l}
	for range lines {
		near, err := n.Device().Dial(ctx, "tcp", l.Addr().String())
		if err != nil {
			return nil, errors.Join(err, m.close())
		}
		m.ends[link.Up] = append(m.ends[link.Up], near)
		far, err := l.Accept()
		if err != nil {
			return nil, errors.Join(err, m.close())
		}
		m.ends[link.Down] = append(m.ends[link.Down], far)
	}
	return m, nil
}

func (*streams) kind() string { return streamed }

func (m *streams) close() error {
	err := m.listener.Close()
	for _, conns := range m.ends {
		for _, c := range conns {
			err = errors.Join(err, c.Close())
		}
	}
	return err
}

// deadline ends reads and writes that the test no longer waits for.
func (m *streams) deadline(at time.Time) error {
	var errs []error
	for _, conns := range m.ends {
		for _, c := range conns {
			errs = append(errs, c.SetDeadline(at))
		}
	}
	return errors.Join(errs...)
}

// delays implements mover.
func (m *streams) delays(ctx context.Context, p link.Profile, o Options) (up, down []time.Duration, err error) {
	lasts := time.Duration(o.Packets) * time.Second / time.Duration(o.PerSecond)
	if err := m.deadline(time.Now().Add(lasts + tail(p.Up) + tail(p.Down) + time.Second)); err != nil {
		return nil, nil, err
	}
	var got [2][]time.Duration
	var errs [2]error
	var both sync.WaitGroup
	for _, way := range []link.Direction{link.Up, link.Down} {
		both.Go(func() {
			got[way], errs[way] = m.oneWay(ctx, way, p.Params(way), lasts)
		})
	}
	both.Wait()
	return got[link.Up], got[link.Down], errors.Join(errs[:]...)
}

// oneWay sends frames over all connections in turn and returns their delays.
func (m *streams) oneWay(ctx context.Context, way link.Direction, p link.Params, lasts time.Duration) ([]time.Duration, error) {
	// A frame may follow the one before when that must have arrived.
	gap := (tail(p) + 10*time.Millisecond) / lines
	count := int(lasts / gap)
	delays := make([]time.Duration, count)
	var errs [lines]error
	var readers sync.WaitGroup
	for i, c := range m.ends[1-way] {
		readers.Go(func() {
			frame := make([]byte, frameSize)
			for number := i; number < count; number += lines {
				if _, err := io.ReadFull(c, frame); err != nil {
					errs[i] = fmt.Errorf("a probe did not come %s: %w", way, err)
					return
				}
				delays[number] = time.Duration(clock.Now() - int64(binary.BigEndian.Uint64(frame)))
			}
		})
	}
	sendErr := m.paced(ctx, way, count, gap)
	readers.Wait()
	return delays, errors.Join(sendErr, errors.Join(errs[:]...))
}

func (m *streams) paced(ctx context.Context, way link.Direction, count int, gap time.Duration) error {
	frame := make([]byte, frameSize)
	start := clock.Now()
	for i := range count {
		if wait := time.Duration(start + int64(i)*int64(gap) - clock.Now()); wait > 0 {
			time.Sleep(wait)
		}
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), m.deadline(time.Unix(1, 0)))
		}
		binary.BigEndian.PutUint64(frame, uint64(clock.Now()))
		if _, err := m.ends[way][i%lines].Write(frame); err != nil {
			return fmt.Errorf("send a probe: %w", err)
		}
	}
	return nil
}

// flood implements mover: several connections send all they can, since the rate is that of all together.
func (m *streams) flood(_ context.Context, p link.Profile, lasts time.Duration) (up, down []arrival, err error) {
	if err := m.deadline(time.Now().Add(lasts)); err != nil {
		return nil, nil, err
	}
	var got [2][]arrival
	var mu sync.Mutex
	var all sync.WaitGroup
	const connections = 4
	for _, way := range []link.Direction{link.Up, link.Down} {
		if p.Params(way).Rate == 0 {
			continue
		}
		for i := range connections {
			all.Go(func() {
				b := make([]byte, chunk)
				for err := error(nil); err == nil; _, err = m.ends[way][i].Write(b) {
				}
			})
			all.Go(func() {
				b := make([]byte, 64<<10)
				for {
					n, err := m.ends[1-way][i].Read(b)
					if err != nil {
						return
					}
					mu.Lock()
					got[way] = append(got[way], arrival{at: clock.Now(), bits: float64(n) * 8})
					mu.Unlock()
				}
			})
		}
	}
	all.Wait() // until the deadline
	return got[link.Up], got[link.Down], nil
}

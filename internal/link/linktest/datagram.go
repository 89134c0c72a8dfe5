package linktest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/netns"
)

const datagrams = "datagrams"

// headers are those of IPv4 and UDP, which the link carries with each probe.
const headers = 28

// Layout of a probe: which test it is of, its number, when it was sent.
const (
	testAt, numberAt, sentAt = 0, 4, 8
	probeSize                = 100 // of the IP packet
	leastSize                = headers + 16
)

// packets moves probes as UDP datagrams between one socket on each side.
type packets struct {
	network Network
	ends    [2]*socket // link.Up: that of the device, from which up goes
	test    uint32     // the current one
	done    sync.WaitGroup
}

// socket is one end. What arrives there went the other way.
type socket struct {
	conn  net.Conn       // of a device, connected; or
	bound net.PacketConn // of the broker's side,
	peer  net.Addr       // which answers whoever said hello

	mu   sync.Mutex
	test uint32
	got  []probe
}

// probe is a datagram as it arrived.
type probe struct {
	number   int
	sent, at int64
	size     int // of the IP packet
}

func newMover(ctx context.Context, n Network) (mover, error) {
	there, ok := n.Broker().(netns.PacketPlace)
	if !ok {
		return newStreams(ctx, n)
	}
	bound, err := there.ListenPacket(ctx, "udp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	conn, err := n.Device().Dial(ctx, "udp4", bound.LocalAddr().String())
	if err != nil {
		_ = bound.Close()
		var unknown net.UnknownNetworkError
		if errors.As(err, &unknown) {
			return newStreams(ctx, n) // this link has no datagrams
		}
		return nil, err
	}
	m := &packets{network: n, ends: [2]*socket{{conn: conn}, {bound: bound}}}
	if err := m.hello(ctx); err != nil {
		return nil, errors.Join(err, m.close())
	}
	for _, s := range m.ends {
		m.done.Go(s.receive)
	}
	return m, nil
}

func (*packets) kind() string { return datagrams }

// hello tells the broker's side where the device is.
func (m *packets) hello(ctx context.Context) error {
	device, broker := m.ends[link.Up], m.ends[link.Down]
	buf := make([]byte, 64)
	for range 50 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if _, err := device.conn.Write(make([]byte, leastSize-headers)); err != nil {
			return err
		}
		if err := broker.bound.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
			return err
		}
		_, from, err := broker.bound.ReadFrom(buf)
		if err == nil {
			broker.peer = from
			return broker.bound.SetReadDeadline(time.Time{})
		}
	}
	return errors.New("no datagram comes through the perfect link")
}

func (m *packets) close() error {
	err := errors.Join(m.ends[link.Up].conn.Close(), m.ends[link.Down].bound.Close())
	m.done.Wait()
	return err
}

// begin starts another test; what still comes of the last one is not counted.
func (m *packets) begin() {
	m.test++
	for _, s := range m.ends {
		s.mu.Lock()
		s.test, s.got = m.test, nil
		s.mu.Unlock()
	}
}

// arrived returns what has come in a direction.
func (m *packets) arrived(way link.Direction) []probe {
	s := m.ends[1-way]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got
}

// delays implements mover.
func (m *packets) delays(ctx context.Context, p link.Profile, o Options) (up, down []time.Duration, err error) {
	m.begin()
	gap := time.Second / time.Duration(o.PerSecond)
	err = m.send(func(s *socket, _ link.Direction) error {
		return s.paced(ctx, m.test, 0, o.Packets, probeSize, gap)
	})
	if err == nil {
		err = settle(ctx, m.network, p)
	}
	if err != nil {
		return nil, nil, err
	}
	of := func(way link.Direction) []time.Duration {
		all := make([]time.Duration, o.Packets)
		for i := range all {
			all[i] = missing
		}
		for _, a := range m.arrived(way) {
			if a.number < len(all) {
				all[a.number] = time.Duration(a.at - a.sent)
			}
		}
		return all
	}
	return of(link.Up), of(link.Down), nil
}

// send lets both ends send at once.
func (m *packets) send(f func(*socket, link.Direction) error) error {
	var errs [2]error
	var both sync.WaitGroup
	for way, s := range m.ends {
		both.Go(func() { errs[way] = f(s, link.Direction(way)) })
	}
	both.Wait()
	return errors.Join(errs[:]...)
}

// over is how much more than its rate a link is offered.
const over = 1.25

// flood implements mover: first as much at once as the queue takes, then more than the rate.
func (m *packets) flood(ctx context.Context, p link.Profile, lasts time.Duration) (up, down []arrival, err error) {
	m.begin()
	err = m.send(func(s *socket, way link.Direction) error {
		params := p.Params(way)
		if params.Rate == 0 {
			return nil
		}
		size := floodSize(params, lasts)
		burst := params.Queue()/(size+params.OverheadBytes) + 1
		if params.Mode == link.NetEm {
			burst = params.QueueLimit() + 1
		}
		if err := s.paced(ctx, m.test, 0, burst, size, 0); err != nil {
			return err
		}
		gap := time.Duration(float64(params.AirTime(size)) / over)
		start := clock.Now()
		if err := s.paced(ctx, m.test, burst, int(lasts/gap), size, gap); err != nil {
			return err
		}
		// The last of the burst has waited longest; it must have come.
		arrived := start + int64(min(room(params, size), longest)+params.AirTime(size)+100*time.Millisecond)
		return clock.Pause(ctx, time.Duration(arrived-clock.Now()))
	})
	if err != nil {
		return nil, nil, err
	}
	of := func(way link.Direction) (all []arrival) {
		overhead := p.Params(way).OverheadBytes
		for _, a := range m.arrived(way) {
			all = append(all, arrival{a.at, time.Duration(a.at - a.sent), float64(a.size+overhead) * 8})
		}
		return all
	}
	return of(link.Up), of(link.Down), nil
}

// floodSize is the size of probes of which some sixty come through in a time, if that is a size of a packet.
func floodSize(p link.Params, lasts time.Duration) int {
	return min(max(int(float64(p.Rate)/8*lasts.Seconds()/60), leastSize), 1500)
}

// paced sends probes, one each gap.
func (s *socket) paced(ctx context.Context, test uint32, first, count, size int, gap time.Duration) error {
	buf := make([]byte, size-headers)
	binary.BigEndian.PutUint32(buf[testAt:], test)
	start := clock.Now()
	for i := range count {
		if wait := time.Duration(start + int64(i)*int64(gap) - clock.Now()); wait > 0 {
			time.Sleep(wait)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		binary.BigEndian.PutUint32(buf[numberAt:], uint32(first+i))
		binary.BigEndian.PutUint64(buf[sentAt:], uint64(clock.Now()))
		if err := s.write(buf); err != nil {
			return fmt.Errorf("send a probe: %w", err)
		}
	}
	return nil
}

func (s *socket) write(b []byte) (err error) {
	if s.conn != nil {
		_, err = s.conn.Write(b)
		return err
	}
	_, err = s.bound.WriteTo(b, s.peer)
	return err
}

// receive keeps what arrives until the socket is closed.
func (s *socket) receive() {
	r := newReader(s)
	buf := make([]byte, 2048)
	for {
		n, at, err := r.read(buf)
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil && isTimeout(err), err == nil && n < leastSize-headers:
			continue
		case err != nil:
			return
		}
		p := probe{
			number: int(binary.BigEndian.Uint32(buf[numberAt:])), sent: int64(binary.BigEndian.Uint64(buf[sentAt:])),
			at: at, size: n + headers,
		}
		s.mu.Lock()
		if binary.BigEndian.Uint32(buf[testAt:]) == s.test && s.test > 0 {
			s.got = append(s.got, p)
		}
		s.mu.Unlock()
	}
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// plain reads with the time at which the datagram is in our hands.
type plain struct{ s *socket }

func (p plain) read(buf []byte) (n int, at int64, err error) {
	if p.s.conn != nil {
		n, err = p.s.conn.Read(buf)
	} else {
		n, _, err = p.s.bound.ReadFrom(buf)
	}
	return n, clock.Now(), err
}

// reader reads a datagram and says when it arrived.
type reader interface {
	read(buf []byte) (n int, at int64, err error)
}

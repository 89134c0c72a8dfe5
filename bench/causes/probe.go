//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/jitter"
	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/mqtt"
)

// probe is a client of ours that publishes on a schedule and receives its own messages, or waits for their acknowledgements. What lies
// between it and the broker is the scenario's. It moves its bytes itself: who converses (internal/converse) waits in a read, and a
// schedule waits for nobody.
type probe struct {
	dial     func(ctx context.Context) (net.Conn, error)
	client   proto.Client              // nil = MQTT
	count    int                       // of messages
	interval time.Duration             // between them
	gap      func(i int) time.Duration // before the i-th, instead of interval; nil = interval
	acks     bool                      // the time until a message is acknowledged is measured
	confirm  bool                      // messages are of QoS 1, but the time until they come back is measured
	window   int                       // of unacknowledged messages; 0 = no bound
	late     func(i int) time.Duration // that the program works before it sends the i-th; nil = never
	split    bool                      // it writes the head of a message, and then the rest, with Nagle's algorithm on
	early    bool                      // it sends from the begin, connected or not
	skew     time.Duration             // of the receiver's clock, which is another host's
	watch    func(now int64)           // called after whatever happened on the connection; nil = nobody is

	mu       sync.Mutex
	conn     net.Conn
	out      []byte
	waiting  []int // messages that have no room
	since    int64 // when the first of them came; 0 = there is none
	full     []diagnose.Span
	messages []diagnose.Message
	payload  [10]byte // the number; with its headers it fits into what a link shows of a packet
	ready    chan struct{}
	left     int
	done     chan struct{}
	failed   error
}

const probeTopic = "c/p"

// run measures, with a probe of the host beside.
func (p *probe) run(ctx context.Context) (*diagnose.Input, error) {
	in := &diagnose.Input{Sources: []diagnose.Source{diagnose.Times, diagnose.Schedule, diagnose.Events}}
	beside, calm := context.WithCancel(ctx)
	var host sync.WaitGroup
	var hostErr error
	host.Go(func() { hostErr = jitter.HostNoise(beside, in) })
	err := p.measure(ctx)
	calm()
	host.Wait()
	if err := errors.Join(err, hostErr); err != nil {
		return nil, err
	}
	in.Messages = p.messages
	if p.window > 0 {
		in.Sources = append(in.Sources, diagnose.Window)
		if len(p.full) > 0 {
			in.Signals = append(in.Signals, diagnose.Signal{Cause: diagnose.WindowFull, Side: "client", Spans: p.full, Certain: true})
		}
	}
	return in, nil
}

// patience is how long messages may take after the last was sent.
const patience = 10 * time.Second

func (p *probe) measure(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if p.client == nil {
		p.client = mqtt.NewClient(&mqtt.Config{Version: mqtt.V311, CleanStart: true, KeepAlive: time.Minute}, fmt.Sprintf("causes-%d", clock.Now()))
	}
	p.ready, p.done, p.left = make(chan struct{}), make(chan struct{}), p.count
	p.messages = make([]diagnose.Message, p.count)
	var wg sync.WaitGroup
	defer wg.Wait()
	connected := make(chan error, 1)
	wg.Go(func() { connected <- p.connect(ctx, &wg) })
	if !p.early {
		select {
		case err := <-connected:
			if err != nil {
				return err
			}
			connected <- nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		select {
		case <-p.ready:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	p.publish(ctx)
	select {
	case <-p.done:
	case <-time.After(patience):
	case <-ctx.Done():
	}
	err := <-connected
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn != nil {
		_ = p.conn.Close()
	}
	if err == nil && p.left > 0 {
		err = p.failed
	}
	return err
}

// connect dials and starts to read.
func (p *probe) connect(ctx context.Context, wg *sync.WaitGroup) error {
	conn, err := p.dial(ctx)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conn = conn
	if tcp, ok := conn.(*net.TCPConn); ok && p.split {
		if err := tcp.SetNoDelay(false); err != nil {
			return err
		}
	}
	p.out = p.client.Open(clock.Now(), p.out)
	wg.Go(p.read)
	return p.flush()
}

// publish sends what is due, when it is due.
func (p *probe) publish(ctx context.Context) {
	due := clock.Now() + int64(20*time.Millisecond)
	for i := range p.count {
		for clock.Now() < due && ctx.Err() == nil {
			clock.SleepUntil(due)
		}
		if p.late != nil {
			if d := p.late(i); d > 0 {
				_ = clock.Pause(ctx, d)
			}
		}
		p.mu.Lock()
		p.messages[i] = diagnose.Message{Due: due, Sent: clock.Now(), Lost: true}
		p.waiting = append(p.waiting, i)
		p.pump()
		p.mu.Unlock()
		step := p.interval
		if p.gap != nil {
			step = p.gap(i)
		}
		due += int64(step)
	}
}

func (p *probe) qos() uint8 {
	if p.acks || p.confirm || p.window > 0 {
		return 1
	}
	return 0
}

// pump sends what there is room for.
func (p *probe) pump() {
	now := clock.Now()
	connected := true
	select {
	case <-p.ready:
	default:
		connected = false
	}
	for len(p.waiting) > 0 && connected && p.client.Room(p.qos()) > 0 && (p.window == 0 || p.unacked() < p.window) {
		i := p.waiting[0]
		copy(p.payload[:], fmt.Sprintf("%010d", i))
		out, err := p.client.Publish(&proto.Message{Token: uint64(i), Topic: []byte(probeTopic), Payload: p.payload[:], QoS: p.qos()}, p.out)
		if err != nil {
			p.failed = err
			break
		}
		p.out, p.waiting = out, p.waiting[1:]
	}
	if connected {
		switch {
		case len(p.waiting) > 0 && p.since == 0:
			p.since = now
		case len(p.waiting) == 0 && p.since != 0:
			p.full = append(p.full, diagnose.Span{From: p.since, To: now})
			p.since = 0
		}
	}
	if p.conn != nil {
		if err := p.flush(); err != nil {
			p.failed = err
		}
	}
}

// unacked is how many messages were sent and are not acknowledged.
func (p *probe) unacked() int {
	if c, ok := p.client.(interface{ InFlight() int }); ok {
		return c.InFlight()
	}
	return 0
}

// flush writes what is to be written.
func (p *probe) flush() error {
	if len(p.out) == 0 {
		return nil
	}
	rest := p.out
	if p.split {
		if _, err := p.conn.Write(rest[:2]); err != nil {
			return err
		}
		rest = rest[2:]
	}
	_, err := p.conn.Write(rest)
	p.out = p.out[:0]
	return err
}

// read takes what comes until the connection ends.
func (p *probe) read() {
	buffer := make([]byte, 1<<20)
	n := 0
	for {
		got, err := p.conn.Read(buffer[n:])
		now := clock.Now()
		if err != nil {
			return
		}
		n += got
		p.mu.Lock()
		used, err := p.feed(now, buffer[:n])
		if err == nil {
			_, p.out, err = p.client.Tick(now, p.out)
		}
		if p.watch != nil {
			p.watch(now)
		}
		p.pump()
		if err != nil {
			p.failed = err
		}
		p.mu.Unlock()
		n = copy(buffer, buffer[used:n])
	}
}

func (p *probe) feed(now int64, in []byte) (used int, err error) {
	var ev proto.Event
	for {
		n, out, err := p.client.Feed(now, in[used:], p.out, &ev)
		p.out = out
		if err != nil {
			return used, err
		}
		used += n
		switch ev.Kind {
		case proto.None:
			if n == 0 {
				return used, nil
			}
		case proto.Ready:
			if p.acks {
				close(p.ready)
				break
			}
			p.out, err = p.client.Subscribe(&proto.Subscription{Topic: probeTopic}, p.out)
		case proto.Subscribed:
			close(p.ready)
		case proto.Acked:
			if p.acks {
				p.arrived(int(ev.Token), now)
			}
		case proto.Delivered:
			if i, wrong := strconv.Atoi(string(ev.Payload)); wrong == nil {
				p.arrived(i, clock.Now())
			}
		}
		if err != nil {
			return used, err
		}
	}
}

// arrived books a message.
func (p *probe) arrived(i int, now int64) {
	if i < 0 || i >= len(p.messages) || !p.messages[i].Lost {
		return
	}
	p.messages[i].Recv, p.messages[i].Lost = now+int64(p.skew), false
	if p.left--; p.left == 0 {
		close(p.done)
	}
}

// to dials an address of this host.
func to(address string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp4", address)
	}
}

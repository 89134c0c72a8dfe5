package jitter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/mqtt"
)

// Topics of the measurement: the client publishes to one, the echo answers on the other.
const (
	requests = "mqlab/jitter/request"
	answers  = "mqlab/jitter/echo"
)

// echo is a client that publishes what it receives again, at once; or one that only notes when each message came.
type echo struct {
	silent bool
	came   map[uint32]int64 // of a silent one: by the number of the message, ns
	conn   net.Conn
	client *mqtt.Client
	out    []byte
	ended  chan error
	once   sync.Once
}

// startEcho connects an echo to a broker and returns once it is subscribed.
func startEcho(ctx context.Context, from netns.Place, address string, noDelay, silent bool, seed int64) (*echo, error) {
	if from == nil {
		from = netns.Host
	}
	conn, err := from.Dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		if err := tcp.SetNoDelay(noDelay); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	config := &mqtt.Config{Version: mqtt.V311, CleanStart: true, KeepAlive: 5 * time.Minute}
	e := &echo{silent: silent, came: map[uint32]int64{}, conn: conn, client: mqtt.NewClient(config, fmt.Sprintf("mqlab-echo-%d", seed)), ended: make(chan error, 1)}
	e.out = e.client.Open(clock.Now(), nil)
	subscribed := make(chan struct{})
	go func() { e.ended <- e.run(subscribed) }()
	select {
	case <-subscribed:
		return e, nil
	case err := <-e.ended:
		return nil, fmt.Errorf("echo: %w", err)
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), conn.Close())
	}
}

// run moves bytes until the connection ends.
func (e *echo) run(subscribed chan<- struct{}) error {
	buffer := make([]byte, 1<<20)
	n := 0
	for {
		if len(e.out) > 0 {
			if _, err := e.conn.Write(e.out); err != nil {
				return err
			}
			e.out = e.out[:0]
		}
		got, err := e.conn.Read(buffer[n:])
		if err != nil {
			return err
		}
		n += got
		used, err := e.feed(buffer[:n], subscribed)
		if err != nil {
			return err
		}
		n = copy(buffer, buffer[used:n])
		if _, e.out, err = e.client.Tick(clock.Now(), e.out); err != nil {
			return err
		}
	}
}

func (e *echo) feed(in []byte, subscribed chan<- struct{}) (used int, err error) {
	var ev proto.Event
	for {
		n, out, err := e.client.Feed(clock.Now(), in[used:], e.out, &ev)
		e.out = out
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
			e.out, err = e.client.Subscribe(&proto.Subscription{Topic: requests, QoS: 1}, e.out)
		case proto.Subscribed:
			if err = ev.Err; err == nil {
				close(subscribed)
			}
		case proto.Delivered:
			if e.silent {
				e.came[number(ev.Payload)] = clock.Now()
				break
			}
			e.out, err = e.client.Publish(&proto.Message{Topic: []byte(answers), Payload: ev.Payload, QoS: ev.QoS}, e.out)
		}
		if err != nil {
			return used, err
		}
	}
}

// number is that of a message: ten digits at offset 8 of its payload.
func number(payload []byte) (n uint32) {
	if len(payload) < 18 {
		return math.MaxUint32
	}
	for _, c := range payload[8:18] {
		n = n*10 + uint32(c-'0')
	}
	return n
}

// close ends the echo; what it noted is whole then.
func (e *echo) close() {
	_ = e.conn.Close()
	e.once.Do(func() { <-e.ended })
}

package jitter

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/converse"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/mqtt"
)

// echo is a client that publishes what it receives again, at once; or one that only notes when each message came.
type echo struct {
	topics    Topics
	silent    bool
	came      map[uint32]int64 // of a silent one: by the number of the message, ns
	latest    uint32
	again     int // of a silent one: messages that came more than once,
	reordered int // behind a later one,
	foreign   int // and without a number
	client    *mqtt.Client
	talk      converse.Conversation
	ended     chan error
	once      sync.Once
}

// startEcho connects an echo to a broker and returns once it is subscribed.
func startEcho(ctx context.Context, from netns.Place, s *server, topics Topics, noDelay, silent bool) (*echo, error) {
	conn, err := s.dial(ctx, from, noDelay)
	if err != nil {
		return nil, err
	}
	config := &mqtt.Config{Version: mqtt.V311, CleanStart: true, KeepAlive: 5 * time.Minute}
	client := mqtt.NewClient(config, fmt.Sprintf("mqlab-echo-%d", clock.Now()))
	e := &echo{
		topics: topics, silent: silent, came: map[uint32]int64{}, ended: make(chan error, 1), client: client,
		talk: converse.Conversation{Conn: conn, Session: client, Out: client.Open(clock.Now(), nil), Every: keepAliveEvery},
	}
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

// Echo sends messages back until ctx ends, for a client on another machine. ready is called once it is subscribed.
func Echo(ctx context.Context, broker, ca string, topics Topics, ready func()) error {
	s, err := dialing(broker, ca)
	if err != nil {
		return err
	}
	e, err := startEcho(ctx, netns.Host, s, topics, true, false)
	if err != nil {
		return err
	}
	ready()
	select {
	case <-ctx.Done():
		e.close()
		return nil
	case err := <-e.ended:
		return fmt.Errorf("echo: the broker ended the connection: %w", err)
	}
}

// keepAliveEvery is how often an echo looks whether its connection needs a sign of life.
const keepAliveEvery = 30 * time.Second

// run answers until the connection ends.
func (e *echo) run(subscribed chan<- struct{}) error {
	for {
		ev, err := e.talk.Next()
		if err != nil {
			return err
		}
		switch ev.Kind {
		case proto.Ready:
			e.talk.Out, err = e.client.Subscribe(&proto.Subscription{Topic: e.topics.Request, QoS: 1}, e.talk.Out)
		case proto.Subscribed:
			if err = ev.Err; err == nil {
				close(subscribed)
			}
		case proto.Delivered:
			if e.silent {
				e.note(number(ev.Payload))
				break
			}
			e.talk.Out, err = e.client.Publish(&proto.Message{Topic: []byte(e.topics.Answer), Payload: ev.Payload, QoS: ev.QoS}, e.talk.Out)
		}
		if err != nil {
			return err
		}
	}
}

// note keeps when a message came first.
func (e *echo) note(seq uint32) {
	now := clock.Now()
	if _, again := e.came[seq]; again {
		e.again++
		return
	}
	switch {
	case seq == noNumber:
		e.foreign++
		return
	case seq < e.latest:
		e.reordered++
	}
	e.came[seq], e.latest = now, max(e.latest, seq)
}

const noNumber = math.MaxUint32

// number is that of a message: ten digits at offset 8 of its payload.
func number(payload []byte) (n uint32) {
	if len(payload) < 18 {
		return noNumber
	}
	for _, c := range payload[8:18] {
		if c < '0' || c > '9' {
			return noNumber
		}
		n = n*10 + uint32(c-'0')
	}
	return n
}

// close ends the echo; what it noted is whole then.
func (e *echo) close() {
	if e.talk.Conn == nil {
		return
	}
	_ = e.talk.Conn.Close()
	e.once.Do(func() { <-e.ended })
}

// dial connects to the broker.
func (s *server) dial(ctx context.Context, from netns.Place, noDelay bool) (net.Conn, error) {
	if from == nil {
		from = netns.Host
	}
	conn, err := from.Dial(ctx, "tcp", s.address())
	if err != nil {
		return nil, err
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		if err := tcp.SetNoDelay(noDelay); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	if s.tls == nil {
		return conn, nil
	}
	secure := tls.Client(conn, s.tls)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", s.address(), err), conn.Close())
	}
	return secure, nil
}

package prototest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/prototest"
	"github.com/mqlab/mqlab/internal/proto/resp"
)

// redisSizes are payload sizes around the edges of buffers and digits.
var redisSizes = []int{0, 1, 9, 10, 40, 99, 100, 999, 1000, 4095, 4096, 9999, 10000, 16384, 65535, 65536, 100000, 1 << 20}

// redisPeer is one of our clients on a connection.
type redisPeer struct {
	*prototest.Conn
	t      *testing.T
	client prototest.Client
}

// dialRedis connects a client and waits until it is accepted.
func dialRedis(t *testing.T, addr string, c prototest.Client) *redisPeer {
	t.Helper()
	conn, err := prototest.Dial(addr, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Abort() })
	p := &redisPeer{Conn: conn, t: t, client: c}
	p.expect(proto.Ready, 0)
	return p
}

// next waits for an event.
func (p *redisPeer) next() *proto.Event {
	p.t.Helper()
	ev, err := p.Next(patience)
	if err != nil {
		p.t.Fatal(err)
	}
	return ev
}

// expect wants the next event to be without error and of this kind, and returns it.
func (p *redisPeer) expect(kind proto.Kind, token uint64) *proto.Event {
	p.t.Helper()
	ev := p.next()
	if ev.Kind != kind || ev.Token != token || ev.Err != nil {
		p.t.Fatalf("kind %d, token %d, %v; want kind %d, token %d", ev.Kind, ev.Token, ev.Err, kind, token)
	}
	return ev
}

// subscribe asks for a subscription and does not wait for the answer.
func (p *redisPeer) subscribe(s proto.Subscription) {
	p.t.Helper()
	if err := p.Send(func(out []byte) ([]byte, error) { return p.client.Subscribe(&s, out) }); err != nil {
		p.t.Fatal(err)
	}
}

// subscribed subscribes and waits for the confirmation.
func (p *redisPeer) subscribed(s proto.Subscription) {
	p.t.Helper()
	p.subscribe(s)
	p.expect(proto.Subscribed, s.Token)
}

func (p *redisPeer) publish(topic string, payload []byte, qos uint8, token uint64) {
	p.t.Helper()
	m := proto.Message{Token: token, Topic: []byte(topic), Payload: payload, QoS: qos}
	if err := p.Send(func(out []byte) ([]byte, error) { return p.client.Publish(&m, out) }); err != nil {
		p.t.Fatal(err)
	}
}

// barrier waits until the server has handled all that was sent, and returns in words what arrived before.
func (p *redisPeer) barrier() (got []string) {
	p.t.Helper()
	const token = 1 << 40
	if err := p.Send(func(out []byte) ([]byte, error) { return p.client.Barrier(token, out), nil }); err != nil {
		p.t.Fatal(err)
	}
	for {
		ev := p.next()
		switch {
		case ev.Err != nil:
			p.t.Fatal(ev.Err)
		case ev.Kind == proto.Barrier && ev.Token == token:
			return got
		case ev.Kind == proto.Delivered:
			got = append(got, fmt.Sprintf("%s %s", ev.Topic, ev.Payload))
		}
	}
}

// redisRefusal connects and returns the error that ends the connection.
func redisRefusal(t *testing.T, addr string, c prototest.Client) error {
	t.Helper()
	conn, err := prototest.Dial(addr, c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Abort() }()
	ev, err := conn.Next(patience)
	if err == nil {
		t.Fatalf("not refused: event of kind %d, %v", ev.Kind, ev.Err)
	}
	return err
}

func isServerError(err error) bool {
	var refused *resp.ServerError
	return errors.As(err, &refused)
}

// libraryRedis makes a client of the foreign library, which speaks version 2 or 3 of the protocol.
func libraryRedis(t testing.TB, addr string, resp2 bool) *goredis.Client {
	t.Helper()
	options := &goredis.Options{Addr: addr, Protocol: 3}
	if resp2 {
		options.Protocol = 2
	}
	library := goredis.NewClient(options)
	t.Cleanup(func() { _ = library.Close() })
	return library
}

// within is the time that a call of the library may take.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// redisBoth runs a test with both versions of the protocol on a server of its own.
func redisBoth(t *testing.T, settings []string, test func(t *testing.T, addr string, resp2 bool)) {
	t.Parallel()
	addr := redis(t, settings...)
	for name, resp2 := range redisVersions {
		t.Run(name, func(t *testing.T) { test(t, addr, resp2) })
	}
}

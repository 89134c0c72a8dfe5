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
type redisPeer struct{ *clientPeer[prototest.Client] }

// dialRedis connects a client and waits until it is accepted.
func dialRedis(t *testing.T, addr string, c prototest.Client) *redisPeer {
	t.Helper()
	return &redisPeer{dialPeer(t, addr, c)}
}

// subscribe asks for a subscription and does not wait for the answer.
func (p *redisPeer) subscribe(s proto.Subscription) {
	p.t.Helper()
	p.ask(s)
}

// subscribed subscribes and waits for the confirmation.
func (p *redisPeer) subscribed(s proto.Subscription) {
	p.t.Helper()
	p.subscribe(s)
	p.expect(proto.Subscribed, s.Token)
}

func (p *redisPeer) publish(topic string, payload []byte, qos uint8, token uint64) {
	p.t.Helper()
	p.say(proto.Message{Token: token, Topic: []byte(topic), Payload: payload, QoS: qos})
}

// barrier waits until the server has handled all that was sent, and returns in words what arrived before.
func (p *redisPeer) barrier() (got []string) {
	p.t.Helper()
	const token = 1 << 40
	p.mark(token)
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

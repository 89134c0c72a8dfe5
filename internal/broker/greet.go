package broker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/mqlab/mqlab/internal/converse"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/amqp091"
	"github.com/mqlab/mqlab/internal/proto/amqp10"
	"github.com/mqlab/mqlab/internal/proto/mqtt"
	"github.com/mqlab/mqlab/internal/proto/nats"
	"github.com/mqlab/mqlab/internal/proto/resp"
	"github.com/mqlab/mqlab/internal/proto/zenoh"
	"github.com/mqlab/mqlab/internal/websocket"
)

const greetLimit = time.Second // for one attempt

// greet connects to an address and returns nil when the broker there speaks the protocol of the scheme. Both versions of
// AMQP, which have nothing in common, share one.
func greet(ctx context.Context, place netns.Place, scheme, address string) error {
	switch scheme {
	case "ws", "mqtt", "mqtts": // the oldest version is understood by every broker
		return greetWith(ctx, place, scheme, address, mqtt.NewClient(&mqtt.Config{Version: mqtt.V311, CleanStart: true}, readyName))
	case "nats", "tls":
		return greetWith(ctx, place, scheme, address, nats.NewClient(&nats.Config{Name: readyName, TLS: scheme == "tls"}))
	case "redis", "rediss":
		return greetWith(ctx, place, scheme, address, resp.NewPubSub(&resp.Config{}, readyName))
	case "zenoh": // a router lets in nobody twice
		return greetWith(ctx, place, scheme, address, zenoh.NewClient(&zenoh.Config{}, readyName+rand.Text()))
	case "amqp", "amqps":
		err := greetWith(ctx, place, scheme, address, amqp091.NewClient(&amqp091.Config{User: "guest", Password: "guest"}, readyName))
		var dial *net.OpError
		if err == nil || errors.As(err, &dial) && dial.Op == "dial" {
			return err
		}
		if greetWith(ctx, place, scheme, address, amqp10.NewClient(&amqp10.Config{Mechanism: "ANONYMOUS"}, readyName)) == nil {
			return nil
		}
		return err
	}
	return fmt.Errorf("no way to greet %s", scheme)
}

// readyName is the client that greets.
const readyName = "mqlab-ready"

// greetWith connects and returns nil when the broker accepted the connection in its own protocol: MQTT CONNACK, NATS PONG,
// Redis PONG, AMQP channel.open-ok or begin, Zenoh OpenAck.
// A mere TCP connection proves nothing: some brokers listen long before they serve.
func greetWith(ctx context.Context, place netns.Place, scheme, address string, session proto.Client) error {
	ctx, cancel := context.WithTimeout(ctx, greetLimit)
	defer cancel()
	conn, err := place.Dial(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	c := converse.Conversation{Session: session}
	if known, _ := plan.LookupScheme(scheme); known.Encrypted {
		if scheme == "tls" { // NATS greets in the clear
			if c.In, err = line(conn); err != nil {
				return err
			}
		}
		if conn, err = encrypt(ctx, conn); err != nil {
			return err
		}
	}
	if scheme == "ws" {
		if conn, err = websocket.Client(ctx, conn, address, ""); err != nil {
			return err
		}
	}
	c.Conn = conn
	if err := c.Open(); err != nil {
		return err
	}
	return c.Goodbye()
}

// longestGreeting bounds what NATS may say of itself.
const longestGreeting = 1 << 16

// line reads a line and nothing beyond it.
func line(conn net.Conn) (text []byte, err error) {
	var b [1]byte
	for len(text) < longestGreeting {
		if _, err := conn.Read(b[:]); err != nil {
			return nil, err
		}
		if text = append(text, b[0]); b[0] == '\n' {
			return text, nil
		}
	}
	return nil, errors.New("the greeting does not end")
}

package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/amqp091"
	"github.com/mqlab/mqlab/internal/proto/mqtt"
	"github.com/mqlab/mqlab/internal/proto/nats"
	"github.com/mqlab/mqlab/internal/proto/resp"
	"github.com/mqlab/mqlab/internal/websocket"
)

const greetLimit = time.Second // for one attempt

// greet connects and returns nil when the broker accepted the connection in its own protocol: MQTT CONNACK, NATS PONG,
// Redis PONG, AMQP channel.open-ok.
// A mere TCP connection proves nothing: some brokers listen long before they serve.
func greet(ctx context.Context, place netns.Place, scheme, address string) error {
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
	var session proto.Session
	switch scheme {
	case "ws":
		if conn, err = websocket.Client(ctx, conn, address, ""); err != nil {
			return err
		}
		fallthrough
	case "mqtt": // the oldest version is understood by every broker
		session = mqtt.NewClient(&mqtt.Config{Version: mqtt.V311, CleanStart: true}, "mqlab-ready")
	case "nats":
		session = nats.NewClient(&nats.Config{Name: "mqlab-ready"})
	case "amqp":
		session = amqp091.NewClient(&amqp091.Config{User: "guest", Password: "guest"}, "mqlab-ready")
	case "redis":
		session = resp.NewPubSub(&resp.Config{}, "mqlab-ready")
	default:
		return fmt.Errorf("no way to greet %s", scheme)
	}
	if err := untilReady(conn, session); err != nil {
		return err
	}
	_, err = conn.Write(session.Close(nil))
	return err
}

// untilReady moves bytes until the session reports Ready.
func untilReady(conn net.Conn, session proto.Session) error {
	out := session.Open(clock.Now(), nil)
	var in []byte
	for {
		if len(out) > 0 {
			if _, err := conn.Write(out); err != nil {
				return err
			}
			out = out[:0]
		}
		var ev proto.Event
		n, o, err := session.Feed(clock.Now(), in, out, &ev)
		if err != nil {
			return err
		}
		out, in = o, in[n:]
		switch {
		case ev.Kind == proto.Ready:
			return nil
		case ev.Kind == proto.Closed:
			return errors.Join(ev.Err, io.ErrUnexpectedEOF)
		case n > 0 || len(out) > 0:
			continue
		}
		var more [4096]byte
		m, err := conn.Read(more[:])
		if err != nil {
			return err
		}
		in = append(in, more[:m]...)
	}
}

// Package instrument is the broker of the comparison of client libraries: it is the only publisher, stamps each message just before it
// writes it, and keeps nothing else between itself and the library's socket. Its sessions are those of package proto.
package instrument

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/amqp091"
	"github.com/mqlab/mqlab/internal/proto/mqtt"
	"github.com/mqlab/mqlab/internal/proto/nats"
	"github.com/mqlab/mqlab/internal/proto/resp"
)

// sessions make the broker's side of a connection, by protocol.
var sessions = map[string]func() proto.Server{
	"mqtt":    func() proto.Server { return mqtt.NewServer(&mqtt.ServerConfig{}) },
	"nats":    func() proto.Server { return nats.NewServer(&nats.ServerConfig{MaxPayload: maxPayload}) },
	"redis":   func() proto.Server { return resp.NewServer(&resp.ServerConfig{}) },
	"amqp091": func() proto.Server { return amqp091.NewServer(&amqp091.ServerConfig{}) },
}

// maxPayload is the largest message, in bytes.
const maxPayload = 64 << 20

// Host is the address of the loopback interface, where clients connect.
const Host = "127.0.0.1"

// Broker waits for clients on a port of the loopback interface.
type Broker struct {
	listener net.Listener
	tls      *tls.Config // nil = plain
	session  func() proto.Server
}

// Listen opens a broker for one protocol: mqtt, nats, redis, amqp091. A TLS configuration encrypts its connections.
func Listen(protocol string, config *tls.Config) (*Broker, error) {
	session := sessions[protocol]
	if session == nil {
		return nil, fmt.Errorf("the instrumented broker does not speak %q", protocol)
	}
	l, err := net.Listen("tcp4", Host+":0")
	if err != nil {
		return nil, err
	}
	return &Broker{listener: l, tls: config, session: session}, nil
}

// Port is where clients connect.
func (b *Broker) Port() int { return b.listener.Addr().(*net.TCPAddr).Port }

// Close stops listening.
func (b *Broker) Close() error { return b.listener.Close() }

// errNobody: no client connected and subscribed in time.
var errNobody = errors.New("the client did not connect and subscribe in time")

// Accept waits for the next client that connects and subscribes.
func (b *Broker) Accept(ctx context.Context, patience time.Duration) (*Client, error) {
	end := time.Now().Add(patience)
	c, err := b.Connect(patience)
	if err != nil {
		return nil, err
	}
	late := time.NewTimer(time.Until(end))
	defer late.Stop()
	select {
	case <-c.subscribed:
		return c, nil
	case <-c.ended:
		err = gone(c.Err())
	case <-late.C:
		err = errNobody
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	return nil, errors.Join(err, c.Close())
}

// Connect waits for the next client that opens a connection.
func (b *Broker) Connect(patience time.Duration) (*Client, error) {
	if l, ok := b.listener.(*net.TCPListener); ok {
		if err := l.SetDeadline(time.Now().Add(patience)); err != nil {
			return nil, err
		}
	}
	conn, err := b.listener.Accept()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNobody, err)
	}
	return newClient(conn, b.tls, b.session())
}

package probe

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/secure"
	"github.com/mqlab/mqlab/internal/websocket"
)

// patience is how long one answer of the broker is waited for.
const patience = 3 * time.Second

// lab is what all steps of one probe share.
type lab struct {
	place   netns.Place
	addr    string
	path    string      // of a WebSocket; empty = none
	tls     *tls.Config // nil = plain TCP
	clear   bool        // the server greets in the clear before TLS (NATS)
	login   broker.Login
	subject plan.Subject
	restart func(ctx context.Context, kill bool) error
	lost    error  // why the broker did not come back from a restart
	run     string // unique: in all topics, identifiers and keys
	topics  int    // made so far
	undo    map[string]func(ctx context.Context) error
}

func newLab(s plan.Subject, address string, o *Options) (*lab, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("the broker's address %q is no URL", address)
	}
	l := &lab{
		place: o.Place, addr: u.Host, login: o.Login, subject: s, restart: o.Restart, run: unique(),
		undo: map[string]func(ctx context.Context) error{},
	}
	if l.place == nil {
		l.place = netns.Host
	}
	scheme, _ := plan.LookupScheme(u.Scheme)
	if scheme.Encrypted {
		l.clear = s.Protocol == plan.NATS || s.Protocol == plan.JetStream
		l.tls, err = secure.Config(s.TLS, u.Hostname())
	}
	if scheme.WebSocket {
		if l.path = u.Path; l.path == "" {
			l.path = "/"
		}
	}
	return l, err
}

// prepare finds out how to talk to the broker and returns what is to be done.
func (l *lab) prepare(ctx context.Context, r *Report) ([]step, error) {
	switch base, _ := plan.OverWebSocket(l.subject.Protocol); base {
	case plan.MQTT5, plan.MQTT311:
		return prepareMQTT(ctx, l, r)
	case plan.NATS:
		return prepareNATS(ctx, l, r)
	case plan.JetStream:
		return prepareJetStream(ctx, l, r)
	case plan.Redis:
		return prepareRedis(ctx, l, r)
	case plan.RedisStreams:
		return prepareStreams(ctx, l, r)
	case plan.AMQP091:
		return prepareAMQP(ctx, l, r)
	case plan.Zenoh, plan.ZenohBlock:
		return prepareZenoh(ctx, l, r)
	case plan.AMQP10:
		return prepareAMQP10(ctx, l, r)
	}
	return nil, fmt.Errorf("there are no questions for protocol %s yet", l.subject.Protocol)
}

// later remembers how to take away what a step leaves in the broker: something with this name.
func (l *lab) later(name string, undo func(ctx context.Context) error) { l.undo[name] = undo }

// cleanUp takes away what is left in the broker, as far as it still answers.
func (l *lab) cleanUp() {
	ctx, cancel := context.WithTimeout(context.Background(), cleanLimit)
	defer cancel()
	for _, undo := range l.undo {
		_ = undo(ctx) // what a broker does not let us remove, or lost, is not ours to mend
	}
}

// topic is one that no other step uses, with / between its levels.
func (l *lab) topic() string {
	l.topics++
	return fmt.Sprintf("%s/t%d", l.run, l.topics)
}

// key is the same with . between its levels.
func (l *lab) key() string { return strings.ReplaceAll(l.topic(), "/", ".") }

// dial opens a connection. The second result is the TCP connection below TLS and WebSocket.
func (l *lab) dial(ctx context.Context) (net.Conn, *net.TCPConn, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := l.place.Dial(ctx, "tcp", l.addr)
	if err != nil {
		return nil, nil, fmt.Errorf("connect: %w", err)
	}
	tcp, _ := conn.(*net.TCPConn)
	if l.tls != nil {
		if conn, err = l.encrypt(ctx, conn); err != nil {
			return nil, nil, err
		}
	}
	if l.path != "" {
		ws, err := websocket.Client(ctx, conn, l.addr, l.path)
		if err != nil {
			_ = conn.Close()
			return nil, nil, fmt.Errorf("WebSocket: %w", err)
		}
		conn = newPatient(ws)
	}
	return conn, tcp, nil
}

// encrypt makes a connection one within TLS; it closes one that does not become so.
func (l *lab) encrypt(ctx context.Context, conn net.Conn) (net.Conn, error) {
	var said []byte
	if l.clear {
		err := conn.SetReadDeadline(time.Now().Add(patience))
		if err == nil {
			said, err = secure.Greeting(conn)
		}
		if err != nil {
			_ = conn.Close()
			return nil, fmt.Errorf("greeting: %w", err)
		}
	}
	encrypted := tls.Client(conn, l.tls)
	if err := encrypted.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return &secure.Greeted{Conn: encrypted, Said: said}, nil
}

// Payloads begin with a magic number and a sequence number, which tells our messages apart and one from the other.
const (
	payloadMagic = 0x6d716c61622d7072
	minPayload   = 16
)

// payload makes the payload of message seq with so many bytes.
func payload(seq uint64, size int) []byte {
	b := make([]byte, max(size, minPayload))
	binary.BigEndian.PutUint64(b, payloadMagic)
	binary.BigEndian.PutUint64(b[8:], seq)
	return b
}

// sequence reads the number of a message; false if it is not ours.
func sequence(payload []byte) (uint64, bool) {
	if len(payload) < minPayload || binary.BigEndian.Uint64(payload) != payloadMagic {
		return 0, false
	}
	return binary.BigEndian.Uint64(payload[8:]), true
}

// message is message seq for a topic.
func message(topic string, qos uint8, seq uint64) *proto.Message {
	return &proto.Message{Token: seq, Topic: []byte(topic), QoS: qos, Payload: payload(seq, 0)}
}

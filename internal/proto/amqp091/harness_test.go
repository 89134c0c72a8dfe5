package amqp091

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// What the tests of all protocols share.
var (
	feedAll = prototest.FeedAll
	says    = prototest.Says
	final   = prototest.Final
)

// pair is a client and a server that are connected.
type pair struct {
	client *Client
	server *Server
	heard  []byte // by the client during the handshake
	said   []byte // by the client during the handshake
}

func (p *pair) line() prototest.Line { return prototest.Line{Client: p.client, Server: p.server} }

// connect makes a pair of which the client is ready.
func connect(tb testing.TB, cfg *Config, serverCfg *ServerConfig) *pair {
	tb.Helper()
	if err := cfg.Validate(); err != nil {
		tb.Fatal(err)
	}
	p := &pair{client: NewClient(cfg, "c"), server: NewServer(serverCfg)}
	p.server.Open(0, nil)
	_, _, p.said, p.heard = p.line().Exchange(tb, p.client.Open(0, nil))
	if p.client.phase != ready {
		tb.Fatalf("the client has come to phase %d", p.client.phase)
	}
	return p
}

// raw is a method frame; strings become short strings, byte slices stay as they are.
func raw(channel uint16, m method, args ...any) []byte {
	out, start := beginMethod(nil, channel, m)
	for _, a := range args {
		switch v := a.(type) {
		case uint8:
			out = append(out, v)
		case uint16:
			out = binary.BigEndian.AppendUint16(out, v)
		case uint32:
			out = binary.BigEndian.AppendUint32(out, v)
		case uint64:
			out = binary.BigEndian.AppendUint64(out, v)
		case string:
			out = appendShort(out, v)
		case []byte:
			out = append(out, v...)
		default:
			panic("raw: unknown type")
		}
	}
	return endFrame(out, start)
}

func join(parts ...[]byte) []byte { return slices.Concat(parts...) }

// ack is basic.ack or basic.nack as a broker sends it.
func ack(m method, tag uint64, multiple bool) []byte { return raw(1, m, tag, bit(multiple, 0)) }

// deliver is a message for the subscription of QoS qos with this token.
func deliver(token uint64, qos uint8, tag uint64, topic string, content ...[]byte) []byte {
	consumer := appendConsumerTag(nil, &proto.Subscription{Token: token, QoS: qos})
	return append(raw(1, basicDeliver, consumer, tag, uint8(0), "amq.topic", topic), join(content...)...)
}

// plain is the content of a message in frames of up to 4096 bytes.
func plain(body string) []byte {
	return appendContent(nil, 1, properties{mode: modeTransient}, []byte(body), minFrame)
}

// publish encodes messages of these tokens.
func (p *pair) publish(tb testing.TB, qos uint8, tokens ...uint64) (out []byte) {
	tb.Helper()
	var err error
	for _, token := range tokens {
		m := proto.Message{Token: token, Topic: []byte("a.b"), Payload: []byte("hello"), QoS: qos}
		if out, err = p.client.Publish(&m, out); err != nil {
			tb.Fatal(err)
		}
	}
	return out
}

// subscribe makes a confirmed subscription.
func (p *pair) subscribe(tb testing.TB, s proto.Subscription) {
	tb.Helper()
	up, err := p.client.Subscribe(&s, nil)
	if err != nil {
		tb.Fatal(err)
	}
	_, down := feedAll(tb, p.server, up)
	if events, _ := feedAll(tb, p.client, down); len(events) != 1 || events[0].Kind != proto.Subscribed {
		tb.Fatalf("reported %+v", events)
	}
}

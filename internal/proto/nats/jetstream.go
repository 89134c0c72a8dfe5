package nats

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/mqlab/mqlab/internal/proto"
)

// JetStream is a client's side of a connection that publishes into a stream and pulls from consumers.
//
// Everything beyond core NATS is requests: messages to subjects of the server ($JS.API…), with the subject of ours to which
// it is to answer. Answers come to one subscription:
//
//	SUB _INBOX.name.* 1
//	PUB $JS.API.STREAM.CREATE.stream _INBOX.name.s {json}       answered: Ready; the same request again changes nothing
//	PUB topic _INBOX.name.token payload                         answered: Acked, the message is in the stream
//	SUB _INBOX.name.d.0 2
//	PUB $JS.API.CONSUMER.CREATE.stream.c.topic _INBOX.name.c0   answered: the consumer exists
//	PUB $JS.API.CONSUMER.MSG.NEXT.stream.c _INBOX.name.d.0 {"batch":500,"expires":…}    → Subscribed
//	        server: MSG topic 2 $JS.ACK.stream.c.1.… payload    → Delivered; the figure counts deliveries
//	PUB $JS.ACK.stream.c.1.… +ACK
//	        server: HMSG _INBOX.name.d.0 2 NATS/1.0 408 …       what was asked for has expired
//
// Each subscription is a pull consumer of its own that begins behind the last message of the stream; the members of a
// group have one in common. The next batch is asked for when half of the last one has arrived, so that the server never
// waits for us.
//
// With QoS 1 the server confirms what is published, and every delivery is acknowledged. With QoS 0 neither is.
//
// See https://docs.nats.io/reference/reference-protocols/nats_api_reference.
type JetStream struct {
	Client
	stream    *Stream
	inbox     string // where answers come, up to the dot before the last token
	consumers []consumer
	scratch   []byte // reply subject of the message at hand
	open      bool   // the stream exists
}

var _ proto.Client = (*JetStream)(nil)

// inboxSid is the subscription to answers; that to the deliveries of consumer n is firstSid+n.
const (
	inboxSid = 1
	firstSid = 2
)

// NewJetStream makes a client that has not connected yet. The name must be unique on the server: answers find their way
// by it, and consumers without a group are called after it.
func NewJetStream(cfg *Config, stream *Stream, name string) *JetStream {
	c := &JetStream{Client: Client{Name: name, cfg: cfg, noResponders: true}, stream: stream}
	c.inbox = "_INBOX." + token(name) + "."
	return c
}

// Open appends nothing: the server speaks first. The caller subscribes again after Ready.
func (c *JetStream) Open(now int64, out []byte) []byte {
	c.open, c.consumers = false, c.consumers[:0]
	return c.Client.Open(now, out)
}

// Close appends the request to delete the stream, if it is to end with this client.
func (c *JetStream) Close(out []byte) []byte {
	if c.open && c.stream.Delete {
		out = c.request(out, "STREAM.DELETE."+c.stream.Name, "x", nil)
	}
	return out
}

// Room is the same large number for every QoS once the stream exists.
func (c *JetStream) Room(qos uint8) int {
	if !c.open {
		return 0
	}
	return c.Client.Room(qos)
}

var errQoS2 = errors.New("nats: JetStream has no QoS 2: only 0 and 1 are possible")

// Publish appends PUB, or HPUB if the configuration has headers; with QoS 1 the server is asked to confirm.
func (c *JetStream) Publish(m *proto.Message, out []byte) ([]byte, error) {
	switch {
	case !c.open:
		return out, errNotReady
	case m.QoS > 1:
		return out, errQoS2
	case m.QoS == 0:
		return c.Client.Publish(m, out)
	case m.Token >= 1e19:
		return out, fmt.Errorf("nats: message token %d is too large for an inbox", m.Token)
	}
	if err := c.sendable(m); err != nil {
		return out, err
	}
	c.scratch = append(appendUint(append(c.scratch[:0], c.inbox...), m.Token), ' ')
	return appendMessage(out, c.verb(), m.Topic, c.scratch, c.cfg.Headers, m.Payload), nil
}

// Tick sends keep-alive PINGs, and asks again for messages where the end of an earlier request got lost.
func (c *JetStream) Tick(now int64, out []byte) (int64, []byte, error) {
	next, out, err := c.Client.Tick(now, out)
	for i := range c.consumers {
		k := &c.consumers[i]
		if !k.open {
			continue
		}
		if now >= k.until {
			k.pending = 0
			out = c.pull(now, k, out)
		}
		next = min(next, k.until)
	}
	return next, out, err
}

// Feed consumes one operation of the server.
func (c *JetStream) Feed(now int64, in, out []byte, ev *proto.Event) (int, []byte, error) {
	n, out, err := c.Client.Feed(now, in, out, ev)
	if err != nil {
		return n, out, err
	}
	switch ev.Kind {
	case proto.Ready:
		*ev = proto.Event{}
		out = c.createStream(out)
	case proto.Delivered:
		if ev.Token == inboxSid {
			out, err = c.answered(now, out, ev)
		} else if i := ev.Token - firstSid; i < uint64(len(c.consumers)) {
			out = c.arrived(now, &c.consumers[i], out, ev)
		} else {
			*ev = proto.Event{}
		}
	}
	return n, out, err
}

// answered acts on an answer of the server, which ev holds as a message.
func (c *JetStream) answered(now int64, out []byte, ev *proto.Event) ([]byte, error) {
	what, ours := bytes.CutPrefix(ev.Topic, []byte(c.inbox))
	payload := ev.Payload
	*ev = proto.Event{}
	if !ours || len(what) == 0 {
		return out, nil
	}
	if number, ok := parseUint(what); ok {
		ev.Kind, ev.Token, ev.Err = proto.Acked, number, c.stored(payload)
		return out, nil
	}
	switch number, ok := parseUint(what[1:]); {
	case what[0] == 's' && len(what) == 1 && !c.open:
		if err := c.refusal(payload, "stream "+c.stream.Name); err != nil {
			return out, err
		}
		c.open, ev.Kind = true, proto.Ready
	case what[0] == 'c' && ok && number < uint64(len(c.consumers)) && !c.consumers[number].open:
		k := &c.consumers[number]
		ev.Kind, ev.Token, ev.QoS = proto.Subscribed, k.token, k.qos
		if ev.Err = c.refusal(payload, "consumer "+k.name); ev.Err == nil {
			k.open = true
			out = c.pull(now, k, out)
		}
	}
	return out, nil
}

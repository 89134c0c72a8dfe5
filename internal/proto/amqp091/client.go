package amqp091

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mqlab/mqlab/internal/proto"
)

var (
	_ proto.Client = (*Client)(nil)
	_ proto.Server = (*Server)(nil)
)

// ErrNoRoom is returned by Publish when flow control lets no further message through; see Room.
var ErrNoRoom = errors.New("amqp091: no room: as many messages are unconfirmed as flow control allows")

// ErrNotReady is returned by Publish and Subscribe before the peer has accepted the connection and after its end.
var ErrNotReady = errors.New("amqp091: not connected")

var (
	errQoS    = errors.New("amqp091: there is no QoS 2, only 0 (unconfirmed) and 1 (confirmed)")
	errRetain = errors.New("amqp091: there are no retained messages")
	errTopic  = errors.New("amqp091: a routing key of more than 255 bytes")
	errNacked = errors.New("amqp091: broker refused the message (basic.nack)")
)

// room is what Room returns where nothing limits.
const room = math.MaxInt32

// clientChannel is the one that a client uses.
const clientChannel = 1

type phase uint8

const (
	awaitStart phase = iota
	awaitTune
	awaitOpen
	awaitChannel
	awaitExchange
	ready
	ended
)

// Client is a client's side of a connection. It needs less than 200 bytes when idle.
//
// A cancelled consumer (its queue was deleted) is reported as an event of kind None with Err set and its Token.
type Client struct {
	Name string // given to the broker as connection_name; durable queues are named after it

	cfg       *Config
	pending   []request     // unanswered, oldest first: a channel answers in order
	sent      *tags         // messages to be confirmed; nil until the first
	incoming  *assembly     // nil until a message comes in pieces
	blocked   *BlockedError // nil = not blocked
	received  acks
	heartbeat heartbeat
	frameMax  uint32
	phase     phase
	confirms  bool // confirm.select was sent
	prefetch  bool // basic.qos was sent
	paused    bool // by channel.flow
	refused   bool // the subscription that ended the channel was reported
}

// request is something that the peer has yet to answer.
type request struct {
	token   uint64
	barrier bool // else a subscription
	qos     uint8
}

// NewClient makes a client that has not connected yet.
func NewClient(cfg *Config, name string) *Client { return &Client{cfg: cfg, Name: name} }

// Open appends the protocol header. Subscriptions and unconfirmed messages of an earlier connection are gone.
func (c *Client) Open(_ int64, out []byte) []byte {
	sent, incoming := c.sent, c.incoming
	*c = Client{Name: c.Name, cfg: c.cfg, sent: sent, incoming: incoming, frameMax: defaultFrame}
	if sent != nil {
		sent.reset()
	}
	if incoming != nil {
		incoming.stage = idle
	}
	c.heartbeat.start(0, 0)
	return append(out, protocolHeader...)
}

// Close appends what is still to be acknowledged, and connection.close.
func (c *Client) Close(out []byte) []byte {
	if c.phase == awaitStart || c.phase == ended {
		return out
	}
	c.phase = ended
	out = c.received.flush(clientChannel, out)
	return appendClose(out, 0, replySuccess, "goodbye", 0)
}

// Need returns how many bytes the frame at the start of in occupies; 0 = not known yet, or about to be refused by Feed.
// Feed may want more than that: the header and the body of a message are taken together with its method.
func (c *Client) Need(in []byte) int {
	n, err := frameSize(in, max(c.frameMax, minFrame))
	if err != nil {
		return 0
	}
	return n
}

// InFlight is how many messages of QoS 1 are not confirmed.
func (c *Client) InFlight() int {
	if c.sent == nil {
		return 0
	}
	return c.sent.open
}

// Blocked is why the broker takes no messages; nil if it does.
func (c *Client) Blocked() error {
	if c.blocked == nil {
		return nil
	}
	return c.blocked
}

// Room is 0 while the broker blocks publishers or has paused the channel. For QoS 1 it is the window of the
// configuration less what is unconfirmed.
func (c *Client) Room(qos uint8) int {
	switch {
	case c.phase != ready || c.blocked != nil || c.paused || qos > 1:
		return 0
	case qos == 0 || c.cfg.Window == 0:
		return room
	}
	return max(0, c.cfg.Window-c.InFlight())
}

// Publish appends basic.publish and the content; before the first message of QoS 1, confirm.select. From then on the
// broker confirms messages of QoS 0, too; those confirmations are not reported.
func (c *Client) Publish(m *proto.Message, out []byte) ([]byte, error) {
	switch {
	case c.phase != ready:
		return out, ErrNotReady
	case m.QoS > 1:
		return out, errQoS
	case m.Retain:
		return out, errRetain
	case len(m.Topic) > 255:
		return out, errTopic
	case len(m.Payload) > maxMessage:
		return out, fmt.Errorf("amqp091: a payload of %d bytes is more than %d", len(m.Payload), maxMessage)
	case m.QoS == 1 && c.Room(1) == 0:
		return out, ErrNoRoom
	}
	c.heartbeat.wrote = true
	if m.QoS == 1 && !c.confirms {
		out = c.selectConfirms(out)
	}
	p := properties{mode: c.cfg.mode()}
	if c.cfg.Mandatory {
		p.id = messageID{idOfToken, m.Token}
	}
	if c.confirms {
		state := uint8(tagSilent)
		if m.QoS == 1 {
			state = tagOpen
		}
		tag := c.sent.add(m.Token, state)
		if m.QoS == 1 && c.cfg.Mandatory {
			p.id = messageID{idOfTag, tag}
		}
	}
	exchange := c.cfg.Exchange.Name
	size := 2 + 1 + len(exchange) + 1 + len(m.Topic) + 1
	out = slices.Grow(out, frameOverhead+4+size+contentSize(len(m.Payload), c.frameMax))
	size += 4
	out = append(out, frameMethod, 0, clientChannel, 0, 0, byte(size>>8), byte(size), 0, classBasic, 0, byte(basicPublish&0xFF), 0, 0)
	out = appendShort(out, exchange)
	out = appendShort(out, m.Topic)
	out = append(out, bit(c.cfg.Mandatory, 0), frameEnd)
	return appendContent(out, clientChannel, p, m.Payload, c.frameMax), nil
}

func (c *Client) selectConfirms(out []byte) []byte {
	c.confirms = true
	if c.sent == nil {
		c.sent = new(tags)
	}
	c.sent.reset()
	out, start := beginMethod(out, clientChannel, confirmSelect)
	out = append(out, 1) // no-wait
	return endFrame(out, start)
}

// Barrier asks the broker to go on sending (channel.flow), which it does anyway. The answer, reported as an event of kind
// Barrier with the same token, proves that it has read everything sent before.
func (c *Client) Barrier(token uint64, out []byte) []byte {
	c.pending = append(c.pending, request{token: token, barrier: true})
	c.heartbeat.wrote = true
	return appendFlow(out, channelFlow, true)
}

func appendFlow(out []byte, m method, active bool) []byte {
	out, start := beginMethod(out, clientChannel, m)
	out = append(out, bit(active, 0))
	return endFrame(out, start)
}

// Tick sends heartbeats.
func (c *Client) Tick(now int64, out []byte) (int64, []byte, error) {
	return c.heartbeat.tick(now, out)
}

// answered takes the oldest unanswered request out of the list.
func (c *Client) answered(m method, barrier bool) (request, error) {
	if len(c.pending) == 0 || c.pending[0].barrier != barrier {
		return request{}, errUnexpected(m)
	}
	r := c.pending[0]
	if c.pending = c.pending[1:]; len(c.pending) == 0 {
		c.pending = nil // an idle connection shall be small
	}
	return r, nil
}

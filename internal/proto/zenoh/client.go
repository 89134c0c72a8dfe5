package zenoh

import (
	"fmt"
	"math"
	"slices"

	"github.com/mqlab/mqlab/internal/proto"
)

type phase uint8

const (
	closed  phase = iota
	initing       // InitSyn was sent
	opening       // OpenSyn was sent
	ready
)

// Client is a client's side of a connection. It needs about 250 bytes when idle.
//
// Delivered events carry no token: the router names the key only. A key that several subscriptions match is delivered
// once. The time that passes until a subscription is confirmed is that of its declaration and a probe behind it.
type Client struct {
	link
	cfg     *Config
	name    string
	probes  []probe // that were not answered, oldest first
	asked   uint32  // number of the last probe
	opened  uint32  // how often Open was called
	subs    uint32  // number of the last subscription
	publish uint16  // number of the key expression that we publish to; 0 = none yet
	phase   phase
}

// probe is a question to the router that proves something.
type probe struct {
	token   uint64
	id      uint32
	barrier bool // else a subscription
}

var _ proto.Client = (*Client)(nil)

// NewClient makes a client that has not connected yet. name must differ from that of every other client of the router.
func NewClient(cfg *Config, name string) *Client { return &Client{cfg: cfg, name: name} }

// Open appends InitSyn. Subscriptions of an earlier connection are gone.
func (c *Client) Open(_ int64, out []byte) []byte {
	c.reset()
	c.alive.wait()
	c.probes, c.asked, c.subs, c.publish, c.phase = c.probes[:0], 0, 0, 0, initing
	c.opened++
	h := handshake{sizes: initSizes{resolution32, maxBatch}, patch: patch}
	if c.cfg.User != "" {
		h.auth = authAsk
	}
	return appendInit(out, 0, roleClient, identify(c.name, c.opened), &h)
}

// Close appends Close.
func (c *Client) Close(out []byte) []byte {
	if c.phase == closed {
		return out
	}
	c.phase = closed
	return appendClose(out, reasonGeneric)
}

// Tick sends a KeepAlive where nothing else was sent for a quarter of the lease.
func (c *Client) Tick(now int64, out []byte) (int64, []byte, error) {
	send, err := c.alive.tick(now, c.cfg.lease()/LeaseParts)
	if send && err == nil {
		out = appendKeepAlive(out)
	}
	return c.alive.next, out, err
}

// Room is the same large number for QoS 0 once the router accepted us: Zenoh has no window.
func (c *Client) Room(uint8) int {
	if c.phase != ready {
		return 0
	}
	return math.MaxInt32
}

// Publish appends a message. The first key that is published to is declared first, and named by its number from then on.
func (c *Client) Publish(m *proto.Message, out []byte) ([]byte, error) {
	switch {
	case c.phase != ready:
		return out, errNotReady
	case m.QoS > 0:
		return out, errQoS
	case m.Retain:
		return out, errRetain
	case uint64(len(m.Payload)) > c.cfg.maxPayload():
		return out, fmt.Errorf("zenoh: message of %d bytes is above the limit of %d bytes", len(m.Payload), c.cfg.maxPayload())
	}
	p := push{scope: c.publish, sender: true, payload: m.Payload, block: c.cfg.Block, reliable: !c.cfg.BestEffort}
	switch {
	case c.publish != 0 && c.ours[c.publish-1] == string(m.Topic):
	case c.publish == 0:
		key := string(m.Topic)
		if err := c.declarable(key, false); err != nil {
			return out, err
		}
		start := len(out)
		out = c.beginFrame(out, true)
		out, c.publish = c.declare(out, key)
		out, p.scope = end(out, start), c.publish
		if p.scope == 0 {
			p.suffix = m.Topic
		}
	default:
		if err := c.declarable(string(m.Topic), false); err != nil {
			return out, err
		}
		p.scope, p.suffix = 0, m.Topic
	}
	c.alive.sent = true
	return c.appendPush(out, &p), nil
}

// declarable says why a key cannot be used, or nil.
func (c *Client) declarable(key string, wild bool) error {
	const others = 64 // bytes of what stands in a batch beside a key
	if len(key) > int(c.batch)-others {
		return fmt.Errorf("zenoh: topic of %d bytes is above the limit of %d bytes", len(key), int(c.batch)-others)
	}
	return checkKey(key, wild)
}

// declare makes a key expression known, unless it is, and returns its number. Where there are too many it is 0.
func (c *Client) declare(out []byte, key string) ([]byte, uint16) {
	const most = 1 << 15
	if len(c.ours) >= most {
		return out, 0
	}
	c.ours = append(c.ours, key)
	id := uint16(len(c.ours))
	return appendDeclareKey(out, id, key), id
}

// Subscribe appends declarations of the key expression and of a subscriber, and a probe. In the filter * stands for any
// chunk and ** for any number of chunks. Zenoh has no groups.
func (c *Client) Subscribe(s *proto.Subscription, out []byte) ([]byte, error) {
	switch {
	case c.phase != ready:
		return out, errNotReady
	case s.QoS > 0:
		return out, errQoS
	case s.Group != "":
		return out, fmt.Errorf("zenoh: there are no shared subscriptions: %q cannot be shared", s.Topic)
	}
	if err := c.declarable(s.Topic, true); err != nil {
		return out, err
	}
	prefix, suffix := cut(s.Topic)
	start, scope := len(out), uint16(0)
	out = c.beginFrame(out, true)
	if prefix != "" {
		if out, scope = c.declare(out, prefix); scope == 0 {
			suffix = s.Topic
		}
	}
	c.subs++
	out = end(appendDeclareSubscriber(out, c.subs, scope, suffix), start)
	return c.probe(probe{token: s.Token}, out), nil
}

// Barrier appends a probe. Its answer, reported as an event of kind Barrier with the same token, proves that the router
// has handled everything sent before.
func (c *Client) Barrier(token uint64, out []byte) []byte {
	return c.probe(probe{token: token, barrier: true}, out)
}

func (c *Client) probe(p probe, out []byte) []byte {
	c.asked++
	p.id = c.asked
	c.probes = append(c.probes, p)
	c.alive.sent = true
	start := len(out)
	return end(appendProbe(c.beginFrame(out, true), p.id), start)
}

// answered reports what the answer to a probe proves.
func (c *Client) answered(id uint32, ev *proto.Event) {
	i := slices.IndexFunc(c.probes, func(p probe) bool { return p.id == id })
	if i < 0 {
		return
	}
	p := c.probes[i]
	c.probes = slices.Delete(c.probes, i, i+1)
	ev.Kind, ev.Token = proto.Subscribed, p.token
	if p.barrier {
		ev.Kind = proto.Barrier
	}
}

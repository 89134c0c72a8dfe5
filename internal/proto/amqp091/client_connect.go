package amqp091

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/mqlab/mqlab/internal/proto"
)

// greeting is what a broker says about itself in connection.start.
type greeting struct {
	Product, Version string   // such as RabbitMQ, 3.10.8; empty = not said
	Mechanisms       []string // of SASL
}

// readStart reads the arguments of connection.start.
func readStart(r *reader) (g greeting, err error) {
	major, minor := r.u8(), r.u8()
	about, mechanisms := r.longStr(), r.longStr()
	r.longStr() // locales
	switch {
	case r.short:
		return g, errMalformed(connectionStart)
	case major != 0 || minor != 9:
		return g, fmt.Errorf("amqp091: the broker speaks AMQP %d-%d", major, minor)
	}
	t, err := readTable(about, 4)
	if err != nil {
		return g, err
	}
	return greeting{t.text("product"), t.text("version"), strings.Fields(string(mechanisms))}, nil
}

// capabilities tells the broker which of its extensions we understand.
var capabilities = Table{
	{"publisher_confirms", true},
	{"basic.nack", true},
	{"consumer_cancel_notify", true},
	{"connection.blocked", true},
	{"authentication_failure_close", true},
}

// handshake handles what the broker says before the connection is ready.
func (c *Client) handshake(now int64, m method, r *reader, out []byte, ev *proto.Event) ([]byte, error) {
	switch {
	case m == connectionStart && c.phase == awaitStart:
		return c.start(r, out)
	case m == connectionTune && c.phase == awaitTune:
		return c.tune(now, r, out)
	case m == connectionOpenOK && c.phase == awaitOpen:
		return c.opened(out), nil
	case m == channelOpenOK && c.phase == awaitChannel:
		c.phase = ready
		if c.cfg.Exchange.Kind != "" {
			c.phase = awaitExchange
		}
	case m == exchangeDeclareOK && c.phase == awaitExchange:
		c.phase = ready
	case m == connectionSecure:
		return out, errors.New("amqp091: the broker wants a second step of authentication")
	default:
		return out, errUnexpected(m)
	}
	if c.phase == ready {
		ev.Kind = proto.Ready
	}
	return out, nil
}

// start answers connection.start.
func (c *Client) start(r *reader, out []byte) ([]byte, error) {
	g, err := readStart(r)
	if err != nil {
		return out, err
	}
	mechanism := c.cfg.mechanism()
	offered := false
	for _, m := range g.Mechanisms {
		offered = offered || m == mechanism
	}
	if !offered {
		return out, fmt.Errorf("amqp091: the broker does not offer SASL mechanism %s, only %.200q", mechanism, g.Mechanisms)
	}
	out, start := beginMethod(out, 0, connectionStartOK)
	out = appendTable(out, Table{
		{"product", "mqlab"}, {"connection_name", c.Name}, {"capabilities", capabilities},
	})
	out = appendShort(out, mechanism)
	out = appendLong(out, c.cfg.response())
	out = appendShort(out, "en_US")
	c.phase = awaitTune
	return endFrame(out, start), nil
}

// tune settles channel_max, frame_max and heartbeat, and asks for the virtual host. 0 means no limit for all three.
func (c *Client) tune(now int64, r *reader, out []byte) ([]byte, error) {
	channels := r.u16()
	frameMax, beat := r.u32(), r.u16()
	if r.short {
		return out, errMalformed(connectionTune)
	}
	if frameMax == 0 {
		frameMax = defaultFrame
		if c.cfg.FrameMax > 0 {
			frameMax = math.MaxInt32
		}
	}
	if c.cfg.FrameMax > 0 {
		frameMax = min(frameMax, uint32(c.cfg.FrameMax))
	}
	if frameMax < minFrame {
		return out, fmt.Errorf("amqp091: the broker allows frames of %d bytes, less than the %d that AMQP prescribes", frameMax, minFrame)
	}
	wanted := max(c.cfg.Channels, clientChannel)
	if channels > 0 && int(channels) < wanted {
		return out, fmt.Errorf("amqp091: the broker allows %d channels on a connection, not %d", channels, wanted)
	}
	every := uint16(seconds(c.cfg.Heartbeat))
	if beat > 0 && every > 0 {
		every = min(every, beat)
	}
	c.frameMax = min(frameMax, math.MaxInt32)
	c.heartbeat.start(now, every)
	c.phase = awaitOpen
	out, start := beginMethod(out, 0, connectionTuneOK)
	out = append(out, byte(wanted>>8), byte(wanted),
		byte(c.frameMax>>24), byte(c.frameMax>>16), byte(c.frameMax>>8), byte(c.frameMax), byte(every>>8), byte(every))
	out = endFrame(out, start)
	out, start = beginMethod(out, 0, connectionOpen)
	out = appendShort(out, c.cfg.vhost())
	out = append(out, 0, 0) // reserved
	return endFrame(out, start), nil
}

// opened opens the channel, and declares the exchange at once: the broker works in order.
func (c *Client) opened(out []byte) []byte {
	c.phase = awaitChannel
	out, start := beginMethod(out, clientChannel, channelOpen)
	out = append(out, 0) // reserved
	out = endFrame(out, start)
	x := &c.cfg.Exchange
	if x.Kind == "" {
		return out
	}
	out, start = beginMethod(out, clientChannel, exchangeDeclare)
	out = append(out, 0, 0) // reserved
	out = appendShort(out, x.Name)
	out = appendShort(out, x.Kind)
	out = append(out, bit(x.Durable, 1)|bit(x.AutoDelete, 2))
	out = appendTable(out, x.Arguments)
	return endFrame(out, start)
}

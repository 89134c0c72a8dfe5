package amqp091

import (
	"fmt"
	"math"
	"time"
)

// Config is what connections of one kind have in common; they share one Config, which must not change while in use.
// Check it with Validate before connecting.
type Config struct {
	User, Password string
	Mechanism      string        // of SASL: PLAIN, EXTERNAL or ANONYMOUS; empty = PLAIN
	VHost          string        // empty = "/"
	Heartbeat      time.Duration // rounded up to seconds, or what the broker proposes if that is shorter; 0 = none
	FrameMax       int           // largest frame, bytes; 0 = as the broker proposes
	Channels       int           // that the connection shall carry, the Client's own included (see Door); 0 = 1

	Exchange Exchange // where messages are published, and what queues are bound to
	Queue    Queue    // that a subscription declares

	Persistent bool // messages shall survive a restart of the broker, in a durable queue (delivery-mode 2)
	Mandatory  bool // a message that reaches no queue shall be returned, and counts as refused
	Window     int  // unconfirmed messages of QoS 1; 0 = no limit

	Prefetch int  // unacknowledged messages that a subscription of QoS 1 may have; 0 = no limit
	AckEvery int  // acknowledge so many messages at once, or what one read has brought if that is less; 0 = 1
	HoldAcks bool // never acknowledge: shows how many messages a broker keeps in flight
}

// Exchange says where messages go. The zero value is the default exchange, where a topic is the name of the queue.
type Exchange struct {
	Name       string // empty = default exchange
	Kind       string // declare it as direct, topic, fanout or any other kind the broker has; empty = it exists
	Durable    bool
	AutoDelete bool
	Arguments  Table
}

// Queue says what kind of queue a subscription declares. The zero value is a transient classic queue, exclusive and
// named by the server, that ends with its connection.
//
// It is named otherwise, and not exclusive, if it is shared (a subscription with Group: group:topic), durable
// (name of the client:topic), or behind the default exchange (topic).
type Queue struct {
	Type      string // x-queue-type: classic, quorum or any other the broker has; empty = the broker's default
	Durable   bool   // survives its consumer, and a restart of the broker; always so if Type is neither empty nor classic
	Arguments Table  // such as x-max-length, x-message-ttl (milliseconds), x-overflow
}

func (q *Queue) durable() bool { return q.Durable || (q.Type != "" && q.Type != "classic") }

// arguments are those of queue.declare.
func (q *Queue) arguments() Table {
	if q.Type == "" {
		return q.Arguments
	}
	return append(Table{{"x-queue-type", q.Type}}, q.Arguments...)
}

// Validate says what in the configuration AMQP cannot express, or nil.
func (c *Config) Validate() error {
	switch c.Mechanism {
	case "", "PLAIN", "EXTERNAL", "ANONYMOUS":
	default:
		return fmt.Errorf("amqp091: SASL mechanism %q is not PLAIN, EXTERNAL or ANONYMOUS", c.Mechanism)
	}
	for _, s := range []string{c.VHost, c.Exchange.Name, c.Exchange.Kind} {
		if len(s) > 255 {
			return fmt.Errorf("amqp091: %.40q has more than 255 bytes", s)
		}
	}
	switch {
	case c.Heartbeat < 0 || seconds(c.Heartbeat) > math.MaxUint16:
		return fmt.Errorf("amqp091: heartbeat %v is not between 0 and 65535 s", c.Heartbeat)
	case c.FrameMax != 0 && (c.FrameMax < minFrame || c.FrameMax > math.MaxInt32):
		return fmt.Errorf("amqp091: frame_max %d is not 0, nor between %d and %d", c.FrameMax, minFrame, math.MaxInt32)
	case c.Channels < 0 || c.Channels > math.MaxUint16:
		return fmt.Errorf("amqp091: %d channels are not between 0 and %d", c.Channels, math.MaxUint16)
	case c.Window < 0:
		return fmt.Errorf("amqp091: window %d is negative", c.Window)
	case c.Prefetch < 0 || c.Prefetch > math.MaxUint16:
		return fmt.Errorf("amqp091: prefetch %d is not between 0 and 65535", c.Prefetch)
	case c.AckEvery < 0:
		return fmt.Errorf("amqp091: cannot acknowledge every %d messages", c.AckEvery)
	case c.Prefetch > 0 && c.AckEvery > c.Prefetch:
		return fmt.Errorf("amqp091: %d messages cannot be acknowledged at once with a prefetch of %d", c.AckEvery, c.Prefetch)
	case c.Exchange.Name == "" && c.Exchange.Kind != "":
		return fmt.Errorf("amqp091: the default exchange cannot be declared as %s", c.Exchange.Kind)
	}
	if err := c.Exchange.Arguments.validate(); err != nil {
		return err
	}
	return c.Queue.Arguments.validate()
}

func (c *Config) vhost() string {
	if c.VHost == "" {
		return "/"
	}
	return c.VHost
}

func (c *Config) mechanism() string {
	if c.Mechanism == "" {
		return "PLAIN"
	}
	return c.Mechanism
}

// response is the answer to the SASL mechanism.
func (c *Config) response() string {
	switch c.Mechanism {
	case "EXTERNAL":
		return c.User
	case "ANONYMOUS":
		return "mqlab"
	}
	return "\x00" + c.User + "\x00" + c.Password
}

func (c *Config) mode() uint8 {
	if c.Persistent {
		return modePersistent
	}
	return modeTransient
}

package amqp10

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Placeholders in the address of a Terminus.
const (
	TopicHere = "{topic}"
	GroupHere = "{group}"
)

// Config is what connections of one kind have in common; they share one Config, which must not change while in use.
// Check it with Validate before connecting.
type Config struct {
	User, Password string
	Mechanism      string        // of SASL: PLAIN, EXTERNAL or ANONYMOUS; empty = PLAIN
	Host           string        // the host or tenant wanted, such as vhost:NAME at RabbitMQ; empty = not said
	IdleTimeout    time.Duration // the peer shall not be silent for longer, and counts as gone after twice that; 0 = never
	FrameMax       int           // largest frame that we take, and send at most, bytes; 0 = 128 KiB
	SessionWindow  int           // transfer frames that the peer may send before it hears from us; 0 = 65535

	Target Terminus // where messages are published
	Source Terminus // what a subscription receives from
	Shared Terminus // what a subscription with Group receives from; without an address there are no groups

	Anonymous   bool // one sender without a target (anonymous terminus) for all topics: each message says where it goes
	SenderFirst bool // be ready once the sender has credit; for a Target without {topic}, or Anonymous

	Durable bool // messages shall survive a restart of the broker (header durable)
	Window  int  // unsettled messages of QoS 1; 0 = no limit

	Credit   int  // messages that the broker may have under way to a subscription; renewed at half; 0 = 100
	AckEvery int  // settle so many messages at once, or what one read has brought if that is less; 0 = 1
	HoldAcks bool // never settle, nor renew the credit for unsettled messages
}

// Terminus is one end of a link at the broker. What it means is up to the broker.
type Terminus struct {
	// Address may hold {topic} and, for shared subscriptions, {group}. RabbitMQ knows /queue/NAME, /topic/KEY,
	// /exchange/NAME/KEY and, to publish, /exchange/NAME, where the topic of the message is its key; RabbitMQ 4 knows
	// /queues/NAME, /exchanges/NAME/KEY. Artemis takes any name, and ADDRESS::QUEUE for a queue, whose name is unique in
	// the whole broker.
	//
	// A target without {topic} has one sender; the topic is the subject of each message. Else each topic has a sender.
	Address      string
	Durability   Durability
	Expiry       string        // link-detach, session-end, connection-close or never; empty = session-end
	Timeout      time.Duration // from its expiry to its end, rounded down to seconds
	Distribution string        // of a source: move or copy; empty = as the broker likes
	Capabilities []string      // such as topic, queue, shared, global (Artemis)
}

// Durability says what of a terminus survives a restart of the broker (§3.5.5).
type Durability uint32

// What can survive: nothing, that it exists, or also what is unsettled.
const (
	Transient Durability = iota
	Configuration
	UnsettledState
)

// durable tells that the link is to be found again after a reconnection, hence needs a name that stays.
func (t *Terminus) durable() bool { return t.Durability != Transient || t.Expiry == "never" }

func (t *Terminus) perTopic() bool { return strings.Contains(t.Address, TopicHere) }

// address fills in the placeholders.
func (t *Terminus) address(topic, group string) string {
	return strings.NewReplacer(TopicHere, topic, GroupHere, group).Replace(t.Address)
}

// maxName is the most bytes of a topic, a group, an address as configured, and of whatever else has a name.
const maxName = 255

// Validate says what in the configuration AMQP cannot express, or nil.
func (c *Config) Validate() error {
	switch c.Mechanism {
	case "", "PLAIN", "EXTERNAL", "ANONYMOUS":
	default:
		return fmt.Errorf("amqp10: SASL mechanism %q is not PLAIN, EXTERNAL or ANONYMOUS", c.Mechanism)
	}
	for _, s := range []string{c.User, c.Password, c.Host} {
		if len(s) > maxName/2 {
			return fmt.Errorf("amqp10: %.40q has more than %d bytes", s, maxName/2)
		}
	}
	switch {
	case c.IdleTimeout < 0 || c.IdleTimeout.Milliseconds() > math.MaxInt32 || (c.IdleTimeout > 0 && c.IdleTimeout < time.Millisecond):
		return fmt.Errorf("amqp10: idle-time-out %v is not 0, nor between 1 ms and 24 days", c.IdleTimeout)
	case c.FrameMax != 0 && (c.FrameMax < minFrame || c.FrameMax > math.MaxInt32):
		return fmt.Errorf("amqp10: max-frame-size %d is not 0, nor between %d and %d", c.FrameMax, minFrame, math.MaxInt32)
	case c.SessionWindow < 0 || c.SessionWindow > math.MaxInt32:
		return fmt.Errorf("amqp10: session window %d is not between 0 and %d", c.SessionWindow, math.MaxInt32)
	case c.Window < 0:
		return fmt.Errorf("amqp10: window %d is negative", c.Window)
	case c.Credit < 0 || c.Credit > math.MaxInt32:
		return fmt.Errorf("amqp10: credit %d is not between 0 and %d", c.Credit, math.MaxInt32)
	case c.AckEvery < 0:
		return fmt.Errorf("amqp10: cannot settle every %d messages", c.AckEvery)
	case c.AckEvery > c.credit():
		return fmt.Errorf("amqp10: %d messages cannot be settled at once with a credit of %d", c.AckEvery, c.credit())
	case c.SenderFirst && !c.oneSender():
		return fmt.Errorf("amqp10: with the target %q, the sender depends on the topic: it cannot come first", c.Target.Address)
	}
	for _, t := range []*Terminus{&c.Target, &c.Source, &c.Shared} {
		if err := t.validate(); err != nil {
			return err
		}
	}
	return nil
}

func (t *Terminus) validate() error {
	switch t.Expiry {
	case "", "link-detach", "session-end", "connection-close", "never":
	default:
		return fmt.Errorf("amqp10: expiry %q is not link-detach, session-end, connection-close or never", t.Expiry)
	}
	switch t.Distribution {
	case "", "move", "copy":
	default:
		return fmt.Errorf("amqp10: distribution %q is not move or copy", t.Distribution)
	}
	switch {
	case len(t.Address) > maxName:
		return fmt.Errorf("amqp10: address %.40q has more than %d bytes", t.Address, maxName)
	case t.Durability > UnsettledState:
		return fmt.Errorf("amqp10: there is no durability %d", t.Durability)
	case t.Timeout < 0 || t.Timeout/time.Second > math.MaxUint32:
		return fmt.Errorf("amqp10: timeout %v is not between 0 and 136 years", t.Timeout)
	}
	for _, s := range t.Capabilities {
		if len(s) > maxName {
			return fmt.Errorf("amqp10: capability %.40q has more than %d bytes", s, maxName)
		}
	}
	return nil
}

// oneSender tells that all topics share one sender.
func (c *Config) oneSender() bool { return c.Anonymous || !c.Target.perTopic() }

func (c *Config) credit() int {
	if c.Credit == 0 {
		return 100
	}
	return c.Credit
}

func (c *Config) frameMax() uint32 {
	if c.FrameMax == 0 {
		return defaultFrame
	}
	return uint32(c.FrameMax)
}

func (c *Config) sessionWindow() uint32 {
	if c.SessionWindow == 0 {
		return math.MaxUint16
	}
	return uint32(c.SessionWindow)
}

func (c *Config) mechanism() string {
	if c.Mechanism == "" {
		return "PLAIN"
	}
	return c.Mechanism
}

// response is the initial response of the SASL mechanism.
func (c *Config) response() string {
	switch c.Mechanism {
	case "EXTERNAL":
		return c.User
	case "ANONYMOUS":
		return "mqlab"
	}
	return "\x00" + c.User + "\x00" + c.Password
}

package mqtt

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// Config is what connections of one kind have in common; they share one Config, which must not change while in use.
// Check it with Validate before connecting.
type Config struct {
	Version byte // V311 or V5
	// CleanStart asks the broker to forget an earlier session of this client identifier. In 3.1.1 the session then also
	// ends with the connection. In 5, with SessionExpiry, it is asked for on the first connection only, so that a
	// reconnection resumes.
	CleanStart    bool
	SessionExpiry time.Duration // how long the broker shall keep the session of a lost connection; MQTT 5; rounded up to seconds
	KeepAlive     time.Duration // rounded up to seconds; 0 = never ping
	User          string
	Password      []byte // nil = none
	Will          *Will
	Window        int // our unacknowledged messages of QoS 1 and 2 together; 0 = as many as the broker allows

	ReceiveMaximum int  // unacknowledged messages that the broker may have; MQTT 5; 0 = 65,535
	MaxPacketBytes int  // larger packets from the broker are an error, and MQTT 5 tells it so; 0 = what MQTT can express
	HoldAcks       bool // never acknowledge what is received: shows how many messages a broker keeps in flight

	// Options of every subscription, MQTT 5 (§3.8.3.1).
	NoLocal           bool
	RetainAsPublished bool
	RetainHandling    uint8 // 0 send retained messages, 1 only for a new subscription, 2 never

	// Name is the client identifier of the n-th client made by NewNumbered.
	Name func(n uint32) string

	agreements *agreements
}

// agreements are the terms that clients of one Config share.
type agreements struct {
	initial terms // before the broker has said anything
	mu      sync.Mutex
	all     []*terms // afterwards
}

// initial returns the terms of a client whose broker has said nothing.
func (c *Config) initial() *terms {
	if c.agreements == nil || c.agreements.initial.cfg != c { // a copy of another Config has that one's
		c.agreements = &agreements{initial: terms{
			cfg: c, version: c.Version, holdAcks: c.HoldAcks, limit: 65535, maxQoS: 2,
			keepAlive: uint16(seconds(c.KeepAlive)), grant: grant(c.ReceiveMaximum),
		}}
	}
	return &c.agreements.initial
}

// mostAgreements bounds how many different terms are shared: a broker says the same to all.
const mostAgreements = 16

// alike returns shared terms that are t.
func (c *Config) alike(t terms) *terms {
	a := c.agreements
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, known := range a.all {
		if *known == t {
			return known
		}
	}
	n := new(terms)
	*n = t
	if len(a.all) < mostAgreements {
		a.all = append(a.all, n)
	}
	return n
}

// Will is the message that the broker publishes when the connection ends without a goodbye.
type Will struct {
	Topic   string
	Payload []byte
	QoS     uint8
	Retain  bool
}

// Validate says what in the configuration MQTT cannot express, or nil.
func (c *Config) Validate() error {
	switch {
	case c.Version != V311 && c.Version != V5:
		return fmt.Errorf("mqtt: version %d is neither 4 (3.1.1) nor 5", c.Version)
	case c.KeepAlive < 0 || seconds(c.KeepAlive) > 65535:
		return fmt.Errorf("mqtt: keep-alive %v is not between 0 and 65535 s", c.KeepAlive)
	case c.SessionExpiry < 0:
		return fmt.Errorf("mqtt: session expiry %v is negative", c.SessionExpiry)
	case c.Window < 0 || c.Window > 65535:
		return fmt.Errorf("mqtt: window %d is not between 0 and 65535", c.Window)
	case c.ReceiveMaximum < 0 || c.ReceiveMaximum > 65535:
		return fmt.Errorf("mqtt: receive maximum %d is not between 0 and 65535", c.ReceiveMaximum)
	case c.MaxPacketBytes < 0 || c.MaxPacketBytes > maxRemaining:
		return fmt.Errorf("mqtt: maximum packet size %d is not between 0 and %d", c.MaxPacketBytes, maxRemaining)
	case c.RetainHandling > 2:
		return fmt.Errorf("mqtt: retain handling %d is not 0, 1 or 2", c.RetainHandling)
	case len(c.User) > 65535 || len(c.Password) > 65535:
		return errors.New("mqtt: user name or password is longer than 65535 bytes")
	case c.Version == V311 && c.User == "" && c.Password != nil:
		return errors.New("mqtt: 3.1.1 allows no password without a user name")
	}
	return c.Will.validate()
}

func (w *Will) validate() error {
	if w == nil {
		return nil
	}
	if err := checkTopic([]byte(w.Topic)); err != nil {
		return fmt.Errorf("mqtt: will: %w", err)
	}
	if w.QoS > 2 {
		return fmt.Errorf("mqtt: will: there is no QoS %d", w.QoS)
	}
	if len(w.Payload) > 65535 {
		return fmt.Errorf("mqtt: will: a payload of %d bytes is longer than 65535", len(w.Payload))
	}
	return nil
}

// seconds rounds up, so that a short time does not become "never".
func seconds(d time.Duration) int64 {
	return int64((d + time.Second - 1) / time.Second)
}

// expiry is SessionExpiry as the protocol writes it; the largest value means that the session never expires.
func (c *Config) expiry() uint32 {
	return uint32(min(seconds(c.SessionExpiry), 0xFFFFFFFF))
}

// keepsSession reports whether the broker is asked to keep the session when the connection is lost.
func (c *Config) keepsSession() bool {
	if c.Version == V5 {
		return c.SessionExpiry > 0
	}
	return !c.CleanStart
}

// grant is how many unacknowledged messages the peer may have.
func grant(receiveMaximum int) uint16 {
	if receiveMaximum == 0 {
		return 65535
	}
	return uint16(receiveMaximum)
}

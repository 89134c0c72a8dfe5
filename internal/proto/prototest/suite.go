package prototest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
)

// User and Password are what a guarded broker accepts.
const (
	User     = "lab"
	Password = "open sesame"
)

// Protocol is what the suite has to know of a protocol.
type Protocol struct {
	Name      string
	NewClient func(o *Options) Client
	Separator string // between the levels of a topic
	One, Rest string // wildcards for one level and for all that follow
	QoS       []uint8

	Sessions       bool // survive a connection: Resend, and deliveries kept
	Retained       bool
	Wills          bool
	ReceiveMaximum bool // the subscriber can limit what the broker has in flight

	Lacks []Feature
}

// Feature is something that most protocols have.
type Feature string

// What a protocol may lack.
const (
	Groups    Feature = "groups"
	Wildcards Feature = "wildcards"
	SizeLimit Feature = "size limit" // the broker, or the session, refuses a message that is too large
)

// Client is a session under test. Barrier is reported with its token once everything sent before it was handled.
type Client interface {
	proto.Client
	Barrier(token uint64, out []byte) []byte
}

// Options are of one connection. A protocol ignores what it does not have.
type Options struct {
	ID             string
	User, Password string
	KeepSession    bool // resume an earlier session of this ID, and let this one be resumed
	KeepAlive      time.Duration
	Window         int // our unacknowledged messages; 0 = as many as the broker allows
	ReceiveMaximum int // the broker's
	HoldAcks       bool
	WillTopic      string // empty = no will
	WillPayload    string
}

// Broker is a running broker.
type Broker struct {
	Name string
	Addr string // accepts anyone, and payloads of a MiB
	// Guarded is the address where only User and Password are accepted, and no payload of GuardedMaxPayload bytes or
	// more; empty = there is none.
	Guarded           string
	GuardedMaxPayload int

	// Defects of the broker that the suite allows for.
	KeptUnordered    bool // delivers in any order what it kept for a session
	LosesUnconfirmed bool // loses a message that was on its way when its publisher vanished, even one it confirms later
}

// Run checks the behaviour of a protocol against a broker, in parallel.
func Run(t *testing.T, p *Protocol, b *Broker) {
	s := &suite{p: p, b: b}
	run := func(applies bool, name string, test func(t *testing.T)) {
		if applies {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
	}
	for _, qos := range p.QoS {
		with := func(test func(t *testing.T, qos uint8)) func(t *testing.T) {
			return func(t *testing.T) { test(t, qos) }
		}
		q := fmt.Sprint("/QoS", qos)
		run(true, "RoundTrip"+q, with(s.roundTrip))
		run(true, "Order"+q, with(s.order))
		run(true, "BigPayload"+q, with(s.bigPayload))
		run(p.Sessions && qos > 0 && !b.LosesUnconfirmed, "Resend"+q, with(s.resend))
	}
	has := func(f Feature) bool { return !slices.Contains(p.Lacks, f) }
	run(true, "ConfirmedSubscribe", s.confirmedSubscribe)
	run(has(Wildcards), "PayloadNotKept", s.payloadNotKept)
	run(has(Wildcards), "Wildcards", s.wildcards)
	run(has(Groups), "Group", s.group)
	run(true, "KeepAlive", s.keepAlive)
	run(b.Guarded != "", "Credentials", s.credentials)
	run(b.Guarded != "" && has(SizeLimit), "MaxPacket", s.maxPacket)
	run(p.Sessions, "KeptSession", s.keptSession)
	run(p.Retained, "Retained", s.retained)
	run(p.Wills, "Will", s.will)
	run(p.ReceiveMaximum, "ReceiveMaximum", s.receiveMaximum)
}

// suite is one protocol at one broker.
type suite struct {
	p *Protocol
	b *Broker
}

// topic makes a topic that no other test uses.
func (s *suite) topic(t *testing.T, levels ...string) string {
	topic := clean(t.Name())
	for _, l := range levels {
		topic += s.p.Separator + l
	}
	return topic
}

// clean keeps letters and digits.
func clean(name string) string {
	b := make([]byte, 0, len(name))
	for i := range len(name) {
		if c := name[i]; c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			b = append(b, c)
		}
	}
	return string(b)
}

// Package proto says what every protocol of the lab looks like to the engines that move its bytes.
//
// A session is a value machine: it is fed received bytes, appends the bytes to be sent, and reports one event at a time.
// It owns no socket, no goroutine and no clock. The same session serves the event loops, the goroutine engine, the
// faulty broker of the self-test and the fuzzers.
package proto

// Kind says what an Event reports.
type Kind uint8

// What a session can report.
const (
	None         Kind = iota // bytes were consumed (or more are needed); nothing to report
	Ready                    // client: the peer accepted the connection; server: a client connected and was accepted
	Subscribed               // client: subscription Token is confirmed, or refused if Err is set; server: the peer subscribed to Topic
	Unsubscribed             // server: the peer gave up subscription Token
	Delivered                // an application message arrived
	Acked                    // the peer took responsibility for message Token, or refused it if Err is set
	Resend                   // message Token was not acknowledged before the connection was resumed: publish it again
	Barrier                  // everything the peer did before answering is done (NATS PONG to Barrier, MQTT PINGRESP)
	Closed                   // the peer said goodbye; Err says why
)

// Event is what Feed reports. The caller owns it and reuses it; Topic and Payload alias the bytes given to Feed and are
// valid until the next call.
type Event struct {
	Kind        Kind
	QoS         uint8
	Retained    bool
	Redelivered bool   // the peer says it may have sent this before (MQTT DUP)
	Resumed     bool   // Ready: the peer kept the session of an earlier connection
	Token       uint64 // of the message or subscription, as the caller gave it; server: identifies the subscription
	Topic       []byte
	Payload     []byte
	Err         error // in words, with the protocol's reason code
}

// Message is what Publish encodes. The session does not keep Topic or Payload.
type Message struct {
	Token       uint64 // given back by Acked and Resend
	Topic       []byte
	Payload     []byte
	QoS         uint8
	Retain      bool
	Redelivered bool   // a repetition after Resend; must carry the Token of the first try
	Sub         uint64 // server side: Token of the subscription that this delivery answers
}

// Subscription is what Subscribe asks for.
type Subscription struct {
	Token uint64
	Topic string // the filter, in the protocol's own syntax
	QoS   uint8
	Group string // shared subscription or queue group; empty = none
}

// Session is one side of one connection.
//
// Errors are final: the connection must be closed, and the error says in one line what the peer did or refused.
type Session interface {
	// Open starts the conversation on a fresh connection, also after a reconnection, and appends its first bytes.
	Open(now int64, out []byte) []byte
	// Feed consumes at most one protocol unit of in, appends any answer to out, and describes what happened in ev.
	// It returns the number of bytes consumed; 0 means that in holds no whole unit yet and must be presented again
	// with more bytes behind it. Feed resets ev.
	Feed(now int64, in, out []byte, ev *Event) (n int, o []byte, err error)
	// Tick does what is due at now (keep-alive, unanswered pings) and returns when it wants to be called next
	// (math.MaxInt64 = never).
	Tick(now int64, out []byte) (next int64, o []byte, err error)
	// Close appends a graceful goodbye.
	Close(out []byte) []byte
}

// Publisher is the sending half of a session. On the server side it delivers to the peer.
type Publisher interface {
	// Room is how many more messages of this QoS flow control lets through now.
	Room(qos uint8) int
	// Publish appends one message to out. It fails, leaving out as it was, when the peer's limits forbid the message
	// (size, QoS, retain); the connection stays usable.
	Publish(m *Message, out []byte) ([]byte, error)
}

// Subscriber is the receiving half of a client.
type Subscriber interface {
	Subscribe(s *Subscription, out []byte) ([]byte, error)
}

// Plain is a session some of whose messages are framed by nothing but their topic and the length of their payload, in
// both directions. Who has sent or fed one of them may send the same bytes with another payload of that length without asking
// Publish, and may take a unit that has the same bytes around its payload for the same event without asking Feed.
type Plain interface {
	// Plain tells whether messages of this QoS are so, and what stands behind their payload.
	Plain(qos uint8) (trailer string, ok bool)
}

// Client is a client's side of a connection.
type Client interface {
	Session
	Publisher
	Subscriber
}

// Server is a broker's side of a connection, as far as tests need one. Its Feed answers handshakes, pings and
// acknowledgements by itself and reports Ready, Subscribed, Delivered, Acked and Closed.
type Server interface {
	Session
	Publisher
}

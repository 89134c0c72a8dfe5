package prototest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
)

// resend: messages that were not acknowledged when the connection died are reported in order after it was resumed, and
// once published again all arrive: exactly once with QoS 2, at least once and first in order with QoS 1.
func (s *suite) resend(t *testing.T, qos uint8) {
	sub, topic := s.connect(t, Options{}), s.topic(t)
	sub.subscribe(proto.Subscription{Topic: topic, QoS: qos})
	pub := s.connect(t, Options{KeepSession: true})
	const messages = 12
	send := func(token uint64, again bool) {
		pub.publish(proto.Message{
			Token: token, Topic: []byte(topic), Payload: fmt.Append(nil, token), QoS: qos, Redelivered: again,
		})
	}
	for token := uint64(1); token <= messages; token++ {
		send(token, false)
	}
	for cut := 0; pub.acked < messages; cut++ {
		for range cut {
			if pub.acked < messages {
				pub.expect(proto.Acked)
			}
		}
		pub.abort()
		pub.reconnect(s.b.Addr)
		if !pub.resumed {
			t.Fatal("the broker did not keep the session")
		}
		var tokens []uint64
		for {
			ev, err := pub.conn.Next(0)
			if err == ErrQuiet {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			switch ev.Kind {
			case proto.Resend:
				tokens = append(tokens, ev.Token)
				send(ev.Token, true)
			case proto.Acked:
				pub.acked++
			}
		}
		if !slices.IsSorted(tokens) {
			t.Errorf("messages to be sent again were reported as %v", tokens)
		}
	}
	pub.publish(proto.Message{Token: messages + 1, Topic: []byte(topic), Payload: []byte("end"), QoS: qos})
	pub.waitAcked(messages + 1)
	checkResent(t, sub.takeUntil("end"), messages, qos)
}

func checkResent(t *testing.T, got []received, messages int, qos uint8) {
	t.Helper()
	var first []string
	for _, r := range got {
		if !slices.Contains(first, r.payload) {
			first = append(first, r.payload)
		}
	}
	for i, p := range first {
		if p != fmt.Sprint(i+1) {
			t.Fatalf("first receipts are out of order: %v", first)
		}
	}
	if len(first) != messages || (qos == 2 && len(got) != messages) {
		t.Errorf("%d deliveries of %d messages instead of %d", len(got), len(first), messages)
	}
}

// keptSession: what was published while the subscriber was away is delivered when it comes back.
func (s *suite) keptSession(t *testing.T) {
	qos := slices.Max(s.p.QoS)
	topic := s.topic(t)
	pub, sub := s.connect(t, Options{}), s.connect(t, Options{KeepSession: true})
	if sub.resumed {
		t.Error("a session that never was is resumed")
	}
	sub.subscribe(proto.Subscription{Topic: topic, QoS: qos})
	sub.goodbye()
	for i := range 5 {
		pub.publish(proto.Message{Topic: []byte(topic), Payload: fmt.Append(nil, i), QoS: qos})
	}
	pub.waitAcked(5)
	sub.reconnect(s.b.Addr)
	if !sub.resumed {
		t.Fatal("the broker did not keep the session")
	}
	got := sub.take(5)
	if s.b.KeptUnordered {
		slices.SortFunc(got, func(a, b received) int { return strings.Compare(a.payload, b.payload) })
	}
	if got := payloads(got); got != "0 1 2 3 4" {
		t.Errorf("got %q", got)
	}
}

// retained: the last retained message is delivered to a later subscriber, and marked.
func (s *suite) retained(t *testing.T) {
	pub, topic := s.connect(t, Options{}), s.topic(t)
	pub.publish(proto.Message{Topic: []byte(topic), Payload: []byte("old"), Retain: true})
	pub.publish(proto.Message{Topic: []byte(topic), Payload: []byte("new"), Retain: true})
	pub.publish(proto.Message{Topic: []byte(topic), Payload: []byte("passing")})
	pub.barrier()
	sub := s.connect(t, Options{})
	sub.subscribe(proto.Subscription{Topic: topic})
	if got := sub.take(1)[0]; got.payload != "new" || !got.retained {
		t.Errorf("got %q, retained %v", got.payload, got.retained)
	}
	pub.publish(proto.Message{Topic: []byte(topic), Payload: []byte("live"), Retain: true})
	if got := sub.take(1)[0]; got.payload != "live" || got.retained {
		t.Errorf("got %q, retained %v", got.payload, got.retained)
	}
	pub.publish(proto.Message{Topic: []byte(topic), Retain: true}) // an empty one clears it
	pub.barrier()
}

// will: a client that vanishes leaves its will, one that says goodbye does not.
func (s *suite) will(t *testing.T) {
	sub, topic := s.connect(t, Options{}), s.topic(t)
	sub.subscribe(proto.Subscription{Topic: topic})
	polite := s.connect(t, Options{WillTopic: topic, WillPayload: "of the polite"})
	polite.goodbye()
	rude := s.connect(t, Options{WillTopic: topic, WillPayload: "of the rude"})
	rude.abort()
	if got := payloads(sub.take(1)); got != "of the rude" {
		t.Errorf("the will %q arrived", got)
	}
}

// receiveMaximum: a broker has no more unacknowledged messages at a subscriber than this allows.
func (s *suite) receiveMaximum(t *testing.T) {
	pub, topic := s.connect(t, Options{}), s.topic(t)
	sub := s.connect(t, Options{ReceiveMaximum: 3, HoldAcks: true})
	sub.subscribe(proto.Subscription{Topic: topic, QoS: 1})
	for i := range 10 {
		pub.publish(proto.Message{Topic: []byte(topic), Payload: fmt.Append(nil, i), QoS: 1})
	}
	pub.waitAcked(10)
	sub.take(3)
	sub.barrier()
	if len(sub.received) != 0 {
		t.Errorf("%d messages more than the receive maximum of 3 arrived", len(sub.received))
	}
}

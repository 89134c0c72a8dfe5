package prototest

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/proto"
)

func randomID() string { return rand.Text()[:8] }

// Pattern is a payload of n bytes in which neighbours differ, so that shifted or swapped parts show.
func Pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8*13 + i>>16)
	}
	return b
}

// roundTrip: what is published arrives, whatever its size.
func (s *suite) roundTrip(t *testing.T, qos uint8) {
	pub, sub, topic := s.connect(t, Options{}), s.connect(t, Options{}), s.topic(t, "x")
	sub.subscribe(proto.Subscription{Topic: topic, QoS: qos})
	for i, size := range []int{0, 1, 40, 127, 128, 1000, 16383, 16384, 100 << 10} {
		payload := Pattern(size)
		pub.publish(proto.Message{Topic: []byte(topic), Payload: payload, QoS: qos})
		if qos > 0 {
			pub.waitAcked(uint64(i + 1))
		}
		got := sub.take(1)[0]
		if got.topic != topic || got.payload != string(payload) || got.qos != qos || got.retained {
			t.Errorf("payload of %d bytes on %q with QoS %d arrived as %d bytes on %q with QoS %d, retained %v",
				size, topic, qos, len(got.payload), got.topic, got.qos, got.retained)
		}
	}
	pub.goodbye()
	sub.goodbye()
}

// order: messages of one publisher on one topic arrive in the order sent, all of them.
//
// The window is 20 because mosquitto 2.0 confirms further QoS 2 messages and loses them; MQTT 3.1.1 lets it announce no limit.
func (s *suite) order(t *testing.T, qos uint8) {
	pub, sub, topic := s.connect(t, Options{Window: 20}), s.connect(t, Options{}), s.topic(t)
	sub.subscribe(proto.Subscription{Topic: topic, QoS: qos})
	const rounds, burst = 20, 50
	for r := range rounds {
		for i := range burst {
			pub.publish(proto.Message{Topic: []byte(topic), Payload: fmt.Append(nil, r*burst+i), QoS: qos})
		}
		if qos > 0 {
			pub.waitAcked(uint64(r+1) * burst)
		}
		for i, got := range sub.take(burst) {
			if want := fmt.Sprint(r*burst + i); got.payload != want {
				t.Fatalf("message %s arrived in the place of %s", got.payload, want)
			}
		}
	}
}

// bigPayload: a payload far larger than any buffer arrives unharmed.
func (s *suite) bigPayload(t *testing.T, qos uint8) {
	pub, sub, topic := s.connect(t, Options{}), s.connect(t, Options{}), s.topic(t)
	sub.subscribe(proto.Subscription{Topic: topic, QoS: qos})
	payload := Pattern(1<<20 - 512)
	pub.publish(proto.Message{Topic: []byte(topic), Payload: payload, QoS: qos})
	if qos > 0 {
		pub.waitAcked(1)
	}
	if got := sub.take(1)[0]; got.payload != string(payload) {
		t.Errorf("%d bytes arrived as %d other bytes", len(payload), len(got.payload))
	}
}

// confirmedSubscribe: whatever is published after Subscribed was reported is delivered.
func (s *suite) confirmedSubscribe(t *testing.T) {
	pub, sub := s.connect(t, Options{}), s.connect(t, Options{})
	for i := range 50 {
		topic := s.topic(t, fmt.Sprint(i))
		sub.subscribe(proto.Subscription{Topic: topic})
		pub.publish(proto.Message{Topic: []byte(topic), Payload: []byte("first")})
		sub.take(1)
	}
}

// payloadNotKept: once Publish has returned, topic and payload belong to the caller again.
func (s *suite) payloadNotKept(t *testing.T) {
	qos := slices.Max(s.p.QoS)
	pub, sub := s.connect(t, Options{}), s.connect(t, Options{})
	sub.subscribe(proto.Subscription{Topic: s.topic(t, s.p.One), QoS: qos})
	var out []byte
	for i := range 10 {
		m := proto.Message{Topic: []byte(s.topic(t, fmt.Sprint(i))), Payload: fmt.Append(nil, "payload ", i), QoS: qos}
		var err error
		if out, err = pub.client.Publish(&m, out); err != nil {
			t.Fatal(err)
		}
		copy(m.Topic, bytes.Repeat([]byte("?"), len(m.Topic)))
		copy(m.Payload, bytes.Repeat([]byte("?"), len(m.Payload)))
	}
	if err := pub.conn.Send(func(o []byte) ([]byte, error) { return append(o, out...), nil }); err != nil {
		t.Fatal(err)
	}
	if qos > 0 {
		pub.waitAcked(10)
	}
	for i, got := range sub.take(10) {
		if got.topic != s.topic(t, fmt.Sprint(i)) || got.payload != fmt.Sprint("payload ", i) {
			t.Errorf("message %d arrived as %q on %q", i, got.payload, got.topic)
		}
	}
}

// wildcards: one level, and all that follow.
func (s *suite) wildcards(t *testing.T) {
	pub := s.connect(t, Options{})
	one, rest := s.connect(t, Options{}), s.connect(t, Options{})
	one.subscribe(proto.Subscription{Topic: s.topic(t, s.p.One, "b")})
	rest.subscribe(proto.Subscription{Topic: s.topic(t, s.p.Rest)})
	for _, levels := range [][]string{{"a", "b"}, {"a", "c"}, {"a", "b", "c"}, {"x", "b"}} {
		pub.publish(proto.Message{Topic: []byte(s.topic(t, levels...)), Payload: []byte(strings.Join(levels, ""))})
	}
	if got := payloads(one.take(2)); got != "ab xb" {
		t.Errorf("the wildcard for one level got %q", got)
	}
	if got := payloads(rest.take(4)); got != "ab ac abc xb" {
		t.Errorf("the wildcard for all levels got %q", got)
	}
}

func payloads(got []received) string {
	var all []string
	for _, r := range got {
		all = append(all, r.payload)
	}
	return strings.Join(all, " ")
}

// group: each message goes to one member of a group.
func (s *suite) group(t *testing.T) {
	pub, topic := s.connect(t, Options{}), s.topic(t, "work")
	members := []*peer{s.connect(t, Options{}), s.connect(t, Options{}), s.connect(t, Options{})}
	for _, m := range members {
		m.subscribe(proto.Subscription{Topic: topic, Group: "g"})
	}
	const messages = 60
	for i := range messages {
		pub.publish(proto.Message{Topic: []byte(topic), Payload: fmt.Append(nil, i)})
	}
	seen := map[string]int{}
	for _, r := range takeShared(t, members, messages) {
		seen[r.payload]++
	}
	for i := range messages {
		if n := seen[fmt.Sprint(i)]; n != 1 {
			t.Errorf("message %d was delivered to %d members", i, n)
		}
	}
}

// takeShared waits until the members of a group have n messages together, and returns all that have arrived.
func takeShared(t *testing.T, members []*peer, n int) (got []received) {
	t.Helper()
	const turn = 10 * time.Millisecond
	for waited := time.Duration(0); len(got) < n && waited < patience; {
		for _, m := range members {
			switch ev, err := m.conn.Next(turn); {
			case err == ErrQuiet:
				waited += turn
			case err != nil || ev.Kind != proto.Delivered:
				t.Fatalf("reported %+v, %v", ev, err)
			default:
				got = append(got, received{payload: string(ev.Payload)})
			}
		}
	}
	for _, m := range members {
		m.barrier()
		got = append(got, m.received...)
	}
	return got
}

// keepAlive: a silent connection outlives the keep-alive by far, and still works.
func (s *suite) keepAlive(t *testing.T) {
	p := s.connect(t, Options{KeepAlive: time.Second})
	if ev, err := p.conn.Next(3 * time.Second); err != ErrQuiet {
		t.Fatalf("a silent connection reported %+v, %v", ev, err)
	}
	p.barrier()
}

// credentials: the right ones are accepted, wrong and missing ones refused in words.
func (s *suite) credentials(t *testing.T) {
	try := func(user, password string) error {
		c, err := Dial(s.b.Guarded, s.p.NewClient(&Options{ID: randomID(), User: user, Password: password}))
		if err != nil {
			return err
		}
		defer func() { _ = c.Abort() }()
		ev, err := c.Next(patience)
		if err == nil && ev.Kind != proto.Ready {
			err = fmt.Errorf("event of kind %d: %w", ev.Kind, ev.Err)
		}
		return err
	}
	if err := try(User, Password); err != nil {
		t.Errorf("right credentials: %v", err)
	}
	for _, wrong := range [][2]string{{User, "guess"}, {"nobody", Password}, {"", ""}} {
		err := try(wrong[0], wrong[1])
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), "authori") &&
			!strings.Contains(err.Error(), "bad user name or password") {
			t.Errorf("user %q, password %q: %v", wrong[0], wrong[1], err)
		}
	}
}

// maxPacket: a message above the broker's limit fails here, with size and limit, where the broker told it; it does not
// harm the connection.
func (s *suite) maxPacket(t *testing.T) {
	p := &peer{t: t, client: s.p.NewClient(&Options{ID: randomID(), User: User, Password: Password})}
	p.reconnect(s.b.Guarded)
	t.Cleanup(func() { _ = p.conn.nc.Close() })
	topic, size := s.topic(t), s.b.GuardedMaxPayload
	p.subscribe(proto.Subscription{Topic: topic})
	err := p.conn.Send(func(out []byte) ([]byte, error) {
		return p.client.Publish(&proto.Message{Topic: []byte(topic), Payload: Pattern(size)}, out)
	})
	if err == nil {
		if _, err = p.conn.Next(patience); err == nil {
			t.Fatal("a message above the limit was taken")
		}
		t.Logf("this broker does not tell its limit: %v", err)
		return
	}
	if !strings.Contains(err.Error(), fmt.Sprint(size/1000)) {
		t.Errorf("the error does not name the size: %v", err)
	}
	p.publish(proto.Message{Topic: []byte(topic), Payload: Pattern(size - 200)})
	p.take(1)
	p.goodbye()
}

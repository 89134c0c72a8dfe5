package prototest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	azure "github.com/Azure/go-amqp"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/amqp10"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// amqp10Sizes are payload sizes around the edges of encodings and frames.
var amqp10Sizes = []int{0, 1, 40, 127, 128, 255, 256, 257, 1000, 4000, 4096, 65400, 65535, 65536, 130900, 131072, 262144, 300 << 10}

// amqp10Peer is one of our clients on a connection.
type amqp10Peer struct{ *clientPeer[*amqp10.Client] }

// dialAMQP10 connects a client and waits until it is accepted.
func dialAMQP10(t testing.TB, addr string, c *amqp10.Client) *amqp10Peer {
	t.Helper()
	return &amqp10Peer{dialPeer(t, addr, c)}
}

// subscribe asks for a subscription without waiting for the answer.
func (p *amqp10Peer) subscribe(token uint64, topic string, qos uint8) {
	p.t.Helper()
	p.ask(proto.Subscription{Token: token, Topic: topic, QoS: qos})
}

func (p *amqp10Peer) publish(token uint64, topic string, qos uint8, payload []byte) {
	p.t.Helper()
	p.say(proto.Message{Token: token, Topic: []byte(topic), Payload: payload, QoS: qos})
}

// libraryAMQP10 connects a client of the foreign library and begins a session.
func libraryAMQP10(t testing.TB, addr string) *azure.Session {
	t.Helper()
	conn, err := azure.Dial(t.Context(), "amqp://"+addr, &azure.ConnOptions{SASLType: azure.SASLTypePlain("guest", "guest")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	s, err := conn.NewSession(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// libraryReceiver attaches a receiver of the library.
func libraryReceiver(t testing.TB, addr, source string, qos uint8) *azure.Receiver {
	t.Helper()
	mode := azure.SenderSettleModeSettled
	if qos == 1 {
		mode = azure.SenderSettleModeUnsettled
	}
	r, err := libraryAMQP10(t, addr).NewReceiver(t.Context(), source, &azure.ReceiverOptions{
		Credit: 10, RequestedSenderSettleMode: mode.Ptr(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// librarySender attaches a sender of the library.
func librarySender(t testing.TB, addr, target string, qos uint8) *azure.Sender {
	t.Helper()
	mode := azure.SenderSettleModeSettled
	if qos == 1 {
		mode = azure.SenderSettleModeUnsettled
	}
	s, err := libraryAMQP10(t, addr).NewSender(t.Context(), target, &azure.SenderOptions{SettlementMode: mode.Ptr()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// libraryReceive receives and accepts a message.
func libraryReceive(t testing.TB, r *azure.Receiver) *azure.Message {
	t.Helper()
	m, err := r.Receive(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.AcceptMessage(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestAMQP10PublishToLibrary: what we publish arrives at go-amqp, in order, every byte.
func TestAMQP10PublishToLibrary(t *testing.T) {
	t.Parallel()
	addr := rabbitMQ10(t)
	for _, qos := range []uint8{0, 1} {
		for _, frame := range []int{0, 512} {
			t.Run(fmt.Sprintf("QoS%d/frame=%d", qos, frame), func(t *testing.T) {
				t.Parallel()
				key := "publish." + t.Name()
				r := libraryReceiver(t, addr, "/topic/"+strings.ReplaceAll(key, "/", "%2F"), qos)
				cfg := exchange10()
				cfg.FrameMax, cfg.Durable = frame, frame != 0
				p := dialAMQP10(t, addr, amqp10.NewClient(&cfg, "publisher"))
				for i, size := range amqp10Sizes {
					p.publish(uint64(i), key, qos, prototest.Pattern(size))
				}
				for i, size := range amqp10Sizes {
					m := libraryReceive(t, r)
					if *m.Properties.Subject != key || len(m.Data) != 1 || !slices.Equal(m.GetData(), prototest.Pattern(size)) {
						t.Errorf("message %d of %d bytes arrived as %d bytes on %s", i, size, len(m.GetData()), *m.Properties.Subject)
					}
					if m.Header.Durable != cfg.Durable {
						t.Errorf("message %d is durable: %v", i, m.Header.Durable)
					}
				}
				acked := map[uint64]bool{}
				for qos == 1 && len(acked) < len(amqp10Sizes) {
					ev := p.next()
					if ev.Kind != proto.Acked || ev.Err != nil || acked[ev.Token] {
						t.Fatalf("reported %+v", ev)
					}
					acked[ev.Token] = true
				}
				if err := p.Goodbye(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestAMQP10SubscribeToLibrary: what go-amqp publishes arrives here, in order, every byte.
func TestAMQP10SubscribeToLibrary(t *testing.T) {
	t.Parallel()
	addr := rabbitMQ10(t)
	for _, qos := range []uint8{0, 1} {
		for _, every := range []int{1, 7} {
			t.Run(fmt.Sprintf("QoS%d/settle=%d", qos, every), func(t *testing.T) {
				t.Parallel()
				queue := strings.ReplaceAll("subscribe."+t.Name(), "/", ".")
				cfg := queues10()
				cfg.Credit, cfg.AckEvery, cfg.FrameMax = 10, every, every*1000
				p := dialAMQP10(t, addr, amqp10.NewClient(&cfg, "subscriber"))
				p.subscribe(1<<63, queue, qos)
				p.expect(proto.Subscribed, 1<<63)
				sender := librarySender(t, addr, "/queue/"+queue, qos)
				sizes := amqp10Sizes
				if qos == 0 { // of several frames, go-amqp marks only the last as settled, which RabbitMQ 3.10 does not survive
					sizes = sizes[:slices.Index(sizes, 65536)]
				}
				for _, size := range sizes {
					if err := sender.Send(t.Context(), azure.NewMessage(prototest.Pattern(size)), nil); err != nil {
						t.Fatal(err)
					}
				}
				for i, size := range sizes {
					ev := p.expect(proto.Delivered, 1<<63)
					if string(ev.Topic) != queue || ev.QoS != qos || ev.Redelivered || !slices.Equal(ev.Payload, prototest.Pattern(size)) {
						t.Errorf("message %d of %d bytes arrived as %d bytes on %s with QoS %d", i, size, len(ev.Payload), ev.Topic, ev.QoS)
					}
				}
			})
		}
	}
}

// queues10 are settings for queues by name.
func queues10() amqp10.Config {
	queue := amqp10.Terminus{Address: "/queue/{topic}"}
	return amqp10.Config{User: "guest", Password: "guest", Target: queue, Source: queue}
}

// TestAMQP10Bodies: whatever kind of body and however many sections, the payload is what the sender meant.
func TestAMQP10Bodies(t *testing.T) {
	t.Parallel()
	addr := rabbitMQ10(t)
	cfg := queues10()
	p := dialAMQP10(t, addr, amqp10.NewClient(&cfg, "bodies"))
	p.subscribe(1, t.Name(), 1)
	p.expect(proto.Subscribed, 1)
	sender := librarySender(t, addr, "/queue/"+t.Name(), 1)
	subject, to := "a subject", "an address"
	for _, c := range []struct {
		m              azure.Message
		payload, topic string
	}{
		{azure.Message{Data: [][]byte{[]byte("one")}}, "one", t.Name()},
		// RabbitMQ 3.10 turns the order of sections around.
		{azure.Message{Data: [][]byte{[]byte("one"), []byte("two"), []byte("one")}}, "onetwoone", t.Name()},
		{azure.Message{Value: "a string"}, "a string", t.Name()},
		{azure.Message{Value: []byte("a binary")}, "a binary", t.Name()},
		{azure.Message{Value: uint8(65)}, "A", t.Name()},
		{azure.Message{Sequence: [][]any{{"alone"}}}, "alone", t.Name()},
		{azure.Message{Data: [][]byte{[]byte("x")}, Properties: &azure.MessageProperties{Subject: &subject, To: &to}}, "x", subject},
		{azure.Message{
			Data: [][]byte{[]byte("y")}, Header: &azure.MessageHeader{Durable: true, Priority: 3},
			Properties:            &azure.MessageProperties{MessageID: "id", To: &to},
			Annotations:           azure.Annotations{"x-opt-a": "b"},
			ApplicationProperties: map[string]any{"a": int64(1), "b": []byte("c")},
			Footer:                azure.Annotations{"x-opt-f": true},
		}, "y", to},
	} {
		if err := sender.Send(t.Context(), &c.m, nil); err != nil {
			t.Fatal(err)
		}
		if ev := p.expect(proto.Delivered, 1); string(ev.Payload) != c.payload || !strings.HasSuffix(string(ev.Topic), c.topic) {
			t.Errorf("got %q on %q, want %q on %q", ev.Payload, ev.Topic, c.payload, c.topic)
		}
	}
}

// TestAMQP10Reconnect: the same session works on a new connection, and its caller subscribes again.
func TestAMQP10Reconnect(t *testing.T) {
	t.Parallel()
	addr := rabbitMQ10(t)
	cfg := exchange10()
	client := amqp10.NewClient(&cfg, "again")
	for range 3 {
		p := dialAMQP10(t, addr, client)
		p.subscribe(1, t.Name(), 1)
		p.expect(proto.Subscribed, 1)
		p.publish(5, t.Name(), 1, []byte("hello"))
		for range 2 {
			if ev := p.next(); ev.Err != nil || (ev.Kind != proto.Acked && string(ev.Payload) != "hello") {
				t.Errorf("reported %+v", ev)
			}
		}
		p.publish(6, t.Name(), 1, prototest.Pattern(1<<20)) // under way when the connection dies
		if err := p.Abort(); err != nil {
			t.Fatal(err)
		}
		if client.InFlight() != 1 {
			t.Errorf("%d messages are in flight", client.InFlight())
		}
	}
	p := dialAMQP10(t, addr, client)
	p.publish(7, t.Name(), 1, nil)
	p.expect(proto.Acked, 7)
}

// TestAMQP10Redelivered: what was not settled is delivered again, and marked.
func TestAMQP10Redelivered(t *testing.T) {
	t.Parallel()
	addr := rabbitMQ10(t)
	cfg := queues10()
	cfg.HoldAcks = true
	client := amqp10.NewClient(&cfg, "again")
	p := dialAMQP10(t, addr, client)
	p.publish(1, t.Name(), 1, []byte("hello"))
	p.expect(proto.Acked, 1)
	for _, again := range []bool{false, true} {
		p.subscribe(1, t.Name(), 1)
		p.expect(proto.Subscribed, 1)
		if ev := p.expect(proto.Delivered, 1); ev.Redelivered != again || string(ev.Payload) != "hello" {
			t.Errorf("got %q, redelivered %v, want %v", ev.Payload, ev.Redelivered, again)
		}
		if err := p.Goodbye(); err != nil {
			t.Fatal(err)
		}
		p = dialAMQP10(t, addr, client)
	}
}

// TestAMQP10ManyMessages: each message is settled exactly once, over more messages than the 65,536 that RabbitMQ gives
// credit for.
func TestAMQP10ManyMessages(t *testing.T) {
	t.Parallel()
	cfg := exchange10()
	cfg.Window = 5000
	client := amqp10.NewClient(&cfg, "many")
	p := dialAMQP10(t, rabbitMQ10(t), client)
	const messages = 150_000
	acked := make([]bool, messages)
	var sent uint64
	encode := func(out []byte) (o []byte, err error) {
		for o = out; sent < messages && client.Room(1) > 0 && len(o) < 100_000 && err == nil; sent++ {
			o, err = client.Publish(&proto.Message{Token: sent, Topic: []byte("nobody.here"), Payload: []byte("x"), QoS: 1}, o)
		}
		return o, err
	}
	for settled := 0; settled < messages; {
		if err := p.Send(encode); err != nil {
			t.Fatal(err)
		}
		for settled < messages && (client.Room(1) == 0 || sent == messages) {
			ev := p.next()
			if ev.Kind != proto.Acked || ev.Err != nil || acked[ev.Token] {
				t.Fatalf("reported %+v", ev)
			}
			acked[ev.Token] = true
			settled++
		}
	}
}

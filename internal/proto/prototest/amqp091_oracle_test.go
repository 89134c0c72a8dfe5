package prototest_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	amqpgo "github.com/rabbitmq/amqp091-go"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/amqp091"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// amqp091Sizes are payload sizes around the edges of buffers and frames: a body frame of RabbitMQ holds 131,064 bytes.
var amqp091Sizes = []int{0, 1, 40, 127, 128, 255, 256, 1000, 4088, 4089, 65535, 65536, 131063, 131064, 131065, 262128, 300 << 10}

// libraryAMQP091 connects a client of the foreign library and opens a channel.
func libraryAMQP091(t testing.TB, addr string) *amqpgo.Channel {
	t.Helper()
	conn, err := amqpgo.Dial("amqp://guest:guest@" + addr + "/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// libraryQueue declares a queue, binds it and consumes from it.
func libraryQueue(t testing.TB, ch *amqpgo.Channel, exchange, key string, autoAck bool) <-chan amqpgo.Delivery {
	t.Helper()
	q, err := ch.QueueDeclare("", false, false, true, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := ch.QueueBind(q.Name, key, exchange, false, nil); err != nil {
		t.Fatal(err)
	}
	d, err := ch.Consume(q.Name, "", autoAck, false, false, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func received(t testing.TB, d <-chan amqpgo.Delivery) amqpgo.Delivery {
	t.Helper()
	select {
	case m, ok := <-d:
		if ok {
			return m
		}
		t.Fatal("the library's channel was closed")
	case <-time.After(patience):
		t.Fatal("nothing arrived at the library in time")
	}
	return amqpgo.Delivery{}
}

// libraryPublish publishes and waits for the confirmation if the channel has them.
func libraryPublish(t testing.TB, ch *amqpgo.Channel, exchange, key string, body []byte) {
	t.Helper()
	confirm, err := ch.PublishWithDeferredConfirm(exchange, key, false, false, amqpgo.Publishing{
		Body: body, ContentType: "application/octet-stream", CorrelationId: "7", Headers: amqpgo.Table{"a": int32(1), "b": "c"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if confirm == nil {
		return
	}
	if ok, err := confirm.WaitContext(t.Context()); !ok || err != nil {
		t.Fatalf("confirmed: %v, %v", ok, err)
	}
}

// TestAMQP091PublishToLibrary: what we publish arrives at amqp091-go, in order, every byte.
func TestAMQP091PublishToLibrary(t *testing.T) {
	t.Parallel()
	addr := rabbitMQ(t)
	for _, qos := range []uint8{0, 1} {
		for _, persistent := range []bool{false, true} {
			t.Run(fmt.Sprintf("QoS%d/persistent=%v", qos, persistent), func(t *testing.T) {
				t.Parallel()
				key := "publish." + t.Name()
				d := libraryQueue(t, libraryAMQP091(t, addr), "amq.topic", key, qos == 0)
				cfg := topics()
				cfg.Persistent, cfg.Mandatory = persistent, persistent
				p := dialAMQP091(t, addr, amqp091.NewClient(&cfg, "publisher"))
				for i, size := range amqp091Sizes {
					p.publish(uint64(i), key, qos, prototest.Pattern(size))
				}
				for i, size := range amqp091Sizes {
					m := received(t, d)
					if m.RoutingKey != key || m.Exchange != "amq.topic" || !slices.Equal(m.Body, prototest.Pattern(size)) {
						t.Errorf("message %d of %d bytes arrived as %d bytes on %s of %s", i, size, len(m.Body), m.RoutingKey, m.Exchange)
					}
					if want := map[bool]uint8{false: amqpgo.Transient, true: amqpgo.Persistent}[persistent]; m.DeliveryMode != want {
						t.Errorf("message %d has delivery mode %d", i, m.DeliveryMode)
					}
					if qos == 1 {
						if err := m.Ack(false); err != nil {
							t.Fatal(err)
						}
					}
				}
				acked := map[uint64]bool{}
				for qos == 1 && len(acked) < len(amqp091Sizes) {
					ev := p.next()
					if ev.Kind != proto.Acked || ev.Err != nil || acked[ev.Token] {
						t.Fatalf("reported %+v", ev)
					}
					acked[ev.Token] = true
				}
				p.quiet(99)
			})
		}
	}
}

// TestAMQP091SubscribeToLibrary: what amqp091-go publishes arrives here, in order, every byte.
func TestAMQP091SubscribeToLibrary(t *testing.T) {
	t.Parallel()
	addr := rabbitMQ(t)
	for _, qos := range []uint8{0, 1} {
		for _, every := range []int{1, 7} {
			t.Run(fmt.Sprintf("QoS%d/acks=%d", qos, every), func(t *testing.T) {
				t.Parallel()
				library := libraryAMQP091(t, addr)
				if qos == 1 {
					if err := library.Confirm(false); err != nil {
						t.Fatal(err)
					}
				}
				cfg := topics()
				cfg.Prefetch, cfg.AckEvery = 10, every
				p := dialAMQP091(t, addr, amqp091.NewClient(&cfg, "subscriber"))
				p.subscribe(1<<63, "subscribe."+t.Name()+".*", qos)
				p.expect(proto.Subscribed, 1<<63)
				for i, size := range amqp091Sizes {
					libraryPublish(t, library, "amq.topic", fmt.Sprintf("subscribe.%s.%d", t.Name(), i), prototest.Pattern(size))
				}
				for i, size := range amqp091Sizes {
					ev := p.expect(proto.Delivered, 1<<63)
					if string(ev.Topic) != fmt.Sprintf("subscribe.%s.%d", t.Name(), i) || ev.QoS != qos || ev.Redelivered ||
						!slices.Equal(ev.Payload, prototest.Pattern(size)) {
						t.Errorf("message %d of %d bytes arrived as %d bytes on %s", i, size, len(ev.Payload), ev.Topic)
					}
				}
				p.quiet(1)
			})
		}
	}
}

// TestAMQP091Exchanges: direct, fanout, topic and the default exchange, declared by us, used by both.
func TestAMQP091Exchanges(t *testing.T) {
	t.Parallel()
	addr := rabbitMQ(t)
	one := []string{"a.b ours", "a.b theirs"}
	for kind, want := range map[string][]string{
		"direct": one, "topic": one, "": one, "fanout": append(slices.Clone(one), "a.c ours", "a.c theirs"),
	} {
		t.Run("kind="+kind, func(t *testing.T) {
			t.Parallel()
			cfg := topics()
			cfg.Exchange = amqp091.Exchange{Kind: kind, AutoDelete: true}
			if kind != "" {
				cfg.Exchange.Name = "lab." + kind
			}
			p := dialAMQP091(t, addr, amqp091.NewClient(&cfg, "both"))
			p.subscribe(1, "a.b", 1)
			p.expect(proto.Subscribed, 1)
			library := libraryAMQP091(t, addr)
			for _, key := range []string{"a.b", "a.c"} {
				p.publish(0, key, 0, []byte("ours"))
				libraryPublish(t, library, cfg.Exchange.Name, key, []byte("theirs"))
			}
			var got []string
			for range want {
				ev := p.expect(proto.Delivered, 1)
				got = append(got, fmt.Sprintf("%s %s", ev.Topic, ev.Payload))
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
			p.quiet(2)
		})
	}
}

// TestAMQP091Wildcards: the broker delivers exactly where Match says so.
func TestAMQP091Wildcards(t *testing.T) {
	t.Parallel()
	bindings := []string{"a", "a.*", "*.b", "a.#", "#", "*.*.*", "a.*.#", "*", "b.c", "a*", "#.b", "a.#.d", "#.b.#", "*.#.*"}
	keys := []string{"a", "b", "a.b", "b.c", "a.b.c", "a.c.b.d", "aa", "x.b", "a*", "", "a.", ".b"}
	cfg := topics()
	cfg.Exchange = amqp091.Exchange{Name: "lab.wildcards", Kind: "topic", AutoDelete: true}
	p := dialAMQP091(t, rabbitMQ(t), amqp091.NewClient(&cfg, "wild"))
	for token, binding := range bindings {
		p.subscribe(uint64(token), binding, 0)
	}
	for token := range bindings {
		p.expect(proto.Subscribed, uint64(token))
	}
	for _, key := range keys {
		var want, got []string
		for token, binding := range bindings {
			if amqp091.Match(binding, key) {
				want = append(want, fmt.Sprint(token, " ", key))
			}
		}
		p.publish(0, key, 0, nil)
		for range want {
			ev, err := p.Next(time.Second)
			if err != nil {
				t.Errorf("after %s: %v", key, err)
				break
			}
			got = append(got, fmt.Sprint(ev.Token, " ", string(ev.Topic)))
		}
		slices.Sort(want)
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s reached %q, want %q", key, got, want)
		}
	}
	p.quiet(99)
}

// TestAMQP091Quorum: a quorum queue keeps messages for its client, and marks those it delivers again.
func TestAMQP091Quorum(t *testing.T) {
	t.Parallel()
	addr := rabbitMQ(t)
	cfg := topics()
	cfg.Queue = amqp091.Queue{Type: "quorum"}
	cfg.Persistent, cfg.HoldAcks, cfg.Prefetch = true, true, 5
	keeping(t, addr, &cfg)
}

// TestAMQP091Durable: a durable classic queue does so, too.
func TestAMQP091Durable(t *testing.T) {
	t.Parallel()
	addr := rabbitMQ(t)
	cfg := topics()
	cfg.Queue = amqp091.Queue{Type: "classic", Durable: true, Arguments: amqp091.Table{{Name: "x-max-length", Value: int64(1000)}}}
	cfg.Persistent, cfg.HoldAcks, cfg.Prefetch = true, true, 5
	keeping(t, addr, &cfg)
}

// keeping publishes before, while and after the subscriber is away. Nothing is acknowledged before its last connection.
func keeping(t *testing.T, addr string, cfg *amqp091.Config) {
	t.Helper()
	topic := t.Name() + ".keep"
	client := amqp091.NewClient(cfg, "keeper")
	publisher := dialAMQP091(t, addr, amqp091.NewClient(cfg, "publisher"))
	publish := func(token uint64) {
		publisher.publish(token, topic, 1, fmt.Append(nil, token))
		publisher.expect(proto.Acked, token)
	}
	p := dialAMQP091(t, addr, client)
	p.subscribe(1, topic, 1)
	p.expect(proto.Subscribed, 1)
	publish(1)
	if ev := p.expect(proto.Delivered, 1); string(ev.Payload) != "1" || ev.Redelivered {
		t.Errorf("first time: %q, redelivered %v", ev.Payload, ev.Redelivered)
	}
	if err := p.Abort(); err != nil {
		t.Fatal(err)
	}
	publish(2)
	p = dialAMQP091(t, addr, client)
	p.subscribe(1, topic, 1)
	p.expect(proto.Subscribed, 1)
	publish(3)
	got := map[string]bool{}
	for range 3 {
		ev := p.expect(proto.Delivered, 1)
		got[string(ev.Payload)] = ev.Redelivered
	}
	if len(got) != 3 || !got["1"] || got["3"] { // whether the broker had tried 2 before depends on when it noticed
		t.Errorf("second time, with what was redelivered: %v", got)
	}
	if _, err := libraryAMQP091(t, addr).QueueDelete("keeper:"+topic, false, false, false); err != nil {
		t.Error(err)
	}
	if ev := p.next(); ev.Kind != proto.None || ev.Token != 1 || ev.Err == nil {
		t.Errorf("after its queue was deleted: %+v", ev)
	}
}

// TestAMQP091Reconnect: the same session works on a new connection, and its caller subscribes again.
func TestAMQP091Reconnect(t *testing.T) {
	t.Parallel()
	addr := rabbitMQ(t)
	cfg := topics()
	client := amqp091.NewClient(&cfg, "again")
	for range 3 {
		p := dialAMQP091(t, addr, client)
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
	p := dialAMQP091(t, addr, client)
	p.publish(7, t.Name(), 1, nil)
	p.expect(proto.Acked, 7)
	p.quiet(8)
}

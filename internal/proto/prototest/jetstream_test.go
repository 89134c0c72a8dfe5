package prototest_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/nats"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// jetstreamOn is the configuration of a server with JetStream.
func jetstreamOn(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("jetstream { store_dir: %q }\n", t.TempDir())
}

// jetstreamStorages are where streams of the tests are kept.
var jetstreamStorages = []string{nats.StorageFile, nats.StorageMemory}

func jetstreamProtocol(storage string) *prototest.Protocol {
	return &prototest.Protocol{
		Name: "jetstream",
		NewClient: func(o *prototest.Options) prototest.Client {
			stream := &nats.Stream{Name: "suite-" + storage, Subjects: []string{storage + ".>"}, Storage: storage, HoldAcks: o.HoldAcks}
			cfg := &nats.Config{User: o.User, Password: o.Password, KeepAlive: o.KeepAlive}
			return &within1{JetStream: nats.NewJetStream(cfg, stream, o.ID), prefix: storage + "."}
		},
		Separator: ".", One: "*", Rest: ">",
		QoS: []uint8{0, 1},
	}
}

// within1 puts the suite's topics below one token, which its stream takes: no stream may take all subjects.
type within1 struct {
	*nats.JetStream
	prefix string
}

func (c *within1) Publish(m *proto.Message, out []byte) ([]byte, error) {
	inner := *m
	inner.Topic = append([]byte(c.prefix), m.Topic...)
	return c.JetStream.Publish(&inner, out)
}

func (c *within1) Subscribe(s *proto.Subscription, out []byte) ([]byte, error) {
	inner := *s
	inner.Topic = c.prefix + s.Topic
	return c.JetStream.Subscribe(&inner, out)
}

func (c *within1) Feed(now int64, in, out []byte, ev *proto.Event) (int, []byte, error) {
	n, out, err := c.JetStream.Feed(now, in, out, ev)
	ev.Topic = bytes.TrimPrefix(ev.Topic, []byte(c.prefix))
	return n, out, err
}

func TestJetStream(t *testing.T) {
	guarded := fmt.Sprintf("max_payload: %d\nauthorization { user: %q, password: %q }\n",
		guardedPayload-1, prototest.User, prototest.Password)
	natsEverywhere(t, func(t *testing.T, start natsHost) {
		b := &prototest.Broker{
			Name: "nats-server", Addr: start(t, jetstreamOn(t)),
			Guarded: start(t, jetstreamOn(t)+guarded), GuardedMaxPayload: guardedPayload,
		}
		for _, storage := range jetstreamStorages {
			t.Run(storage, func(t *testing.T) {
				t.Parallel()
				prototest.Run(t, jetstreamProtocol(storage), b)
			})
		}
	})
}

// jetstreamPeer is one of our clients on a connection.
type jetstreamPeer struct{ *clientPeer[*nats.JetStream] }

func dialJetStream(t *testing.T, addr string, stream nats.Stream, name string) *jetstreamPeer {
	t.Helper()
	return &jetstreamPeer{dialPeer(t, addr, nats.NewJetStream(&nats.Config{}, &stream, name))}
}

func (p *jetstreamPeer) subscribe(s proto.Subscription) {
	p.t.Helper()
	p.ask(s)
	p.expect(proto.Subscribed, s.Token)
}

func (p *jetstreamPeer) publish(topic string, payload []byte, qos uint8, token uint64) {
	p.t.Helper()
	p.say(proto.Message{Topic: []byte(topic), Payload: payload, QoS: qos, Token: token})
}

func libraryJetStream(t *testing.T, addr string) (context.Context, jetstream.JetStream) {
	t.Helper()
	js, err := jetstream.New(libraryNATS(t, addr))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	t.Cleanup(cancel)
	return ctx, js
}

func labStream(storage string) nats.Stream {
	return nats.Stream{Name: "lab-" + storage, Subjects: []string{storage + ".*"}, Storage: storage}
}

// TestJetStreamToLibrary: what we publish is in the stream as nats.go reads it, in order, every byte.
func TestJetStreamToLibrary(t *testing.T) {
	natsEverywhere(t, func(t *testing.T, start natsHost) {
		addr := start(t, jetstreamOn(t))
		ctx, library := libraryJetStream(t, addr)
		for _, storage := range jetstreamStorages {
			p := dialJetStream(t, addr, labStream(storage), "pub-"+storage)
			for i, size := range natsSizes {
				p.publish(fmt.Sprintf("%s.%d", storage, i), prototest.Pattern(size), uint8(i%2), uint64(i))
			}
			for i := 1; i < len(natsSizes); i += 2 {
				p.expect(proto.Acked, uint64(i))
			}
			stream, err := library.Stream(ctx, "lab-"+storage)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(stream.CachedInfo().Config.Storage); !strings.EqualFold(got, storage) {
				t.Errorf("stored in %s", got)
			}
			for i, size := range natsSizes {
				m, err := stream.GetMsg(ctx, uint64(i+1))
				if err != nil {
					t.Fatal(err)
				}
				if m.Subject != fmt.Sprintf("%s.%d", storage, i) || !bytes.Equal(m.Data, prototest.Pattern(size)) {
					t.Errorf("message %d of %d bytes is %d bytes on %s", i, size, len(m.Data), m.Subject)
				}
			}
		}
	})
}

// TestJetStreamFromLibrary: what nats.go publishes arrives here, in order, every byte, more than two batches of it, and
// is acknowledged where that was asked for.
func TestJetStreamFromLibrary(t *testing.T) {
	const more = 1300
	natsEverywhere(t, func(t *testing.T, start natsHost) {
		addr := start(t, jetstreamOn(t))
		ctx, library := libraryJetStream(t, addr)
		for i, storage := range jetstreamStorages {
			p := dialJetStream(t, addr, labStream(storage), "sub-"+storage)
			qos := uint8(i)
			p.subscribe(proto.Subscription{Token: 9, Topic: storage + ".*", QoS: qos})
			for i := range len(natsSizes) + more {
				payload := fmt.Appendf(nil, "%d", i)
				if i < len(natsSizes) {
					payload = prototest.Pattern(natsSizes[i])
				}
				if _, err := library.PublishAsync(storage+".x", payload); err != nil {
					t.Fatal(err)
				}
			}
			for i := range len(natsSizes) + more {
				want := fmt.Appendf(nil, "%d", i)
				if i < len(natsSizes) {
					want = prototest.Pattern(natsSizes[i])
				}
				ev := p.expect(proto.Delivered, 9)
				if string(ev.Topic) != storage+".x" || !bytes.Equal(ev.Payload, want) || ev.QoS != qos || ev.Redelivered {
					t.Fatalf("message %d arrived as %d bytes of %s, QoS %d, again %v", i, len(ev.Payload), ev.Topic, ev.QoS, ev.Redelivered)
				}
			}
			until(ctx, t, library, "lab-"+storage, func(i *jetstream.ConsumerInfo) bool {
				return i.NumAckPending == 0 && i.NumPending == 0
			})
		}
	})
}

// until returns what the server says of the only consumer of a stream once that satisfies.
func until(ctx context.Context, t *testing.T, library jetstream.JetStream, stream string,
	satisfies func(*jetstream.ConsumerInfo) bool,
) *jetstream.ConsumerInfo {
	t.Helper()
	s, err := library.Stream(ctx, stream)
	if err != nil {
		t.Fatal(err)
	}
	retry := time.NewTicker(5 * time.Millisecond)
	defer retry.Stop()
	for {
		consumers := s.ListConsumers(ctx)
		var last *jetstream.ConsumerInfo
		for info := range consumers.Info() {
			last = info
		}
		if err := consumers.Err(); err != nil || last == nil {
			t.Fatalf("no consumer of %s: %v", stream, err)
		}
		if satisfies(last) {
			return last
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			t.Fatalf("the consumer stays at %+v", last)
		}
	}
}

// TestJetStreamGroup: our clients and nats.go share a consumer, each message goes to exactly one of them.
func TestJetStreamGroup(t *testing.T) {
	natsEverywhere(t, func(t *testing.T, start natsHost) {
		addr := start(t, jetstreamOn(t))
		ctx, library := libraryJetStream(t, addr)
		stream := labStream(nats.StorageMemory)
		var peers []*jetstreamPeer
		for i := range 3 {
			p := dialJetStream(t, addr, stream, fmt.Sprint("member", i))
			p.subscribe(proto.Subscription{Token: 5, Topic: "memory.work", Group: "crew", QoS: 1})
			peers = append(peers, p)
		}
		info := until(ctx, t, library, stream.Name, func(*jetstream.ConsumerInfo) bool { return true })
		foreign, err := library.Consumer(ctx, stream.Name, info.Name)
		if err != nil {
			t.Fatal(err)
		}
		heard := make(chan string, 300)
		consuming, err := foreign.Consume(func(m jetstream.Msg) {
			heard <- string(m.Data())
			_ = m.Ack()
		})
		if err != nil {
			t.Fatal(err)
		}
		defer consuming.Stop()
		const messages = 300
		publisher := dialJetStream(t, addr, stream, "publisher")
		var want, shared []string
		for i := range messages {
			want = append(want, fmt.Sprintf("%03d", i))
			publisher.publish("memory.work", fmt.Appendf(nil, "%03d", i), 1, uint64(i))
		}
		for i := range messages {
			publisher.expect(proto.Acked, uint64(i))
		}
		for waited := time.Duration(0); len(shared) < messages && waited < patience; {
			for _, p := range peers {
				const turn = 5 * time.Millisecond
				switch ev, err := p.Next(turn); {
				case err == prototest.ErrQuiet:
					waited += turn
				case err != nil || ev.Kind != proto.Delivered:
					t.Fatalf("got %+v, %v", ev, err)
				default:
					shared = append(shared, string(ev.Payload))
				}
			}
			for len(heard) > 0 {
				shared = append(shared, <-heard)
			}
		}
		if slices.Sort(shared); !slices.Equal(shared, want) {
			t.Errorf("%d messages were shared out as %d", messages, len(shared))
		}
	})
}

// TestJetStreamDurable: what came while a durable consumer was away is delivered when it is back; what was delivered and
// not acknowledged comes again, marked.
func TestJetStreamDurable(t *testing.T) {
	natsEverywhere(t, func(t *testing.T, start natsHost) {
		addr := start(t, jetstreamOn(t))
		stream := labStream(nats.StorageFile)
		stream.Durable, stream.HoldAcks = true, true
		sub := proto.Subscription{Token: 1, Topic: "file.x", QoS: 1}
		p := dialJetStream(t, addr, stream, "me")
		p.subscribe(sub)
		publisher := dialJetStream(t, addr, stream, "publisher")
		publisher.publish("file.x", []byte("held"), 1, 1)
		publisher.expect(proto.Acked, 1)
		p.expect(proto.Delivered, 1)
		ctx, library := libraryJetStream(t, addr)
		_ = p.Abort()
		until(ctx, t, library, stream.Name, func(i *jetstream.ConsumerInfo) bool { return i.NumWaiting == 0 })
		publisher.publish("file.x", []byte("while away"), 1, 2)
		publisher.expect(proto.Acked, 2)
		p = dialJetStream(t, addr, stream, "me")
		p.subscribe(sub)
		if ev := p.expect(proto.Delivered, 1); string(ev.Payload) != "while away" || ev.Redelivered {
			t.Errorf("got %q, again %v", ev.Payload, ev.Redelivered)
		}
	})
}

// TestJetStreamRedelivered: a message that was refused by a member comes again, and is marked.
func TestJetStreamRedelivered(t *testing.T) {
	natsEverywhere(t, func(t *testing.T, start natsHost) {
		addr := start(t, jetstreamOn(t))
		ctx, library := libraryJetStream(t, addr)
		stream := labStream(nats.StorageMemory)
		p := dialJetStream(t, addr, stream, "me")
		consumer, err := library.CreateConsumer(ctx, stream.Name, jetstream.ConsumerConfig{
			Name: "crew_2ememory_2ex", FilterSubject: "memory.x", DeliverPolicy: jetstream.DeliverNewPolicy,
			AckPolicy: jetstream.AckExplicitPolicy, InactiveThreshold: 30 * time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		p.publish("memory.x", []byte("again"), 1, 1)
		p.expect(proto.Acked, 1)
		m, err := consumer.Next()
		if err != nil {
			t.Fatal(err)
		}
		p.subscribe(proto.Subscription{Token: 1, Topic: "memory.x", Group: "crew", QoS: 1})
		if err := m.Nak(); err != nil {
			t.Fatal(err)
		}
		if ev := p.expect(proto.Delivered, 1); string(ev.Payload) != "again" || !ev.Redelivered {
			t.Errorf("got %q, again %v", ev.Payload, ev.Redelivered)
		}
	})
}

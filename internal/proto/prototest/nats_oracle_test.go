package prototest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	natsgo "github.com/nats-io/nats.go"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/nats"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// natsSizes are payload sizes around the edges of buffers and digits.
var natsSizes = []int{0, 1, 9, 10, 40, 99, 100, 999, 1000, 4095, 4096, 4097, 9999, 10000, 32768, 65535, 65536, 100 << 10}

// libraryNATS connects a client of the foreign library.
func libraryNATS(t *testing.T, addr string, options ...natsgo.Option) *natsgo.Conn {
	t.Helper()
	nc, err := natsgo.Connect("nats://"+addr, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// TestNATSPublishToLibrary: what we publish arrives at nats.go, in order, every byte, with and without headers.
func TestNATSPublishToLibrary(t *testing.T) {
	headers, err := nats.EncodeHeaders(nats.Header{Key: "Lab", Value: "some value"}, nats.Header{Key: "N", Value: "1"})
	if err != nil {
		t.Fatal(err)
	}
	natsEverywhere(t, func(t *testing.T, start natsHost) {
		addr := start(t, "")
		library := libraryNATS(t, addr)
		for _, block := range [][]byte{nil, headers} {
			sub, err := library.SubscribeSync("lab.>")
			if err != nil {
				t.Fatal(err)
			}
			if err := library.Flush(); err != nil {
				t.Fatal(err)
			}
			p := dialNATS(t, addr, nats.NewClient(&nats.Config{Headers: block}))
			for i, size := range natsSizes {
				p.publish(fmt.Sprintf("lab.%d", i), prototest.Pattern(size))
			}
			p.barrier(1)
			p.expect(proto.Barrier, 1)
			for i, size := range natsSizes {
				m, err := sub.NextMsg(patience)
				if err != nil {
					t.Fatalf("message %d: %v", i, err)
				}
				if m.Subject != fmt.Sprintf("lab.%d", i) || !slices.Equal(m.Data, prototest.Pattern(size)) {
					t.Errorf("message %d of %d bytes arrived as %d bytes on %s", i, size, len(m.Data), m.Subject)
				}
				if want := block != nil; want != (m.Header.Get("Lab") == "some value") || want != (m.Header.Get("N") == "1") {
					t.Errorf("message %d has headers %v", i, m.Header)
				}
			}
			if err := sub.Unsubscribe(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestNATSSubscribeToLibrary: what nats.go publishes arrives here, in order, every byte, headers apart from the payload.
func TestNATSSubscribeToLibrary(t *testing.T) {
	natsEverywhere(t, func(t *testing.T, start natsHost) {
		addr := start(t, "")
		library := libraryNATS(t, addr)
		p := dialNATS(t, addr, nats.NewClient(&nats.Config{}))
		p.subscribe(1<<63, "lab.*.x", "")
		p.expect(proto.Subscribed, 1<<63)
		for i, size := range natsSizes {
			m := natsgo.NewMsg(fmt.Sprintf("lab.%d.x", i))
			m.Data, m.Reply = prototest.Pattern(size), []string{"", "7", "some.reply"}[i%3]
			if i%2 == 1 {
				m.Header.Set("Lab", fmt.Sprint(i))
			}
			if err := library.PublishMsg(m); err != nil {
				t.Fatal(err)
			}
		}
		if err := library.Flush(); err != nil {
			t.Fatal(err)
		}
		for i, size := range natsSizes {
			ev := p.expect(proto.Delivered, 1<<63)
			if string(ev.Topic) != fmt.Sprintf("lab.%d.x", i) || !slices.Equal(ev.Payload, prototest.Pattern(size)) {
				t.Errorf("message %d of %d bytes arrived as %d bytes on %s", i, size, len(ev.Payload), ev.Topic)
			}
			want := ""
			if i%2 == 1 {
				want = fmt.Sprintf("NATS/1.0\r\nLab: %d\r\n\r\n", i)
			}
			if string(p.client.Headers()) != want {
				t.Errorf("message %d has headers %q, want %q", i, p.client.Headers(), want)
			}
		}
	})
}

// TestNATSQueueGroup: our clients and nats.go share a queue group; each message goes to exactly one of them, and an
// ordinary subscriber gets all.
func TestNATSQueueGroup(t *testing.T) {
	natsEverywhere(t, func(t *testing.T, start natsHost) {
		addr := start(t, "")
		library := libraryNATS(t, addr)
		foreign, err := library.QueueSubscribeSync("work", "crew")
		if err != nil {
			t.Fatal(err)
		}
		if err := library.Flush(); err != nil {
			t.Fatal(err)
		}
		groups := []string{"crew", "crew", ""}
		var peers []*natsPeer
		for _, group := range groups {
			p := dialNATS(t, addr, nats.NewClient(&nats.Config{}))
			p.subscribe(5, "work", group)
			p.expect(proto.Subscribed, 5)
			peers = append(peers, p)
		}
		publisher := dialNATS(t, addr, nats.NewClient(&nats.Config{}))
		const messages = 300
		var want []string
		for i := range messages {
			want = append(want, fmt.Sprintf("5 work %03d", i))
			publisher.publish("work", fmt.Appendf(nil, "%03d", i))
		}
		publisher.barrier(1)
		publisher.expect(proto.Barrier, 1)
		var shared []string
		for i, p := range peers {
			p.barrier(2)
			got := p.until(2)
			if groups[i] == "" {
				if !slices.Equal(got, want) {
					t.Errorf("the ordinary subscriber got %d messages", len(got))
				}
				continue
			}
			if len(got) == 0 || !slices.IsSorted(got) {
				t.Errorf("member %d got %d messages, in order: %v", i, len(got), slices.IsSorted(got))
			}
			shared = append(shared, got...)
		}
		for _, payload := range waiting(t, library, foreign) {
			shared = append(shared, "5 work "+payload)
		}
		if slices.Sort(shared); !slices.Equal(shared, want) {
			t.Errorf("%d messages were shared out as %d", messages, len(shared))
		}
	})
}

// waiting returns what the server has delivered to a subscription of nats.go so far.
func waiting(t *testing.T, library *natsgo.Conn, sub *natsgo.Subscription) (payloads []string) {
	t.Helper()
	if err := library.Flush(); err != nil {
		t.Fatal(err)
	}
	n, _, err := sub.Pending()
	if err != nil || n == 0 {
		t.Errorf("nats.go has %d messages, %v", n, err)
	}
	for range n {
		m, err := sub.NextMsg(patience)
		if err != nil {
			t.Fatal(err)
		}
		payloads = append(payloads, string(m.Data))
	}
	return payloads
}

// TestNATSWildcards: the server delivers exactly where Match says so.
func TestNATSWildcards(t *testing.T) {
	patterns := []string{"a", "a.*", "*.b", "a.>", ">", "*.*.*", "a.*.>", "*", "b.c", "a*"}
	subjects := []string{"a", "b", "a.b", "b.c", "a.b.c", "a.c.b.d", "aa", "x.b"}
	natsEverywhere(t, func(t *testing.T, start natsHost) {
		p := dialNATS(t, start(t, ""), nats.NewClient(&nats.Config{}))
		for token, pattern := range patterns {
			p.subscribe(uint64(token), pattern, "")
		}
		for token := range patterns {
			p.expect(proto.Subscribed, uint64(token))
		}
		for i, subject := range subjects {
			p.publish(subject, nil)
			p.barrier(uint64(i))
			got := p.until(uint64(i))
			slices.Sort(got)
			var want []string
			for token, pattern := range patterns {
				if nats.Match(pattern, subject) {
					want = append(want, fmt.Sprintf("%d %s ", token, subject))
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s reached %q, want %q", subject, got, want)
			}
		}
	})
}

// TestNATSReconnect: the same session works on a new connection, and its caller subscribes again.
func TestNATSReconnect(t *testing.T) {
	natsEverywhere(t, func(t *testing.T, start natsHost) {
		addr := start(t, "")
		client := nats.NewClient(&nats.Config{})
		for range 3 {
			p := dialNATS(t, addr, client)
			p.subscribe(1, "a", "")
			p.expect(proto.Subscribed, 1)
			p.publish("a", []byte("hello"))
			if ev := p.expect(proto.Delivered, 1); string(ev.Payload) != "hello" {
				t.Errorf("got %q", ev.Payload)
			}
			p.barrier(7) // unanswered when the connection dies
			if err := p.Abort(); err != nil {
				t.Fatal(err)
			}
		}
		p := dialNATS(t, addr, client)
		p.publish("a", []byte(strings.Repeat("x", 100)))
		p.barrier(8)
		if got := p.until(8); len(got) > 0 {
			t.Errorf("a subscription survived its connection: %q", got)
		}
	})
}

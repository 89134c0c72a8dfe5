package prototest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/prototest"
	"github.com/mqlab/mqlab/internal/proto/resp"
)

// librarySubscription subscribes go-redis and waits for the confirmation.
func librarySubscription(t *testing.T, sub *goredis.PubSub) *goredis.PubSub {
	t.Helper()
	t.Cleanup(func() { _ = sub.Close() })
	if _, err := sub.Receive(within(t)); err != nil {
		t.Fatal(err)
	}
	return sub
}

// TestRedisPublishToLibrary: what we publish arrives at go-redis, in order, every byte.
func TestRedisPublishToLibrary(t *testing.T) {
	redisBoth(t, nil, func(t *testing.T, addr string, resp2 bool) {
		library := libraryRedis(t, addr, resp2)
		channel := librarySubscription(t, library.Subscribe(within(t), "lab/a"))
		pattern := librarySubscription(t, library.PSubscribe(within(t), "lab/*"))
		p := dialRedis(t, addr, resp.NewPubSub(&resp.Config{RESP2: resp2}, "publisher"))
		for qos := range uint8(2) {
			for i, size := range redisSizes {
				p.publish("lab/a", prototest.Pattern(size), qos, uint64(i))
			}
			if qos == 1 {
				for i := range redisSizes {
					p.expect(proto.Acked, uint64(i))
				}
			}
			for i, size := range redisSizes {
				for name, sub := range map[string]*goredis.PubSub{"channel": channel, "pattern": pattern} {
					m, err := sub.ReceiveMessage(within(t))
					if err != nil {
						t.Fatal(err)
					}
					if m.Channel != "lab/a" || m.Payload != string(prototest.Pattern(size)) {
						t.Errorf("QoS %d, %s: message %d of %d bytes arrived as %d bytes on %s", qos, name, i, size, len(m.Payload), m.Channel)
					}
				}
			}
		}
		if list := library.ClientList(within(t)).Val(); !strings.Contains(list, " name=publisher ") {
			t.Errorf("the server does not know our name: %s", list)
		}
	})
}

// TestRedisSubscribeToLibrary: what go-redis publishes arrives here, in order, every byte, by name and by pattern.
func TestRedisSubscribeToLibrary(t *testing.T) {
	redisBoth(t, nil, func(t *testing.T, addr string, resp2 bool) {
		library := libraryRedis(t, addr, !resp2)
		for _, filter := range []string{"lab/a", "lab/*"} {
			p := dialRedis(t, addr, resp.NewPubSub(&resp.Config{RESP2: resp2}, ""))
			p.subscribed(proto.Subscription{Token: 9, Topic: filter})
			for _, size := range redisSizes {
				if n, err := library.Publish(within(t), "lab/a", prototest.Pattern(size)).Result(); err != nil || n != 1 {
					t.Fatalf("%d receivers, %v", n, err)
				}
			}
			for i, size := range redisSizes {
				ev := p.expect(proto.Delivered, 0)
				if string(ev.Topic) != "lab/a" || !slices.Equal(ev.Payload, prototest.Pattern(size)) {
					t.Errorf("message %d of %d bytes arrived as %d bytes on %s", i, size, len(ev.Payload), ev.Topic)
				}
			}
			_ = p.Abort()
		}
	})
}

// TestRedisPatterns: Match says what the server says, of channels and of keys.
func TestRedisPatterns(t *testing.T) {
	patterns := []string{
		"*", "a*", "*b", "a*c", "a/*", "*/b", "a/*/c", "a?c*", "[ab]*", "[^ab]*", "[a-c]*c", "[c-a]*", `\**`, `a\*b*`, "[*", "[a-]*", `[\]]*`,
		"?", "a?c", "[abc]", "[^a]", `\*`, `a\`, "[", "[^", "a[b", "**", "*a*b*",
	}
	names := []string{"a", "b", "abc", "a/b", "a/b/c", "a/b/c/b", "*", "a*b", "x", "ac", "]", "[", `a\`, "a[b", "-c", "^"}
	redisBoth(t, nil, func(t *testing.T, addr string, resp2 bool) {
		library := libraryRedis(t, addr, resp2)
		for _, name := range names {
			if err := library.Set(within(t), name, "", 0).Err(); err != nil {
				t.Fatal(err)
			}
		}
		publisher := dialRedis(t, addr, resp.NewPubSub(&resp.Config{}, ""))
		for _, pattern := range patterns {
			var want []string
			for _, name := range names {
				if resp.Match(pattern, name) {
					want = append(want, name)
				}
			}
			slices.Sort(want)
			keys := library.Keys(within(t), pattern).Val()
			if slices.Sort(keys); !slices.Equal(keys, want) {
				t.Errorf("%q matches the keys %q, Match says %q", pattern, keys, want)
			}
			if !strings.Contains(pattern, "*") {
				continue
			}
			p := dialRedis(t, addr, resp.NewPubSub(&resp.Config{RESP2: resp2}, ""))
			p.subscribed(proto.Subscription{Topic: pattern})
			for _, name := range names {
				publisher.publish(name, nil, 0, 0)
			}
			publisher.barrier()
			var got []string
			for _, line := range p.barrier() {
				got = append(got, strings.TrimSuffix(line, " "))
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%q gets %q, Match says %q", pattern, got, want)
			}
			_ = p.Abort()
		}
	})
}

// TestRedisReconnect: the same session works on a new connection, and its caller subscribes again.
func TestRedisReconnect(t *testing.T) {
	redisBoth(t, nil, func(t *testing.T, addr string, resp2 bool) {
		client := resp.NewPubSub(&resp.Config{RESP2: resp2, Window: 3}, "")
		other := dialRedis(t, addr, resp.NewPubSub(&resp.Config{}, ""))
		for range 3 {
			p := dialRedis(t, addr, client)
			p.publish("b", nil, 1, 1) // unanswered when the connection dies
			p.subscribe(proto.Subscription{Token: 1, Topic: "a"})
			p.expect(proto.Acked, 1)
			p.expect(proto.Subscribed, 1)
			other.publish("a", []byte("hello"), 0, 0)
			if ev := p.expect(proto.Delivered, 0); string(ev.Payload) != "hello" {
				t.Errorf("got %q", ev.Payload)
			}
			client.Barrier(7, nil) // unanswered when the connection dies
			if err := p.Abort(); err != nil {
				t.Fatal(err)
			}
		}
		p := dialRedis(t, addr, client)
		other.publish("a", []byte("hello"), 0, 0)
		other.barrier()
		if got := p.barrier(); len(got) > 0 {
			t.Errorf("a subscription survived its connection: %q", got)
		}
	})
}

// TestRedisServerWithLibrary: go-redis is content with the server side of our sessions.
func TestRedisServerWithLibrary(t *testing.T) {
	t.Parallel()
	addr := serveRedis(t, &resp.ServerConfig{User: "u", Password: "p"})
	for name, resp2 := range redisVersions {
		t.Run(name, func(t *testing.T) {
			connect := func(password string) *goredis.Client {
				options := &goredis.Options{Addr: addr, Username: "u", Password: password, Protocol: 3, ClientName: "lib"}
				if resp2 {
					options.Protocol = 2
				}
				library := goredis.NewClient(options)
				t.Cleanup(func() { _ = library.Close() })
				return library
			}
			wantError(t, connect("guess").Ping(within(t)).Err(), "WRONGPASS")
			library := connect("p")
			if err := library.Ping(within(t)).Err(); err != nil {
				t.Fatal(err)
			}
			sub := librarySubscription(t, library.Subscribe(within(t), "a", "b"))
			if _, err := sub.Receive(within(t)); err != nil { // of the second channel
				t.Fatal(err)
			}
			if err := sub.PSubscribe(within(t), "lab/*"); err != nil {
				t.Fatal(err)
			}
			if _, err := sub.Receive(within(t)); err != nil {
				t.Fatal(err)
			}
			for i, size := range redisSizes {
				topic := []string{"a", "b", fmt.Sprintf("lab/%d", i)}[i%3]
				if err := library.Publish(within(t), topic, prototest.Pattern(size)).Err(); err != nil {
					t.Fatal(err)
				}
				m, err := sub.ReceiveMessage(within(t))
				if err != nil || m.Channel != topic || m.Payload != string(prototest.Pattern(size)) {
					t.Fatalf("message %d of %d bytes arrived as %+.100v, %v", i, size, m, err)
				}
			}
			if err := sub.Unsubscribe(within(t)); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, err := sub.Receive(within(t)); err != nil {
					t.Fatal(err)
				}
			}
			if err := sub.Ping(within(t), "x"); err != nil {
				t.Fatal(err)
			}
			if m, err := sub.Receive(within(t)); err != nil || fmt.Sprint(m) != "Pong<x>" {
				t.Errorf("%v, %v", m, err)
			}
		})
	}
}

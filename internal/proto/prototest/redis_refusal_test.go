package prototest_test

import (
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/prototest"
	"github.com/mqlab/mqlab/internal/proto/resp"
)

// TestRedisCredentials: users of the ACL, the password of the default user, and what the server says about wrong ones.
func TestRedisCredentials(t *testing.T) {
	settings := []string{"--requirepass", "sesame", "--user", "narrow", "on", redisHash("pw"), "resetchannels", "&open", "+publish"}
	redisBoth(t, settings, func(t *testing.T, addr string, resp2 bool) {
		for _, c := range []struct{ user, password, want string }{
			{"", "sesame", ""},
			{"default", "sesame", ""},
			{"narrow", "pw", ""}, // may neither PING nor name itself
			{"", "", "NOAUTH"},
			{"", "guess", "WRONGPASS"},
			{"narrow", "sesame", "WRONGPASS"},
			{"nobody", "pw", "WRONGPASS"},
		} {
			cfg := &resp.Config{User: c.user, Password: c.password, RESP2: resp2}
			for _, client := range []prototest.Client{resp.NewPubSub(cfg, "n"), resp.NewStreams(cfg, "n")} {
				if c.want == "" {
					dialRedis(t, addr, client)
					continue
				}
				err := refusal(t, addr, client)
				wantError(t, err, c.want)
				wantError(t, err, "not authorised")
			}
		}
	})
	addr := redis(t)
	wantError(t, refusal(t, addr, resp.NewPubSub(&resp.Config{Password: "x", RESP2: true}, "")), "has no password")
}

// TestRedisPermissions: what the ACL does not allow is reported, and the connection stays usable.
func TestRedisPermissions(t *testing.T) {
	settings := []string{
		"--user", "u", "on", redisHash("p"), "resetchannels", "&open", "&jobs/*", "~mine", "+publish", "+subscribe", "+psubscribe", "+ping",
		"+xadd", "+xgroup",
	}
	redisBoth(t, settings, func(t *testing.T, addr string, resp2 bool) {
		cfg := &resp.Config{User: "u", Password: "p", RESP2: resp2}
		p := dialRedis(t, addr, resp.NewPubSub(cfg, ""))
		p.publish("open", nil, 1, 1)
		p.publish("secret", nil, 0, 2)
		p.publish("secret", nil, 1, 3)
		p.expect(proto.Acked, 1)
		refused(t, p.next(), proto.None, 0)
		refused(t, p.next(), proto.Acked, 3)
		p.subscribe(proto.Subscription{Token: 4, Topic: "secret"})
		p.subscribe(proto.Subscription{Token: 5, Topic: "jobs/*"})
		p.subscribe(proto.Subscription{Token: 6, Topic: "*"})
		p.subscribe(proto.Subscription{Token: 7, Topic: "open"})
		refused(t, p.next(), proto.Subscribed, 4)
		p.expect(proto.Subscribed, 5)
		refused(t, p.next(), proto.Subscribed, 6)
		p.expect(proto.Subscribed, 7)
		dialRedis(t, addr, resp.NewPubSub(cfg, "")).publish("open", []byte("in"), 0, 0)
		if ev := p.expect(proto.Delivered, 0); string(ev.Payload) != "in" {
			t.Errorf("got %q", ev.Payload)
		}

		s := dialRedis(t, addr, resp.NewStreams(cfg, "me"))
		s.publish("mine", nil, 1, 1)
		s.publish("theirs", nil, 1, 2)
		s.expect(proto.Acked, 1)
		refused(t, s.next(), proto.Acked, 2)
		s.subscribe(proto.Subscription{Token: 3, Topic: "theirs"})
		refused(t, s.next(), proto.Subscribed, 3)
		s.subscribe(proto.Subscription{Token: 4, Topic: "mine"})
		s.expect(proto.Subscribed, 4)
		_, err := s.Next(patience) // XREADGROUP is not allowed: nothing would ever arrive
		wantError(t, err, "NOPERM")
	})
}

// refused checks that an event is about a lack of permission.
func refused(t *testing.T, ev *proto.Event, kind proto.Kind, token uint64) {
	t.Helper()
	if ev.Kind != kind || ev.Token != token {
		t.Errorf("kind %d, token %d, %v; want kind %d, token %d", ev.Kind, ev.Token, ev.Err, kind, token)
	}
	wantError(t, ev.Err, "NOPERM")
	wantError(t, ev.Err, "ACL")
}

// TestRedisTooLarge: the server ends the connection where it has no other way to refuse, and says why.
func TestRedisTooLarge(t *testing.T) {
	redisBoth(t, []string{"--proto-max-bulk-len", "1mb"}, func(t *testing.T, addr string, resp2 bool) {
		p := dialRedis(t, addr, resp.NewPubSub(&resp.Config{RESP2: resp2}, ""))
		p.publish("a", make([]byte, 1<<20), 1, 1)
		p.expect(proto.Acked, 1)
		// Only the beginning: a server that closes with unread bytes behind it may take its last words back.
		if err := p.Send(func(out []byte) ([]byte, error) {
			return append(out, "*3\r\n$7\r\nPUBLISH\r\n$1\r\na\r\n$1048577\r\n"...), nil
		}); err != nil {
			t.Fatal(err)
		}
		_, err := p.Next(patience)
		wantError(t, err, "invalid bulk length: a message was larger than the server's proto-max-bulk-len")
	})
}

// TestRedisOutOfMemory: an entry that does not fit is refused, with or without a guarantee.
func TestRedisOutOfMemory(t *testing.T) {
	redisBoth(t, []string{"--maxmemory", "1b"}, func(t *testing.T, addr string, resp2 bool) {
		p := dialRedis(t, addr, resp.NewStreams(&resp.Config{RESP2: resp2}, ""))
		p.publish("a", nil, 1, 1)
		p.publish("a", nil, 0, 2)
		for _, want := range []struct {
			kind  proto.Kind
			token uint64
		}{{proto.Acked, 1}, {proto.None, 0}} {
			ev := p.next()
			if ev.Kind != want.kind || ev.Token != want.token {
				t.Errorf("got %+v", ev)
			}
			wantError(t, ev.Err, "maxmemory is used up")
		}
	})
}

func TestRedisWrongType(t *testing.T) {
	redisBoth(t, nil, func(t *testing.T, addr string, resp2 bool) {
		if err := libraryRedis(t, addr, resp2).Set(within(t), "text", "x", 0).Err(); err != nil {
			t.Fatal(err)
		}
		p := dialRedis(t, addr, resp.NewStreams(&resp.Config{RESP2: resp2}, "me"))
		p.publish("text", nil, 1, 1)
		ev := p.next()
		wantError(t, ev.Err, "WRONGTYPE")
		p.subscribe(proto.Subscription{Token: 2, Topic: "text"})
		if ev = p.next(); ev.Kind != proto.Subscribed || ev.Token != 2 {
			t.Errorf("got %+v", ev)
		}
		wantError(t, ev.Err, "something else than a stream")
	})
}

// TestRedisSlowSubscriber: one that does not read is cut off, and the end explains itself.
func TestRedisSlowSubscriber(t *testing.T) {
	settings := []string{"--client-output-buffer-limit", "pubsub 1mb 0 0"}
	redisBoth(t, settings, func(t *testing.T, addr string, resp2 bool) {
		client := resp.NewPubSub(&resp.Config{RESP2: resp2}, "")
		slow := dialRedis(t, addr, client)
		slow.subscribed(proto.Subscription{Topic: "a"})
		publisher := dialRedis(t, addr, resp.NewPubSub(&resp.Config{}, ""))
		const messages = 200
		for range messages {
			publisher.publish("a", make([]byte, 200_000), 0, 0)
		}
		publisher.barrier()
		received := 0
		for {
			_, err := slow.Next(patience)
			if err == nil {
				received++
				continue
			}
			wantError(t, client.Explain(err), "client-output-buffer-limit pubsub")
			break
		}
		if received >= messages {
			t.Errorf("%d messages of %d arrived", received, messages)
		}
	})
}

// TestRedisForeign: a server of another protocol is recognised, and a client of another protocol by our server.
func TestRedisForeign(t *testing.T) {
	t.Parallel()
	addr := embeddedNATS(t, "")
	wantError(t, refusal(t, addr, resp.NewPubSub(&resp.Config{}, "")), "looks like NATS")
}

package prototest_test

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/prototest"
	"github.com/mqlab/mqlab/internal/proto/resp"
)

// streamsConfig makes reads short, so that barriers come through.
func streamsConfig(resp2 bool) *resp.Config {
	return &resp.Config{RESP2: resp2, Block: 10 * time.Millisecond, Batch: 7}
}

// TestRedisStreamsToLibrary: what we add is in the stream as go-redis reads it, in order, every byte.
func TestRedisStreamsToLibrary(t *testing.T) {
	redisBoth(t, nil, func(t *testing.T, addr string, resp2 bool) {
		library, key := libraryRedis(t, addr, resp2), fmt.Sprint("lab/", resp2)
		p := dialRedis(t, addr, resp.NewStreams(streamsConfig(resp2), ""))
		for i, size := range redisSizes {
			p.publish(key, prototest.Pattern(size), uint8(i%2), uint64(i))
		}
		for i := 1; i < len(redisSizes); i += 2 {
			p.expect(proto.Acked, uint64(i))
		}
		p.barrier()
		entries, err := library.XRange(within(t), key, "-", "+").Result()
		if err != nil || len(entries) != len(redisSizes) {
			t.Fatalf("%d entries, %v", len(entries), err)
		}
		for i, size := range redisSizes {
			if v := entries[i].Values; len(v) != 1 || v["d"] != string(prototest.Pattern(size)) {
				t.Errorf("entry %d of %d bytes is another", i, size)
			}
		}
	})
}

func TestRedisStreamsMaxLen(t *testing.T) {
	redisBoth(t, nil, func(t *testing.T, addr string, resp2 bool) {
		key := fmt.Sprint("lab/", resp2)
		p := dialRedis(t, addr, resp.NewStreams(&resp.Config{RESP2: resp2, MaxLen: 500}, ""))
		for range 5000 {
			p.publish(key, []byte("x"), 0, 0)
		}
		p.barrier()
		if n := libraryRedis(t, addr, resp2).XLen(within(t), key).Val(); n < 500 || n > 700 {
			t.Errorf("%d entries are kept", n)
		}
	})
}

// TestRedisStreamsFromLibrary: what go-redis adds arrives here, in order, every byte, and is acknowledged.
func TestRedisStreamsFromLibrary(t *testing.T) {
	redisBoth(t, nil, func(t *testing.T, addr string, resp2 bool) {
		library, key := libraryRedis(t, addr, resp2), fmt.Sprint("lab/", resp2)
		for qos := range uint8(2) {
			p := dialRedis(t, addr, resp.NewStreams(streamsConfig(resp2), fmt.Sprint("reader", qos)))
			p.subscribed(proto.Subscription{Token: 9, Topic: key, Group: fmt.Sprint("g", qos), QoS: qos})
			for i, size := range redisSizes {
				values := []any{"d", prototest.Pattern(size)}
				if i%3 == 1 {
					values = []any{"other", "x", "d", prototest.Pattern(size), "more", "y"}
				}
				if err := library.XAdd(within(t), &goredis.XAddArgs{Stream: key, Values: values}).Err(); err != nil {
					t.Fatal(err)
				}
			}
			for i, size := range redisSizes {
				ev := p.expect(proto.Delivered, 9)
				if string(ev.Topic) != key || !slices.Equal(ev.Payload, prototest.Pattern(size)) || ev.QoS != qos || ev.Redelivered {
					t.Errorf("QoS %d: entry %d of %d bytes arrived as %d bytes of %s", qos, i, size, len(ev.Payload), ev.Topic)
				}
			}
			p.barrier()
			if n := library.XPending(within(t), key, fmt.Sprint("g", qos)).Val().Count; n != 0 {
				t.Errorf("QoS %d: %d entries are not acknowledged", qos, n)
			}
			_ = p.Abort()
		}
	})
}

// TestRedisStreamsShared: our clients and go-redis share a group, each entry goes to exactly one of them; subscribers
// without a group get all.
func TestRedisStreamsShared(t *testing.T) {
	redisBoth(t, nil, func(t *testing.T, addr string, resp2 bool) {
		library, key := libraryRedis(t, addr, resp2), fmt.Sprint("work/", resp2)
		groups := []string{"crew", "crew", "", ""}
		var peers []*redisPeer
		for i, group := range groups {
			p := dialRedis(t, addr, resp.NewStreams(streamsConfig(resp2), fmt.Sprint("member", i)))
			p.subscribed(proto.Subscription{Token: 5, Topic: key, Group: group, QoS: 1})
			peers = append(peers, p)
		}
		publisher := dialRedis(t, addr, resp.NewStreams(streamsConfig(resp2), ""))
		const messages = 300
		var want, shared []string
		got := make([][]string, len(peers))
		round := func() (more bool) {
			for i, p := range peers {
				batch := p.barrier()
				got[i] = append(got[i], batch...)
				more = more || len(batch) > 0
			}
			return more
		}
		for i := range messages {
			want = append(want, fmt.Sprintf("%s %03d", key, i))
			publisher.publish(key, fmt.Appendf(nil, "%03d", i), 0, 0)
			if i%30 == 29 {
				publisher.barrier()
				shared = append(shared, libraryReads(t, library, key)...)
				round()
			}
		}
		for quiet := 0; quiet < 2; quiet++ { // one empty answer may be older than the last entries
			if round() {
				quiet = -1
			}
		}
		for i := range peers {
			if groups[i] == "" {
				if !slices.Equal(got[i], want) {
					t.Errorf("the subscriber without a group got %d messages", len(got[i]))
				}
				continue
			}
			if len(got[i]) == 0 || !slices.IsSorted(got[i]) {
				t.Errorf("member %d got %d messages, in order: %v", i, len(got[i]), slices.IsSorted(got[i]))
			}
			shared = append(shared, got[i]...)
		}
		if slices.Sort(shared); !slices.Equal(shared, want) {
			t.Errorf("%d messages were shared out as %d", messages, len(shared))
		}
		if n := library.XPending(within(t), key, "crew").Val().Count; n != 0 {
			t.Errorf("%d entries are not acknowledged", n)
		}
	})
}

// libraryReads lets go-redis take a few entries as a member of the group.
func libraryReads(t *testing.T, library *goredis.Client, key string) (got []string) {
	t.Helper()
	res, err := library.XReadGroup(within(t), &goredis.XReadGroupArgs{
		Group: "crew", Consumer: "library", Streams: []string{key, ">"}, Count: 5, Block: -1, NoAck: true,
	}).Result()
	if err != nil && !errors.Is(err, goredis.Nil) {
		t.Fatal(err)
	}
	for _, stream := range res {
		for _, m := range stream.Messages {
			got = append(got, fmt.Sprintf("%s %s", stream.Stream, m.Values["d"]))
		}
	}
	return got
}

// TestRedisStreamsReadAgain: what was delivered and not acknowledged comes again after a reconnection, marked, before what
// is new; nothing else does.
func TestRedisStreamsReadAgain(t *testing.T) {
	redisBoth(t, nil, func(t *testing.T, addr string, resp2 bool) {
		library, key := libraryRedis(t, addr, resp2), fmt.Sprint("lab/", resp2)
		publisher := dialRedis(t, addr, resp.NewStreams(streamsConfig(resp2), ""))
		send := func(from, to int) {
			for i := from; i < to; i++ {
				publisher.publish(key, fmt.Appendf(nil, "%d", i), 0, 0)
			}
			publisher.barrier()
		}
		sub := proto.Subscription{Token: 1, Topic: key, Group: "g", QoS: 1}
		holding := streamsConfig(resp2)
		holding.HoldAcks = true
		p := dialRedis(t, addr, resp.NewStreams(holding, "me"))
		p.subscribed(sub)
		send(0, 20)
		takeEntries(t, p, 0, 20, false)
		_ = p.Abort()
		if err := library.XDel(within(t), key, secondEntry(t, library, key)).Err(); err != nil {
			t.Fatal(err)
		}
		send(20, 30) // while nobody is connected

		p = dialRedis(t, addr, resp.NewStreams(streamsConfig(resp2), "me"))
		p.subscribed(sub)
		takeEntries(t, p, 0, 1, true)
		takeEntries(t, p, 2, 20, true)
		takeEntries(t, p, 20, 30, false)
		send(30, 40)
		takeEntries(t, p, 30, 40, false)
		p.barrier()
		if n := library.XPending(within(t), key, "g").Val().Count; n != 0 {
			t.Errorf("%d entries are not acknowledged", n)
		}
	})
}

func secondEntry(t *testing.T, library *goredis.Client, key string) string {
	t.Helper()
	entries, err := library.XRangeN(within(t), key, "-", "+", 2).Result()
	if err != nil || len(entries) != 2 {
		t.Fatalf("%v, %v", entries, err)
	}
	return entries[1].ID
}

// takeEntries wants the entries with the numbers from … to-1 next.
func takeEntries(t *testing.T, p *redisPeer, from, to int, again bool) {
	t.Helper()
	for i := from; i < to; i++ {
		if ev := p.expect(proto.Delivered, 1); string(ev.Payload) != fmt.Sprint(i) || ev.Redelivered != again {
			t.Fatalf("entry %s, again %v, in the place of %d, %v", ev.Payload, ev.Redelivered, i, again)
		}
	}
}

// TestRedisStreamsMissNothing: entries that are added after Subscribed was reported, but before the server sees the first
// read, are delivered.
func TestRedisStreamsMissNothing(t *testing.T) {
	redisBoth(t, nil, func(t *testing.T, addr string, resp2 bool) {
		library, key := libraryRedis(t, addr, resp2), fmt.Sprint("lab/", resp2)
		add := func(value string) {
			if err := library.XAdd(within(t), &goredis.XAddArgs{Stream: key, Values: []any{"d", value}}).Err(); err != nil {
				t.Fatal(err)
			}
		}
		nc, err := net.DialTimeout("tcp", addr, patience)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = nc.Close() }()
		if err := nc.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		c := resp.NewStreams(streamsConfig(resp2), "me")
		h := &heldBack{t: t, nc: nc, session: c}
		h.write(c.Open(0, nil))
		for h.next().Kind != proto.Ready {
			h.write(h.out)
		}
		add("before")
		out, err := c.Subscribe(&proto.Subscription{Token: 1, Topic: key, QoS: 1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		h.write(out)
		if ev := h.next(); ev.Kind != proto.Subscribed || ev.Err != nil {
			t.Fatalf("got %+v", ev)
		}
		if !strings.Contains(string(h.out), "XREADGROUP") {
			t.Errorf("the first read is not on its way: %q", h.out)
		}
		add("first")
		add("second")
		h.write(h.out)
		for _, want := range []string{"first", "second"} {
			ev := h.next()
			for ; ev.Kind == proto.None; ev = h.next() {
				h.write(h.out)
			}
			if string(ev.Payload) != want {
				t.Errorf("got %+v, want %q", ev, want)
			}
		}
	})
}

// heldBack feeds a session unit by unit and leaves it to the caller to send what the session wants to.
type heldBack struct {
	t       testing.TB
	nc      net.Conn
	session proto.Session
	in, out []byte
}

func (h *heldBack) write(b []byte) {
	h.t.Helper()
	if _, err := h.nc.Write(b); err != nil {
		h.t.Fatal(err)
	}
}

// next feeds one unit; what it makes the session send is in out.
func (h *heldBack) next() (ev proto.Event) {
	h.t.Helper()
	chunk := make([]byte, 4096)
	for {
		n, out, err := h.session.Feed(0, h.in, nil, &ev)
		if err != nil {
			h.t.Fatal(err)
		}
		if n > 0 {
			h.in, h.out = h.in[n:], out
			return ev
		}
		n, err = h.nc.Read(chunk)
		if err != nil {
			h.t.Fatal(err)
		}
		h.in = append(h.in, chunk[:n]...)
	}
}

// TestRedisStreamsClaim: what a member had, but did not acknowledge before it went, goes to another, and is acknowledged by it.
func TestRedisStreamsClaim(t *testing.T) {
	redisBoth(t, nil, func(t *testing.T, addr string, resp2 bool) {
		key := fmt.Sprint("left/", resp2)
		held := streamsConfig(resp2)
		held.HoldAcks = true
		gone := dialRedis(t, addr, resp.NewStreams(held, "gone"))
		gone.subscribed(proto.Subscription{Token: 5, Topic: key, Group: "crew", QoS: 1})
		publisher := dialRedis(t, addr, resp.NewStreams(streamsConfig(resp2), ""))
		const messages = 20 // of several batches
		for i := range messages {
			publisher.publish(key, fmt.Appendf(nil, "%03d", i), 0, 0)
		}
		for range messages {
			gone.expect(proto.Delivered, 5)
		}
		_ = gone.Abort()
		claims := streamsConfig(resp2)
		claims.ClaimIdle = time.Millisecond
		heir := dialRedis(t, addr, resp.NewStreams(claims, "heir"))
		heir.subscribed(proto.Subscription{Token: 6, Topic: key, Group: "crew", QoS: 1})
		for i := range messages {
			ev := heir.expect(proto.Delivered, 6)
			if string(ev.Payload) != fmt.Sprintf("%03d", i) || !ev.Redelivered {
				t.Errorf("message %d: %q, again %v", i, ev.Payload, ev.Redelivered)
			}
		}
		heir.barrier()
		if n := libraryRedis(t, addr, resp2).XPending(within(t), key, "crew").Val().Count; n != 0 {
			t.Errorf("%d entries are not acknowledged", n)
		}
	})
}

package zenoh

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// react does what makes more answers possible.
func react(s proto.Session, ev *proto.Event, out []byte) []byte {
	switch s := s.(type) {
	case *Client:
		if ev.Kind == proto.Ready {
			out, _ = s.Publish(&proto.Message{Topic: []byte("a/b"), Payload: make([]byte, 700)}, out)
			for token := range uint64(3) {
				out, _ = s.Subscribe(&proto.Subscription{Topic: []string{"a/b", "a/*", "**"}[token], Token: token}, out)
			}
			return s.Barrier(9, out)
		}
	case *Server:
		if ev.Kind == proto.Delivered {
			out, _ = s.Publish(&proto.Message{Topic: slices.Clone(ev.Topic), Payload: ev.Payload, Sub: 1}, out)
		}
	}
	return out
}

func FuzzClientFeed(f *testing.F) {
	hello := connect(f, &Config{}, &ServerConfig{Batch: minBatch}).heard
	for _, in := range [][]byte{
		batch("25 00", "be 01 2108 1a", "be 02 2108 1a", "3d 01 02 '/c 01 02 'hi", "9e2108 20 05 00 03 'x/y", "7d 05 02 '/z 01 00"),
		slices.Concat(batch("e6 05 02 3d 00 01 'a 01 04 'ab"), batch("04"), batch("26 06 'cd"), batch("e6 07 02", "3d"), batch("e6 08 03")),
		batch("25 00", "be 01 2108 62 01 00 03 'a/b", "9e2108 01 05", "9e2108 83 01 5f 03 010001", "1e 04 01 00", "1e 07 02", "39 01 38 00 01 'a"),
		batch("25 00", "bd 01 02 '/c 210d 21 80dbbbadc3fce7866b 02 aabb 02 'hi", "3d 00 01 'k c1 03 02 's! 43 02 'at 01 'A", "5f 01 02 'om", "1f 01"),
		batch("23 05"), batch("04", "05 00"),
		{0, 0, 0, 0},
		[]byte("HTTP/1.1 400\r\n"), batch("61 09 00 01 0a 00c0 01 'c", "62 0a 05"),
	} {
		f.Add(in, uint64(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		open := func() proto.Session { return NewClient(&Config{MaxPayload: 1000}, "c") }
		cut := &prototest.Cut{React: react}
		cut.Same(t, open, in, seed)
		cut.Same(t, open, slices.Concat(hello, in), seed)
	})
}

func FuzzServerFeed(f *testing.F) {
	hello := connect(f, &Config{}, &ServerConfig{}).said
	for _, in := range [][]byte{
		batch("25 00", "9e2108 20 01 00 01 'a", "9e2108 62 01 01 02 '/*", "b9 01 38 00 01 'p 2108", "7d 01 02 '/c 01 02 'hi", "9e2108 03 01"),
		slices.Concat(batch("e6 05 02 3d 00 01 'a 01 04 'ab"), batch("26 06 'cd"), batch("23 00"), batch("04")),
		batch("25 00", "9e2108 62 01 00 02 '**", "3d 00 01 'a 01 04 'four", "3d 00 01 'a 02"), []byte("GET / HTTP/1.1\r\n"),
	} {
		f.Add(in, uint64(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		for _, cfg := range []*ServerConfig{{MaxPayload: 100, Batch: minBatch}, {User: "u", Password: "p"}} {
			open := func() proto.Session { return NewServer(cfg, 5) }
			cut := &prototest.Cut{React: react}
			cut.Same(t, open, in, seed)
			cut.Same(t, open, slices.Concat(hello, in), seed)
		}
	})
}

// FuzzNumber: numbers are read as they were written, in no more bytes than they need.
func FuzzNumber(f *testing.F) {
	for _, v := range []uint64{0, 127, 128, 1<<28 - 1, 1 << 56, math.MaxUint64} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v uint64) {
		b := appendNumber(nil, v)
		r := reader{in: b}
		if got := r.number(math.MaxUint64); got != v || r.bad || !r.empty() || len(b) > 9 {
			t.Errorf("%d is written as % x and read as %d", v, b, got)
		}
	})
}

// conversation is one of a pair that must report all in order.
type conversation struct {
	prototest.Conversation
	*pair
	subs int
}

// FuzzConversation: whatever one side says in whatever pieces, the other side hears it, complete and in order.
func FuzzConversation(f *testing.F) {
	f.Add([]byte{0, 0, 1, 3, 4, 9, 1, 200, 2, 4, 3, 255, 0, 1, 5, 30, 3, 40, 2, 9})
	f.Fuzz(func(t *testing.T, program []byte) {
		cfg := &Config{BestEffort: len(program)%2 == 0, Block: len(program)%3 == 0}
		c := &conversation{pair: connect(t, cfg, &ServerConfig{Batch: minBatch})}
		c.T, c.Client, c.Server, c.Words, c.InOrder = t, c.client, c.server, words, true
		for i := 0; i+1 < len(program); i += 2 {
			c.do(program[i], uint64(i), int(program[i+1]))
		}
		c.End()
	})
}

// words are those that reports are expected in.
func words(atServer bool, ev *proto.Event) string {
	if !atServer && ev.Kind != proto.Delivered {
		return fmt.Sprint(ev.Token)
	}
	return fmt.Sprintf("%s %q", ev.Topic, ev.Payload)
}

// do carries out one instruction of the program.
func (c *conversation) do(what byte, token uint64, n int) {
	var err error
	key, payload := []string{"a", "a/b", "some/longer/key"}[n%3], bytes.Repeat([]byte{byte(n), 7}, n*n/9)
	switch what % 6 {
	case 0:
		c.Settle() // confirmations come in order with what was delivered
		filter := []string{"a", "a/*", "some/**", "**"}[n%4]
		c.Up, err = c.client.Subscribe(&proto.Subscription{Token: token, Topic: filter}, c.Up)
		c.subs++
		c.AtServer(proto.Subscribed, "%s %q", filter, "")
		c.AtClient(proto.Subscribed, "%d", token)
		c.Settle()
	case 1:
		c.Up, err = c.client.Publish(&proto.Message{Topic: []byte(key), Payload: payload}, c.Up)
		c.AtServer(proto.Delivered, "%s %q", key, payload)
	case 2:
		if c.subs > 0 {
			m := proto.Message{Topic: []byte(key), Payload: payload, Sub: uint64(1 + n%c.subs)}
			c.Down, err = c.server.Publish(&m, c.Down)
			c.AtClient(proto.Delivered, "%s %q", key, payload)
		}
	case 3:
		c.Settle()
		c.Up = c.client.Barrier(token, c.Up)
		c.AtClient(proto.Barrier, "%d", token)
		c.Settle()
	case 4:
		c.Carry(n*30, 0)
	case 5:
		c.Carry(0, n*30)
	}
	if err != nil {
		c.T.Fatal(err)
	}
}

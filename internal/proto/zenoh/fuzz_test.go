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
		cut := &prototest.Cut{Open: func() proto.Session { return NewClient(&Config{MaxPayload: 1000}, "c") }, React: react}
		cut.Same(t, in, seed)
		cut.Same(t, slices.Concat(hello, in), seed)
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
			cut := &prototest.Cut{Open: func() proto.Session { return NewServer(cfg, 5) }, React: react}
			cut.Same(t, in, seed)
			cut.Same(t, slices.Concat(hello, in), seed)
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

// FuzzConversation: whatever one side says in whatever pieces, the other side hears it, complete and in order.
func FuzzConversation(f *testing.F) {
	f.Add([]byte{0, 0, 1, 3, 1, 200, 2, 4, 3, 255, 0, 1, 3, 40, 2, 9})
	f.Fuzz(func(t *testing.T, program []byte) {
		p := connect(t, &Config{BestEffort: len(program)%2 == 0, Block: len(program)%3 == 0}, &ServerConfig{Batch: minBatch})
		subs := []string{}
		for i := 0; i+1 < len(program); i += 2 {
			n := int(program[i+1])
			key, payload := []string{"a", "a/b", "some/longer/key"}[n%3], bytes.Repeat([]byte{byte(n), 7}, n*n/9)
			switch program[i] % 4 {
			case 0:
				filter := []string{"a", "a/*", "some/**", "**"}[n%4]
				up, err := p.client.Subscribe(&proto.Subscription{Token: uint64(i), Topic: filter}, nil)
				back := p.expect(t, p.server, up, err, fmt.Sprintf("2 %s ", filter))
				subs = append(subs, filter)
				p.expect(t, p.client, back, nil, "2  ")
			case 1:
				up, err := p.client.Publish(&proto.Message{Topic: []byte(key), Payload: payload}, nil)
				p.expect(t, p.server, up, err, fmt.Sprintf("4 %s %s", key, payload))
			case 2:
				if len(subs) > 0 {
					m := proto.Message{Topic: []byte(key), Payload: payload, Sub: uint64(1 + n%len(subs))}
					down, err := p.server.Publish(&m, nil)
					p.expect(t, p.client, down, err, fmt.Sprintf("4 %s %s", key, payload))
				}
			case 3:
				back := p.expect(t, p.server, p.client.Barrier(uint64(i), nil), nil)
				p.expect(t, p.client, back, nil, "7  ")
			}
		}
	})
}

// expect feeds bytes to one side and compares what it reports.
func (p *pair) expect(t *testing.T, to proto.Session, in []byte, err error, want ...string) (answer []byte) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	events, answer := feed(t, to, in)
	var got []string
	for _, ev := range events {
		got = append(got, fmt.Sprintf("%d %s %s", ev.Kind, ev.Topic, ev.Payload))
	}
	if !slices.Equal(got, want) {
		t.Fatalf("reported %.200q, want %.200q", got, want)
	}
	return answer
}

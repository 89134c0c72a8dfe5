package prototest_test

import (
	"fmt"
	"net"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/resp"
)

// BenchmarkRedis compares what a PUBLISH of 64 bytes costs the client process, with so many of them under way at most.
func BenchmarkRedis(b *testing.B) {
	addr := redis(b)
	for _, depth := range []int{64, 512} {
		b.Run(fmt.Sprint("publish/lab/depth", depth), func(b *testing.B) { labRedisPublish(b, addr, depth) })
		b.Run(fmt.Sprint("publish/library/depth", depth), func(b *testing.B) { libraryRedisPublish(b, addr, depth) })
	}
}

func labRedisPublish(b *testing.B, addr string, depth int) {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = nc.Close() }()
	client := resp.NewPubSub(&resp.Config{Window: depth}, "")
	h := &heldBack{t: b, nc: nc, session: client}
	h.write(client.Open(0, nil))
	for h.next().Kind != proto.Ready {
		h.write(h.out)
	}
	m := proto.Message{Topic: []byte(quietSubject), Payload: make([]byte, 64), QoS: 1}
	out, buffer, in := make([]byte, 0, 128<<10), make([]byte, 64<<10), []byte(nil)
	perMessage(b, func(n int) {
		for ; n > 0; n -= depth {
			out = out[:0]
			for range min(n, depth) {
				if out, err = client.Publish(&m, out); err != nil {
					b.Fatal(err)
				}
			}
			h.write(out)
			if in, err = readAcks(nc, client, buffer, in, min(n, depth)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func libraryRedisPublish(b *testing.B, addr string, depth int) {
	library, payload := libraryRedis(b, addr, false), make([]byte, 64)
	perMessage(b, func(n int) {
		for ; n > 0; n -= depth {
			if _, err := library.Pipelined(b.Context(), func(p goredis.Pipeliner) error {
				for range min(n, depth) {
					p.Publish(b.Context(), quietSubject, payload)
				}
				return nil
			}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// readAcks reads until n messages are acknowledged. in is the part of buffer that was not consumed before, and
// is returned as it then is.
func readAcks(nc net.Conn, client *resp.PubSub, buffer, in []byte, n int) ([]byte, error) {
	var ev proto.Event
	for n > 0 {
		used, _, err := client.Feed(0, in, nil, &ev)
		if err != nil {
			return in, err
		}
		in = in[used:]
		if ev.Kind == proto.Acked {
			n--
		}
		if used == 0 {
			kept := copy(buffer, in)
			more, err := nc.Read(buffer[kept:])
			if err != nil {
				return in, err
			}
			in = buffer[:kept+more]
		}
	}
	return in, nil
}

package prototest_test

import (
	"net"
	"testing"

	amqpgo "github.com/rabbitmq/amqp091-go"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/amqp091"
)

// BenchmarkAMQP091 compares what a message of 64 bytes costs the client process: publishing it to a topic exchange where
// nobody listens, batched or with one write per message; and from publisher through RabbitMQ to subscriber, without
// acknowledgements. Messages go as fast as possible, in rounds.
func BenchmarkAMQP091(b *testing.B) {
	addr := rabbitMQ(b)
	cfg := topics()
	for name, batch := range map[string]int{"batched": 64 << 10, "single": 1} {
		b.Run("publish/lab/"+name, func(b *testing.B) {
			send := labAMQP091Sender(b, addr, &cfg, batch)
			perMessage(b, func(n int) { send(quietSubject, n) })
		})
	}
	b.Run("publish/library", func(b *testing.B) {
		send := libraryAMQP091Sender(b, addr)
		perMessage(b, func(n int) { send(quietSubject, n) })
	})
	b.Run("through/lab", func(b *testing.B) {
		receive := labAMQP091Receiver(b, addr, &cfg)
		send := labAMQP091Sender(b, addr, &cfg, 1)
		perMessage(b, func(n int) { through(send, receive, n) })
	})
	b.Run("through/library", func(b *testing.B) {
		d := libraryQueue(b, libraryAMQP091(b, addr), "amq.topic", busySubject, true)
		send := libraryAMQP091Sender(b, addr)
		perMessage(b, func(n int) {
			through(send, func(n int) {
				for range n {
					<-d
				}
			}, n)
		})
	})
}

// through sends n messages and receives them at the same time.
func through(send func(key string, n int), receive func(n int), n int) {
	done := make(chan struct{})
	go func() {
		receive(n)
		close(done)
	}()
	send(busySubject, n)
	<-done
}

// labAMQP091Sender publishes with our client, in writes of batch bytes or one message, and waits until all are handled.
func labAMQP091Sender(b *testing.B, addr string, cfg *amqp091.Config, batch int) func(key string, n int) {
	client := amqp091.NewClient(cfg, "bench")
	p := dialAMQP091(b, addr, client)
	buffer := make([]byte, 0, 80<<10)
	return func(key string, n int) {
		m := proto.Message{Topic: []byte(key), Payload: make([]byte, 64)}
		for n > 0 {
			err := p.Send(func([]byte) (out []byte, err error) {
				for out = buffer[:0]; n > 0 && len(out) < batch; n-- {
					if out, err = client.Publish(&m, out); err != nil {
						return out, err
					}
				}
				return out, nil
			})
			if err != nil {
				b.Error(err)
				return
			}
		}
		if err := p.Send(func(out []byte) ([]byte, error) { return client.Barrier(1, out), nil }); err != nil {
			b.Error(err)
			return
		}
		p.expect(proto.Barrier, 1)
	}
}

// labAMQP091Receiver reads a subscription's socket with one buffer, as an engine does.
func labAMQP091Receiver(b *testing.B, addr string, cfg *amqp091.Config) func(n int) {
	client := amqp091.NewClient(cfg, "bench")
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = nc.Close() })
	r := &benchReader{b: b, session: client, nc: nc, in: make([]byte, 0, 64<<10), out: client.Open(0, nil)}
	r.until(proto.Ready, 1)
	if r.out, err = client.Subscribe(&proto.Subscription{Topic: busySubject}, r.out); err != nil {
		b.Fatal(err)
	}
	r.until(proto.Subscribed, 1)
	return func(n int) { r.until(proto.Delivered, n) }
}

type benchReader struct {
	b       *testing.B
	session proto.Session
	nc      net.Conn
	in, out []byte
}

// until reads until n events of this kind were reported.
func (r *benchReader) until(kind proto.Kind, n int) {
	var ev proto.Event
	for n > 0 {
		if len(r.out) > 0 {
			if _, err := r.nc.Write(r.out); err != nil {
				r.b.Error(err)
				return
			}
			r.out = r.out[:0]
		}
		m, err := r.nc.Read(r.in[len(r.in):cap(r.in)])
		if r.in = r.in[:len(r.in)+m]; err != nil {
			r.b.Error(err)
			return
		}
		used := 0
		for {
			m, out, err := r.session.Feed(0, r.in[used:], r.out, &ev)
			if r.out = out; err != nil {
				r.b.Error(err)
				return
			}
			if m == 0 {
				break
			}
			if used += m; ev.Kind == kind {
				n--
			}
		}
		r.in = r.in[:copy(r.in, r.in[used:])]
	}
}

// libraryAMQP091Sender publishes with the foreign library, and waits until all are handled.
func libraryAMQP091Sender(b *testing.B, addr string) func(key string, n int) {
	ch := libraryAMQP091(b, addr)
	m := amqpgo.Publishing{Body: make([]byte, 64)}
	return func(key string, n int) {
		for range n {
			if err := ch.PublishWithContext(b.Context(), "amq.topic", key, false, false, m); err != nil {
				b.Error(err)
				return
			}
		}
		if err := ch.Qos(0, 0, false); err != nil { // a round trip
			b.Error(err)
		}
	}
}

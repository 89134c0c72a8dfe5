package amqp10

import (
	"fmt"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
)

// benchSender is a client with one sender that never lacks credit.
func benchSender(tb testing.TB, cfg *Config) *Client {
	c := dial(tb, cfg)
	c.Publish(&proto.Message{Topic: []byte("bench.sensor.000017")}, nil)
	feedAll(tb, c, join(attachedAs("s0", 0, true, modeMixed, 0), raw(doFlow, 0, 1<<31-1, 0, 1000, 0, 0, 1<<30)))
	return c
}

func BenchmarkPublish(b *testing.B) {
	for name, cfg := range map[string]*Config{
		"PerTopic":  {Target: Terminus{Address: "/queue/{topic}"}},
		"Subject":   {Target: Terminus{Address: "/exchange/amq.topic"}},
		"Anonymous": {Target: Terminus{Address: "/queues/{topic}"}, Anonymous: true},
	} {
		for _, qos := range []uint8{0, 1} {
			for _, size := range []int{0, 64, 1024, 16384} {
				b.Run(fmt.Sprintf("%s/QoS%d/%dB", name, qos, size), func(b *testing.B) {
					c := benchSender(b, cfg)
					m := proto.Message{Topic: []byte("bench.sensor.000017"), Payload: make([]byte, size), QoS: qos}
					out := make([]byte, 0, 64<<10)
					b.SetBytes(int64(size))
					b.ReportAllocs()
					for b.Loop() {
						if len(out)+size+200 > cap(out) {
							out = out[:0]
							c.outWindow, c.sender.credit = 1<<30, 1<<30
							if c.sent != nil {
								c.sent.reset(c.nextDelivery)
							}
						}
						var err error
						if out, err = c.Publish(&m, out); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

// incoming is a transfer with one message as RabbitMQ sends it.
func incoming(id int, settled bool, size int) []byte {
	return with(raw(doTransfer, 0, id, []byte{codeBinary8, 4, 0, 0, 0, 1}, 0, settled, false, nil, nil, false, false, false),
		described(sectionHeader, false, nil, nil, true, nil), described(sectionProperties, nil, nil, nil, "bench.sensor.000017"),
		data(string(make([]byte, size))))
}

func BenchmarkFeed(b *testing.B) {
	for _, qos := range []uint8{0, 1} {
		for _, size := range []int{64, 1024, 16384} {
			b.Run(fmt.Sprintf("QoS%d/%dB", qos, size), func(b *testing.B) {
				c := dial(b, &Config{Source: Terminus{Address: "{topic}"}, AckEvery: 20})
				c.Subscribe(&proto.Subscription{Token: 17, Topic: "bench.#", QoS: qos}, nil)
				feedAll(b, c, attachedAs("r0", 0, false, modeMixed, 0))
				var in []byte
				for id := 0; len(in) < 64<<10; id++ {
					in = append(in, incoming(id, qos == 0, size)...)
				}
				var ev proto.Event
				out := make([]byte, 0, 4096)
				rest := in
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					n, _, err := c.Feed(0, rest, out, &ev)
					if err != nil || ev.Kind != proto.Delivered {
						b.Fatal(err)
					}
					if rest = rest[n:]; len(rest) == 0 {
						rest = in
					}
				}
			})
		}
	}
}

func BenchmarkSettled(b *testing.B) {
	c := benchSender(b, &Config{Target: Terminus{Address: "x"}})
	m := proto.Message{Topic: []byte("a"), QoS: 1}
	out := make([]byte, 0, 4096)
	var ev proto.Event
	b.ReportAllocs()
	for b.Loop() {
		c.outWindow, c.sender.credit = 1<<30, 1<<30
		out, _ = c.Publish(&m, out[:0])
		out = appendDisposition(out[:0], true, c.nextDelivery-1, c.nextDelivery-1)
		if _, _, err := c.Feed(0, out, out[len(out):], &ev); err != nil || ev.Kind != proto.Acked {
			b.Fatal(err)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	for _, cfg := range []*Config{
		{Target: Terminus{Address: "lab"}, Source: Terminus{Address: "{topic}"}, SenderFirst: true, Durable: true},
		{Target: Terminus{Address: "/queues/{topic}"}, Source: Terminus{Address: "{topic}"}, Anonymous: true, SenderFirst: true, AckEvery: 3},
		{Target: Terminus{Address: "{topic}"}, Source: Terminus{Address: "{topic}"}, Credit: 1},
	} {
		p := connect(t, cfg, &ServerConfig{MaxMessage: 5000})
		p.subscribe(t, proto.Subscription{Token: 1, Topic: "a.b.c", QoS: 1})
		var ev proto.Event
		up, down := make([]byte, 0, 8192), make([]byte, 0, 8192)
		feed := func(s proto.Session, in, out []byte) []byte {
			for len(in) > 0 {
				n, o, err := s.Feed(0, in, out, &ev)
				if err != nil || (n == 0 && ev.Kind == proto.None) {
					t.Fatal(err)
				}
				in, out = in[n:], o
			}
			return out
		}
		m := proto.Message{Topic: []byte("a.b.c"), Payload: make([]byte, 1000), QoS: 1}
		sub := uint64(2)
		if !cfg.SenderFirst {
			sub = 1
		}
		d := proto.Message{Topic: []byte("a.b.c"), Payload: make([]byte, 1000), QoS: 1, Sub: sub}
		settle := func() {
			for len(up)+len(down) > 0 {
				down = feed(p.server, up, down)
				up = feed(p.client, down, up[:0])
				down = down[:0]
			}
		}
		run := func() {
			var err error
			if up, err = p.client.Publish(&m, up); err != nil {
				t.Fatal(err)
			}
			settle()
			if down, err = p.server.Publish(&d, down); err != nil {
				t.Fatal(err)
			}
			settle()
		}
		run()
		if n := testing.AllocsPerRun(300, run); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
}

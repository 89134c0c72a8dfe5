package prototest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/amqp091"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// TestAMQP091Refused: the broker's reasons for not letting us in, in words.
func TestAMQP091Refused(t *testing.T) {
	t.Parallel()
	addr := rabbitMQ(t)
	for name, c := range map[string]struct {
		change func(c *amqp091.Config)
		want   string
	}{
		"password":  {func(c *amqp091.Config) { c.Password = "guess" }, "refused the connection: ACCESS_REFUSED (403): not authorized"},
		"user":      {func(c *amqp091.Config) { c.User = "" }, "ACCESS_REFUSED (403)"},
		"vhost":     {func(c *amqp091.Config) { c.VHost = "nowhere" }, "NOT_ALLOWED (530)"},
		"access":    {func(c *amqp091.Config) { c.User, c.Password = "nobody", "secret" }, "NOT_ALLOWED (530)"},
		"mechanism": {func(c *amqp091.Config) { c.Mechanism = "EXTERNAL" }, "does not offer SASL mechanism EXTERNAL"},
		"exchange": {func(c *amqp091.Config) {
			c.Exchange = amqp091.Exchange{Name: "amq.fanout", Kind: "topic", Durable: true}
		}, "PRECONDITION_FAILED (406)"},
		"kind": {func(c *amqp091.Config) { c.Exchange = amqp091.Exchange{Name: "odd", Kind: "odd"} }, "COMMAND_INVALID (503)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := topics()
			c.change(&cfg)
			wantError(t, refusal(t, addr, amqp091.NewClient(&cfg, name)), c.want)
		})
	}
}

// TestAMQP091ChannelRefusals: what the broker does not allow on an open channel ends it, with its reason.
func TestAMQP091ChannelRefusals(t *testing.T) {
	t.Parallel()
	addr := rabbitMQ(t)
	nowhere := topics()
	nowhere.Exchange.Name = "nowhere"
	reader, writer := topics(), topics()
	reader.User, reader.Password, writer.User, writer.Password = "reader", "secret", "writer", "secret"
	odd := topics()
	odd.Queue.Type = "odd"
	for name, c := range map[string]struct {
		cfg     amqp091.Config
		publish bool
		want    string
	}{
		"publish to a missing exchange":       {nowhere, true, "NOT_FOUND (404)"},
		"subscribe to a missing exchange":     {nowhere, false, "NOT_FOUND (404)"},
		"publish without permission":          {reader, true, "ACCESS_REFUSED (403)"},
		"subscribe without permission":        {writer, false, "ACCESS_REFUSED (403)"},
		"subscribe with an odd type of queue": {odd, false, "PRECONDITION_FAILED (406)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := dialAMQP091(t, addr, amqp091.NewClient(&c.cfg, name))
			if c.publish {
				p.publish(7, t.Name(), 1, nil)
			} else {
				p.subscribe(7, t.Name(), 1)
				ev := p.next()
				if ev.Kind != proto.Subscribed || ev.Token != 7 {
					t.Errorf("reported %+v", ev)
				}
				wantError(t, ev.Err, c.want)
			}
			ev, err := p.Next(patience)
			if err == nil {
				t.Fatalf("reported %+v", ev)
			}
			var reason *amqp091.ReasonError
			if wantError(t, err, c.want); !errors.As(err, &reason) {
				t.Errorf("the error is a %T", err)
			}
		})
	}
	good := dialAMQP091(t, addr, amqp091.NewClient(&reader, "reader"))
	good.subscribe(1, t.Name(), 1)
	good.expect(proto.Subscribed, 1)
}

// TestAMQP091TooLarge: a message above the broker's limit ends the channel.
func TestAMQP091TooLarge(t *testing.T) {
	t.Parallel()
	cfg := topics()
	p := dialAMQP091(t, rabbitMQ(t), amqp091.NewClient(&cfg, "large"))
	p.publish(1, t.Name(), 1, make([]byte, rabbitMaxMessage+1))
	_, err := p.Next(patience)
	wantError(t, err, "PRECONDITION_FAILED (406)")
	wantError(t, err, "larger than configured max size")
}

// TestAMQP091Mandatory: messages that reach no queue are refused, each once, and the others confirmed.
func TestAMQP091Mandatory(t *testing.T) {
	t.Parallel()
	cfg := topics()
	cfg.Mandatory = true
	p := dialAMQP091(t, rabbitMQ(t), amqp091.NewClient(&cfg, "mandatory"))
	p.subscribe(1000, t.Name()+".here", 0)
	p.expect(proto.Subscribed, 1000)
	const messages = 200
	for _, qos := range []uint8{0, 1} {
		for i := range uint64(messages) {
			key := t.Name() + ".here"
			if i%3 == 0 {
				key = t.Name() + ".nowhere"
			}
			p.publish(i, key, qos, prototest.Pattern(int(i)*1500))
		}
		acked, refused, delivered := map[uint64]bool{}, map[uint64]bool{}, 0
		const toRefuse = (messages + 2) / 3
		toAck := (messages - toRefuse) * int(qos)
		for len(acked) < toAck || len(refused) < toRefuse || delivered < messages-toRefuse {
			ev := p.next()
			switch {
			case ev.Kind == proto.Delivered:
				delivered++
			case ev.Kind != proto.Acked || ev.QoS != qos || acked[ev.Token] || refused[ev.Token]:
				t.Fatalf("reported %+v", ev)
			case ev.Token%3 == 0:
				wantError(t, ev.Err, "NO_ROUTE (312): unroutable")
				refused[ev.Token] = true
			default:
				if ev.Err != nil {
					t.Fatal(ev.Err)
				}
				acked[ev.Token] = true
			}
		}
		p.quiet(9999)
		if p.client.InFlight() != 0 {
			t.Errorf("%d messages are in flight", p.client.InFlight())
		}
	}
}

// counting counts confirmations that settle several messages.
type counting struct {
	*amqp091.Client
	several int
}

func (c *counting) Feed(now int64, in, out []byte, ev *proto.Event) (int, []byte, error) {
	n, o, err := c.Client.Feed(now, in, out, ev)
	if n == 0 && ev.Kind == proto.Acked {
		c.several++
	}
	return n, o, err
}

// TestAMQP091Confirms: every one of many messages is confirmed exactly once, also where the broker confirms many at a time.
func TestAMQP091Confirms(t *testing.T) {
	t.Parallel()
	cfg := topics()
	cfg.Window, cfg.Persistent = 5000, true
	cfg.Queue.Durable, cfg.Prefetch, cfg.HoldAcks = true, 1, true
	addr := rabbitMQ(t)
	keeper := dialAMQP091(t, addr, amqp091.NewClient(&cfg, "keeper"))
	keeper.subscribe(1, t.Name(), 1)
	keeper.expect(proto.Subscribed, 1)
	client := &counting{Client: amqp091.NewClient(&cfg, "confirms")}
	p := dialPeer(t, addr, client)
	const messages = 20_000
	acked := make([]bool, messages)
	for sent, settled := uint64(0), 0; settled < messages; {
		err := p.Send(func(out []byte) (_ []byte, err error) {
			for ; sent < messages && client.Room(1) > 0 && len(out) < 100_000; sent++ {
				out, err = client.Publish(&proto.Message{Token: sent, Topic: []byte(t.Name()), Payload: []byte("x"), QoS: 1}, out)
				if err != nil {
					return out, err
				}
			}
			return out, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for settled < messages && (client.Room(1) == 0 || sent == messages) {
			ev := p.next()
			if ev.Kind != proto.Acked || ev.Err != nil || acked[ev.Token] {
				t.Fatalf("reported %+v", ev)
			}
			acked[ev.Token] = true
			settled++
		}
	}
	if client.several == 0 {
		t.Error("the broker has never confirmed several messages at a time: nothing was tested")
	}
	p.quiet(1)
	if n, err := libraryAMQP091(t, addr).QueueDelete("keeper:"+t.Name(), false, false, false); n != messages-1 || err != nil {
		t.Errorf("the queue had %d messages besides the one delivered, %v", n, err)
	}
}

// TestAMQP091Overflow: a queue that is full refuses messages.
func TestAMQP091Overflow(t *testing.T) {
	t.Parallel()
	cfg := topics()
	cfg.HoldAcks, cfg.Prefetch = true, 1
	cfg.Queue.Arguments = amqp091.Table{{Name: "x-max-length", Value: int64(3)}, {Name: "x-overflow", Value: "reject-publish"}}
	p := dialAMQP091(t, rabbitMQ(t), amqp091.NewClient(&cfg, "overflow"))
	p.subscribe(1, t.Name(), 1)
	p.expect(proto.Subscribed, 1)
	p.publish(0, t.Name(), 1, nil)
	for range 2 {
		if ev := p.next(); ev.Err != nil { // delivered and confirmed, in any order
			t.Fatal(ev.Err)
		}
	}
	var got []string
	for token := range uint64(5) {
		p.publish(token, t.Name(), 1, nil)
		ev := p.next()
		if ev.Kind != proto.Acked || ev.Token != token {
			t.Fatalf("reported %+v", ev)
		}
		got = append(got, fmt.Sprint(ev.Err == nil))
		if ev.Err != nil {
			wantError(t, ev.Err, "broker refused the message")
		}
	}
	if s := strings.Join(got, " "); s != "true true true false false" {
		t.Errorf("accepted: %s", s)
	}
}

// TestAMQP091WrongPeer: a peer of another protocol is named.
func TestAMQP091WrongPeer(t *testing.T) {
	t.Parallel()
	for greeting, want := range map[string]string{
		"AMQP\x00\x01\x00\x00": "the peer wants AMQP 1.0", "HTTP/1.1 400 Bad Request\r\n": "looks like HTTP",
	} {
		cfg := topics()
		wantError(t, refusal(t, greets(t, greeting), amqp091.NewClient(&cfg, "")), want)
	}
}

// TestAMQP091Operator: a resource alarm is reported with its reason and blocks publishing until it is over; a connection
// that the operator closes ends with the reason, too. Not parallel: it concerns everybody at the broker.
func TestAMQP091Operator(t *testing.T) {
	addr := rabbitMQ(t)
	cfg := topics()
	p := dialAMQP091(t, addr, amqp091.NewClient(&cfg, "blocked"))
	p.publish(1, t.Name(), 1, nil)
	p.expect(proto.Acked, 1)
	rabbit.control(t, "set_vm_memory_high_watermark", "0.0000001")
	p.publish(2, t.Name(), 1, nil)
	ev := p.next()
	var blocked *amqp091.BlockedError
	if !errors.As(ev.Err, &blocked) || !strings.Contains(blocked.Reason, "memory") || p.client.Room(0) != 0 || p.client.Blocked() == nil {
		t.Fatalf("reported %+v, room for %d", ev, p.client.Room(0))
	}
	wantError(t, ev.Err, "resource alarm")
	rabbit.control(t, "set_vm_memory_high_watermark", "absolute", "2GiB")
	p.expect(proto.Acked, 2)
	p.quiet(3) // the broker reads on
	if p.client.Blocked() != nil || p.client.Room(0) == 0 {
		t.Error("still blocked")
	}
	rabbit.control(t, "close_all_connections", "maintenance")
	ev = p.next()
	if ev.Kind != proto.Closed {
		t.Errorf("reported %+v", ev)
	}
	wantError(t, ev.Err, "CONNECTION_FORCED (320)")
	wantError(t, ev.Err, "maintenance")
}

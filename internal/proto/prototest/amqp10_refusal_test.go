package prototest_test

import (
	"errors"
	"testing"

	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/amqp10"
)

// TestAMQP10Refused: the broker's reasons for not letting us in, in words.
func TestAMQP10Refused(t *testing.T) {
	t.Parallel()
	addr := rabbitMQ10(t)
	for name, c := range map[string]struct {
		change func(c *amqp10.Config)
		want   string
	}{
		"password":  {func(c *amqp10.Config) { c.Password = "guess" }, "refused the connection: SASL PLAIN failed (1): not authorized"},
		"user":      {func(c *amqp10.Config) { c.User = "nobody here" }, "SASL PLAIN failed (1): not authorized"},
		"vhost":     {func(c *amqp10.Config) { c.Host = "vhost:nowhere" }, "refused the connection: amqp:unauthorized-access: not authorized"},
		"access":    {func(c *amqp10.Config) { c.User, c.Password = "nobody", "secret" }, "amqp:unauthorized-access: not authorized"},
		"mechanism": {func(c *amqp10.Config) { c.Mechanism = "EXTERNAL" }, "does not offer SASL mechanism EXTERNAL, only"},
		"exchange":  {func(c *amqp10.Config) { c.Target.Address = "/exchange/nowhere" }, "ended the session: amqp:not-found: the address does not exist"},
		"anonymous": {func(c *amqp10.Config) { c.Anonymous = true }, "amqp:invalid-field"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := exchange10()
			c.change(&cfg)
			wantError(t, refusal(t, addr, amqp10.NewClient(&cfg, name)), c.want)
		})
	}
}

// TestAMQP10LinkRefusals: what the broker does not allow on an open connection ends the session, with its reason.
func TestAMQP10LinkRefusals(t *testing.T) {
	t.Parallel()
	addr := rabbitMQ10(t)
	noQueue, noExchange, reader, writer := exchange10(), exchange10(), exchange10(), exchange10()
	noQueue.Source.Address, noExchange.Source.Address = "/amq/queue/{topic}", "/exchange/nowhere/{topic}"
	reader.User, reader.Password, writer.User, writer.Password = "reader", "secret", "writer", "secret"
	for name, c := range map[string]struct {
		cfg     amqp10.Config
		publish int // bytes; 0 = subscribe
		want    string
	}{
		"subscribe to a missing queue":    {noQueue, 0, "amqp:not-found: the address does not exist"},
		"subscribe to a missing exchange": {noExchange, 0, "amqp:not-found: the address does not exist"},
		"subscribe without permission":    {writer, 0, "amqp:unauthorized-access: not authorized"},
		"publish without permission":      {reader, 1, "amqp:unauthorized-access: not authorized"},
		"publish too much":                {exchange10(), rabbitMaxMessage + 1, "larger than configured max size"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := dialAMQP10(t, addr, amqp10.NewClient(&c.cfg, name))
			if c.publish > 0 {
				p.publish(7, "a.b", 1, make([]byte, c.publish))
			} else {
				p.subscribe(7, "a.b", 1)
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
			var reason *amqp10.ReasonError
			if wantError(t, err, c.want); !errors.As(err, &reason) {
				t.Errorf("the error is a %T", err)
			}
		})
	}
}

// TestAMQP10WrongPeer: a peer of another protocol is named.
func TestAMQP10WrongPeer(t *testing.T) {
	t.Parallel()
	for greeting, want := range map[string]string{
		"AMQP\x00\x00\x09\x01": "the peer wants AMQP 0-9-1, not AMQP 1.0 with SASL", "HTTP/1.1 400 Bad Request\r\n": "looks like HTTP",
	} {
		cfg := exchange10()
		wantError(t, refusal(t, greets(t, greeting), amqp10.NewClient(&cfg, "")), want)
	}
}

// TestAMQP10Operator: a connection that the operator closes ends with the reason, as far as the broker tells it. Not
// parallel: it concerns everybody at the broker.
func TestAMQP10Operator(t *testing.T) {
	cfg := exchange10()
	p := dialAMQP10(t, rabbitMQ10(t), amqp10.NewClient(&cfg, "closed"))
	rabbit.control(t, "close_all_connections", "maintenance")
	ev, err := p.Next(patience)
	if err == nil {
		err = ev.Err
	}
	wantError(t, err, "amqp:internal-error") // RabbitMQ 3.10 puts connection_forced (320) into the text
	wantError(t, err, "server_initiated_close,320")
}

package worker

import (
	"strconv"

	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/amqp091"
	"github.com/mqlab/mqlab/internal/proto/amqp10"
)

// Exchange and login that every AMQP 0-9-1 broker has.
const (
	amqpExchange = "amq.topic"
	amqpGuest    = "guest"
)

// amqp091 publishes to the topic exchange that every broker has; RabbitMQ's MQTT uses the same. What becomes of QoS and
// clean_start is said at plan.Trial.Guarantee.
func (s *sessions) amqp091(cred Credentials) (dialect, error) {
	t := &s.share.Trial
	c := &t.Params.Connect
	cfg := &amqp091.Config{
		User: cred.User, Password: cred.Password, Heartbeat: c.KeepAlive,
		Exchange: amqp091.Exchange{Name: amqpExchange}, Window: t.Params.Window,
		Mandatory: t.Params.QoS > 0, // a message that reaches nobody is confirmed otherwise
		Prefetch:  c.ReceiveMaximum, HoldAcks: c.HoldAcks,
	}
	if cred == (Credentials{}) {
		cfg.User, cfg.Password = amqpGuest, amqpGuest
	}
	queue := "exclusive"
	if !c.CleanStart {
		queue = "durable"
		cfg.Persistent = t.Params.QoS > 0
		cfg.Queue.Durable = true
		if expiry := c.KeptFor(); expiry > 0 {
			cfg.Queue.Arguments = amqp091.Table{{Name: "x-expires", Value: expiry.Milliseconds()}}
		}
	}
	s.settings = append(s.settings,
		"exchange="+amqpExchange, "queue="+queue, "prefetch="+strconv.Itoa(cfg.Prefetch),
		"persistent="+strconv.FormatBool(cfg.Persistent), "mandatory="+strconv.FormatBool(cfg.Mandatory),
	)
	if c.Channels > 0 {
		s.settings = append(s.settings, "channels="+strconv.Itoa(c.Channels)+" per connection")
	}
	s.amqp = cfg
	client := func(id string) proto.Client { return amqp091.NewClient(cfg, id) }
	return dialect{pub: client, sub: client, separator: ".", qos: t.Params.QoS}, cfg.Validate()
}

// amqp10Credit is how many messages a broker may have under way to a subscription, unless the scenario says.
const amqp10Credit = 1000

// amqp10 publishes to and subscribes to topics. What an address means is up to the broker: RabbitMQ has its topic exchange
// behind them, the same as for its other protocols; every other broker is taken to be like Artemis, which takes any name
// as that of a topic if asked for one, and lets one sender without an address serve all.
func (s *sessions) amqp10(cred Credentials) (dialect, error) {
	t := &s.share.Trial
	c := &t.Params.Connect
	cfg := &amqp10.Config{
		User: cred.User, Password: cred.Password, IdleTimeout: c.KeepAlive, Window: t.Params.Window,
		Credit: amqp10Credit, HoldAcks: c.HoldAcks, SenderFirst: true,
	}
	if c.ReceiveMaximum > 0 {
		cfg.Credit = c.ReceiveMaximum
	}
	addresses := "topics by capability"
	if t.Subject.Broker == "rabbitmq" {
		addresses = "/exchange/" + amqpExchange
		cfg.Target.Address, cfg.Source.Address = addresses, "/topic/"+amqp10.TopicHere
		if t.Params.Pattern == plan.PatternShared { // receivers that compete for what is in one queue
			addresses = "/queue/" + amqp10.TopicHere
			cfg.Target.Address, cfg.Shared.Address, cfg.SenderFirst = addresses, addresses, false
		}
		if cred == (Credentials{}) {
			cfg.User, cfg.Password = amqpGuest, amqpGuest
		}
	} else {
		topic := amqp10.Terminus{Address: amqp10.TopicHere, Capabilities: []string{"topic"}}
		cfg.Anonymous, cfg.Target, cfg.Source = true, topic, topic
		if !c.CleanStart {
			cfg.Durable = t.Params.QoS > 0
			cfg.Source.Durability, cfg.Source.Expiry = amqp10.UnsettledState, "never"
			addresses += ", durable subscriptions"
		}
		cfg.Shared = amqp10.Terminus{
			Address: amqp10.TopicHere + "::" + amqp10.GroupHere + ":" + amqp10.TopicHere, Capabilities: topic.Capabilities,
		}
		if cred == (Credentials{}) {
			cfg.Mechanism = "ANONYMOUS"
		}
	}
	s.settings = append(s.settings, "addresses="+addresses, "credit="+strconv.Itoa(cfg.Credit))
	client := func(id string) proto.Client { return amqp10.NewClient(cfg, id) }
	return dialect{pub: client, sub: client, separator: ".", qos: t.Params.QoS}, cfg.Validate()
}

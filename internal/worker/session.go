package worker

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/amqp091"
	"github.com/mqlab/mqlab/internal/proto/mqtt"
	"github.com/mqlab/mqlab/internal/proto/nats"
	"github.com/mqlab/mqlab/internal/proto/resp"
)

// Credentials prove to a broker who we are. They are never written anywhere.
type Credentials struct {
	User, Password, Token string
}

// sessions makes the protocol sessions of a share.
type sessions struct {
	share     *Share
	pub, sub  func(id string) proto.Client
	separator string   // between topic levels
	settings  []string // what was chosen that the scenario does not say, key=value
}

func newSessions(share *Share, cred Credentials, secure bool) (*sessions, error) {
	s := &sessions{share: share, separator: "/"}
	switch share.Trial.Subject.Protocol {
	case plan.MQTT5, plan.MQTT311:
		return s, s.mqtt(cred)
	case plan.NATS:
		s.separator = "."
		cfg := &nats.Config{
			Name: "mqlab", User: cred.User, Password: cred.Password, Token: cred.Token,
			TLS: secure, KeepAlive: share.Trial.Params.Connect.KeepAlive,
		}
		s.pub = func(id string) proto.Client {
			c := nats.NewClient(cfg)
			c.Name = id
			return c
		}
		s.sub = s.pub
		return s, nil
	case plan.AMQP091:
		return s, s.amqp091(cred)
	case plan.Redis, plan.RedisStreams:
		return s, s.redis(cred)
	}
	return nil, fmt.Errorf("protocol %q is not known", share.Trial.Subject.Protocol)
}

func (s *sessions) mqtt(cred Credentials) error {
	t := &s.share.Trial
	c := &t.Params.Connect
	cfg := &mqtt.Config{
		Version: mqtt.V5, CleanStart: c.CleanStart, SessionExpiry: c.SessionExpiry, KeepAlive: c.KeepAlive,
		User: cred.User, Window: t.Params.Window, ReceiveMaximum: c.ReceiveMaximum, MaxPacketBytes: c.MaxPacketBytes,
	}
	if t.Subject.Protocol == plan.MQTT311 {
		cfg.Version = mqtt.V311
	}
	if cred.Password != "" {
		cfg.Password = []byte(cred.Password)
	}
	if c.WillTopic != "" {
		cfg.Will = &mqtt.Will{Topic: c.WillTopic, Payload: []byte(c.WillPayload)}
	}
	hearing := *cfg
	hearing.HoldAcks = c.HoldAcks
	if err := cfg.Validate(); err != nil {
		return err
	}
	s.pub = func(id string) proto.Client { return mqtt.NewClient(cfg, id) }
	s.sub = func(id string) proto.Client { return mqtt.NewClient(&hearing, id) }
	return nil
}

// Exchange and login that every AMQP 0-9-1 broker has.
const (
	amqpExchange = "amq.topic"
	amqpGuest    = "guest"
)

// amqp091 publishes to the topic exchange that every broker has; RabbitMQ's MQTT uses the same. What becomes of QoS and
// clean_start is said at plan.Trial.Guarantee.
func (s *sessions) amqp091(cred Credentials) error {
	s.separator = "."
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
		if c.SessionExpiry > 0 {
			cfg.Queue.Arguments = amqp091.Table{{Name: "x-expires", Value: c.SessionExpiry.Milliseconds()}}
		}
	}
	s.settings = []string{
		"exchange=" + amqpExchange, "queue=" + queue, "prefetch=" + strconv.Itoa(cfg.Prefetch),
		"persistent=" + strconv.FormatBool(cfg.Persistent), "mandatory=" + strconv.FormatBool(cfg.Mandatory),
	}
	s.pub = func(id string) proto.Client { return amqp091.NewClient(cfg, id) }
	s.sub = s.pub
	return cfg.Validate()
}

// streamEntries is about how many entries a stream keeps: without a bound a stream grows until memory is used up.
const streamEntries = 100_000

// redis serves pub/sub and streams. A password alone, or a token, is that of the default user.
func (s *sessions) redis(cred Credentials) error {
	s.separator = ":"
	t := &s.share.Trial
	cfg := &resp.Config{
		User: cred.User, Password: cred.Password, KeepAlive: t.Params.Connect.KeepAlive, Window: t.Params.Window,
		HoldAcks: t.Params.Connect.HoldAcks, MaxLen: streamEntries,
	}
	if cred.Token != "" {
		cfg.Password = cred.Token
	}
	s.pub = func(id string) proto.Client { return resp.NewPubSub(cfg, id) }
	if t.Subject.Protocol == plan.RedisStreams {
		s.pub = func(id string) proto.Client { return resp.NewStreams(cfg, id) }
		s.settings = []string{"maxlen=~" + strconv.Itoa(streamEntries)}
	}
	s.sub = s.pub
	return cfg.Validate()
}

// publisher describes publishing connection n.
func (s *sessions) publisher(n int) engine.ClientSpec {
	t := &s.share.Trial
	p := &t.Params
	spec := &engine.PublishSpec{
		Stream: uint32(n), Topic: []byte(s.topic(n)), QoS: p.QoS, Retain: p.Retain, Window: max(p.Window, 1),
		Closed: p.RatePerS == 0,
	}
	if !spec.Closed {
		spec.Pacer = engine.NewPacer(schedule(p), n, t.Seed)
	}
	return engine.ClientSpec{Number: uint32(n), Session: s.pub(s.clientID("pub", n)), Publish: spec}
}

// subscriber describes subscribing connection n. trackers is shared between the members of a shared subscription.
func (s *sessions) subscriber(n int, trackers []ledger.Tracker) engine.ClientSpec {
	p := &s.share.Trial.Params
	first, count := p.Streams(n)
	spec := &engine.SubscribeSpec{FirstStream: uint32(first), Trackers: trackers}
	last := ""
	for stream := first; stream < first+count; stream++ {
		topic := s.topic(stream)
		if topic == last {
			continue // the template names no stream: all topics are one
		}
		last = topic
		sub := proto.Subscription{Token: uint64(stream), Topic: topic, QoS: p.QoS}
		if p.Pattern == plan.PatternShared {
			sub.Group = "mqlab" + strconv.FormatUint(uint64(s.share.Run), 10)
		}
		spec.Subscriptions = append(spec.Subscriptions, sub)
	}
	return engine.ClientSpec{Number: uint32(n), Session: s.sub(s.clientID("sub", n)), Subscribe: spec}
}

func schedule(p *plan.Params) engine.Schedule {
	return engine.Schedule{
		RatePerS: p.RatePerS, Poisson: p.Pacing == plan.PacingPoisson, RampTo: p.RampToPerS,
		RampFrom: p.Phases.WarmUp, End: p.Phases.WarmUp + p.Phases.Measure,
		Burst: p.Burst.Count, BurstGap: p.Burst.Every, Publishers: p.Publishers,
	}
}

func (s *sessions) topic(stream int) string {
	n := strconv.Itoa(stream)
	topic := expand(s.share.Trial.Params.Topic, "{run}", s.runText(), "{stream}", n, "{publisher}", n)
	return strings.ReplaceAll(topic, "/", s.separator)
}

func (s *sessions) clientID(role string, n int) string {
	return expand(s.share.Trial.Params.ClientID, "{run}", s.runText(), "{role}", role, "{n}", strconv.Itoa(n))
}

// expand replaces each name by the value that follows it.
func expand(template string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		template = strings.ReplaceAll(template, pairs[i], pairs[i+1])
	}
	return template
}

func (s *sessions) runText() string { return strconv.FormatUint(uint64(s.share.Run), 36) }

// endpoint is where a URL points.
type endpoint struct {
	addr, host string
	secure     bool
}

// parseURL reads the URL of a broker, see plan.URLSchemes.
func parseURL(text string) (endpoint, error) {
	u, err := url.Parse(text)
	if err != nil {
		return endpoint{}, fmt.Errorf("broker URL: %w", err)
	}
	scheme, known := plan.LookupScheme(u.Scheme)
	if !known || u.Hostname() == "" {
		return endpoint{}, fmt.Errorf("broker URL %q: want SCHEME://HOST with one of %s", text, strings.Join(plan.URLSchemes(), ", "))
	}
	port := scheme.Port
	if u.Port() != "" {
		port = u.Port()
	}
	return endpoint{addr: net.JoinHostPort(u.Hostname(), port), host: u.Hostname(), secure: scheme.Encrypted}, nil
}

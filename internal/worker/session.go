package worker

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/amqp091"
	"github.com/mqlab/mqlab/internal/proto/mqtt"
	"github.com/mqlab/mqlab/internal/proto/resp"
	"github.com/mqlab/mqlab/internal/proto/zenoh"
)

// Credentials prove to a broker who we are. They are never written anywhere.
type Credentials struct {
	User, Password, Token string
}

// sessions makes the protocol sessions of a share.
type sessions struct {
	share    *Share
	pub, sub dialect         // of publishers, of subscribers
	amqp     *amqp091.Config // of AMQP 0-9-1; nil = nobody speaks it
	settings []string        // what was chosen that the scenario does not say, key=value
}

// dialect is how clients speak one protocol.
type dialect struct {
	pub, sub  func(id string) proto.Client
	separator string // between topic levels
	qos       uint8  // of subscriptions
	topics    *topics
	// numbered makes a session that does not keep its client id; nil = pub and sub do.
	numbered func(role string, n int) proto.Client
}

func newSessions(share *Share, cred Credentials, secure, secureHear bool) (*sessions, error) {
	s := &sessions{share: share}
	subject := &share.Trial.Subject
	var err error
	if s.pub, err = s.speak(subject.Protocol, cred, secure); err != nil {
		return nil, err
	}
	s.sub = s.pub
	if other := subject.SubscribeProtocol(); other != subject.Protocol || secureHear != secure {
		s.sub, err = s.speak(other, cred, secureHear)
	}
	for _, d := range []*dialect{&s.pub, &s.sub} {
		d.topics = &topics{s, d.separator, d.qos}
	}
	return s, err
}

func (s *sessions) speak(protocol string, cred Credentials, secure bool) (dialect, error) {
	switch protocol {
	case plan.MQTT5, plan.MQTT311, plan.MQTT5WS, plan.MQTT311WS:
		return s.mqtt(protocol, cred)
	case plan.NATS, plan.JetStream:
		return s.nats(protocol, cred, secure)
	case plan.AMQP091:
		return s.amqp091(cred)
	case plan.AMQP10:
		return s.amqp10(cred)
	case plan.Redis, plan.RedisStreams:
		return s.redis(protocol, cred)
	case plan.Zenoh, plan.ZenohBlock:
		return s.zenoh(protocol, cred)
	}
	return dialect{}, fmt.Errorf("protocol %q is not known", protocol)
}

func (s *sessions) mqtt(protocol string, cred Credentials) (dialect, error) {
	t := &s.share.Trial
	c := &t.Params.Connect
	cfg := &mqtt.Config{
		Version: mqtt.V5, CleanStart: c.CleanStart, SessionExpiry: c.SessionExpiry, KeepAlive: c.KeepAlive,
		User: cred.User, Window: t.Params.Window, ReceiveMaximum: c.ReceiveMaximum, MaxPacketBytes: c.MaxPacketBytes,
	}
	if base, _ := plan.OverWebSocket(protocol); base == plan.MQTT311 {
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
	return dialect{
		pub:       func(id string) proto.Client { return mqtt.NewClient(cfg, id) },
		sub:       func(id string) proto.Client { return mqtt.NewClient(&hearing, id) },
		numbered:  s.numberedMQTT(cfg, &hearing),
		separator: "/", qos: t.Params.QoS,
	}, cfg.Validate()
}

// numberedMQTT makes sessions that have their configuration, with the names of their role, in common.
func (s *sessions) numberedMQTT(publishing, hearing *mqtt.Config) func(role string, n int) proto.Client {
	roles := map[string]*mqtt.Config{}
	return func(role string, n int) proto.Client {
		cfg := roles[role]
		if cfg == nil {
			cfg = new(mqtt.Config)
			*cfg = *hearing
			if role == rolePublisher {
				*cfg = *publishing
			}
			cfg.Name = func(n uint32) string { return s.clientID(role, int(n)) }
			roles[role] = cfg
		}
		return mqtt.NewNumbered(cfg, uint32(n))
	}
}

// streamEntries is about how many entries a stream keeps: without a bound a stream grows until memory is used up.
const streamEntries = 100_000

// claimIdle is after how long a member of a group counts as gone, so that another takes what it had not acknowledged.
const claimIdle = 10 * time.Second

// redis serves pub/sub and streams. A password alone, or a token, is that of the default user.
func (s *sessions) redis(protocol string, cred Credentials) (dialect, error) {
	t := &s.share.Trial
	cfg := &resp.Config{
		User: cred.User, Password: cred.Password, KeepAlive: t.Params.Connect.KeepAlive, Window: t.Params.Window,
		HoldAcks: t.Params.Connect.HoldAcks, MaxLen: streamEntries,
	}
	if cred.Token != "" {
		cfg.Password = cred.Token
	}
	if protocol == plan.RedisStreams && t.Params.Pattern == plan.PatternShared && t.Params.QoS > 0 && !cfg.HoldAcks {
		cfg.ClaimIdle = claimIdle
		s.settings = append(s.settings, "claim_idle="+claimIdle.String())
	}
	client := func(id string) proto.Client { return resp.NewPubSub(cfg, id) }
	if protocol == plan.RedisStreams {
		client = func(id string) proto.Client { return resp.NewStreams(cfg, id) }
		s.settings = append(s.settings, "maxlen=~"+strconv.Itoa(streamEntries))
	}
	return dialect{pub: client, sub: client, separator: ":", qos: t.Params.QoS}, cfg.Validate()
}

// zenoh serves both ways of a message at a congested link. The lease that the router is told follows from the keep-alive.
func (s *sessions) zenoh(protocol string, cred Credentials) (dialect, error) {
	cfg := &zenoh.Config{
		User: cred.User, Password: cred.Password, Block: protocol == plan.ZenohBlock, Lease: zenoh.LeaseParts * s.share.Trial.Params.Connect.KeepAlive,
	}
	client := func(id string) proto.Client { return zenoh.NewClient(cfg, id) }
	congestion := "drop"
	if cfg.Block {
		congestion = "block"
	}
	s.settings = append(s.settings, "congestion="+congestion, "reliability=reliable", "priority=data")
	if cfg.Lease > 0 {
		s.settings = append(s.settings, "lease="+cfg.Lease.String())
	}
	return dialect{pub: client, sub: client, separator: "/"}, cfg.Validate()
}

// publisher describes publishing connection n.
func (s *sessions) publisher(n int) engine.ClientSpec {
	t := &s.share.Trial
	p := &t.Params
	spec := &engine.PublishSpec{
		Stream: uint32(n), Topic: []byte(s.topic(n, s.pub.separator)), QoS: p.QoS, Retain: p.Retain, Window: max(p.Window, 1),
		Closed: p.RatePerS == 0, Apart: writes(p) == plan.WritesMessage,
	}
	if !spec.Closed {
		at, place := schedule(p), n
		if p.Spread > 1 {
			at, place = alone(p, n), 0
		}
		spec.Pacer = new(engine.NewPacer(at, place, t.Seed))
	}
	return engine.ClientSpec{Number: uint32(n), Session: s.session(&s.pub, rolePublisher, n), Publish: spec}
}

// subscriber describes subscribing connection n. trackers is shared between the members of a shared subscription.
func (s *sessions) subscriber(n int, trackers []ledger.Tracker) engine.ClientSpec {
	return s.hearing(&s.sub, "sub", n, trackers)
}

// firstLeg describes a connection that hears at the near end of a bridge what subscriber n is to get.
func (s *sessions) firstLeg(n int, trackers []ledger.Tracker) engine.ClientSpec {
	spec := s.hearing(&s.pub, "leg", n, trackers)
	spec.Subscribe.FirstLeg = true
	return spec
}

func (s *sessions) hearing(d *dialect, role string, n int, trackers []ledger.Tracker) engine.ClientSpec {
	p := &s.share.Trial.Params
	first, count := p.Streams(n)
	return engine.ClientSpec{Number: uint32(n), Session: s.session(d, role, n), Subscribe: &engine.SubscribeSpec{
		Subscriptions: d.topics, FirstStream: uint32(first), Trackers: trackers[:count], Shared: p.Pattern == plan.PatternShared,
	}}
}

// topics tells subscribers of a dialect what to ask for.
type topics struct {
	*sessions
	separator string
	qos       uint8
}

// Subscriptions implements engine.Subscriptions.
func (t *topics) Subscriptions(first uint32, n int) (list []proto.Subscription) {
	group := ""
	if t.share.Trial.Params.Pattern == plan.PatternShared {
		group = "mqlab" + strconv.FormatUint(uint64(t.share.Run), 10)
	}
	for stream := int(first); stream < int(first)+n; stream++ {
		topic := t.topic(stream, t.separator)
		if len(list) > 0 && topic == list[len(list)-1].Topic {
			continue // the template names no stream: all topics are one
		}
		list = append(list, proto.Subscription{Token: uint64(stream), Topic: topic, QoS: t.qos, Group: group})
	}
	return list
}

// rolePublisher is what client ids call a publisher.
const rolePublisher = "pub"

// session makes that of connection n of a role.
func (s *sessions) session(d *dialect, role string, n int) proto.Client {
	switch {
	case d.numbered != nil:
		return d.numbered(role, n)
	case role == rolePublisher:
		return d.pub(s.clientID(role, n))
	}
	return d.sub(s.clientID(role, n))
}

func schedule(p *plan.Params) engine.Schedule {
	return engine.Schedule{
		RatePerS: p.RatePerS, Poisson: p.Pacing == plan.PacingPoisson, RampTo: p.RampToPerS,
		RampFrom: p.Phases.WarmUp, End: p.Phases.WarmUp + p.Phases.Measure,
		Burst: p.Burst.Count, BurstGap: p.Burst.Every, Publishers: p.Publishers,
	}
}

// alone is the schedule of publisher n where each has a rate of its own.
func alone(p *plan.Params, n int) engine.Schedule {
	s := schedule(p)
	s.RatePerS, s.Publishers, s.Sharp = 1/p.Interval(n).Seconds(), 1, true
	return s
}

func (s *sessions) topic(stream int, separator string) string {
	n := strconv.Itoa(stream)
	topic := expand(s.share.Trial.Params.Topic, "{run}", s.runText(), "{stream}", n, "{publisher}", n)
	return strings.ReplaceAll(topic, "/", separator)
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
	path       string // of a WebSocket
	secure     bool
	webSocket  bool
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
	return endpoint{addr: net.JoinHostPort(u.Hostname(), port), host: u.Hostname(), path: u.Path, secure: scheme.Encrypted, webSocket: scheme.WebSocket}, nil
}

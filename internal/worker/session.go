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
	"github.com/mqlab/mqlab/internal/proto/mqtt"
	"github.com/mqlab/mqlab/internal/proto/nats"
)

// Credentials prove to a broker who we are. They are never written anywhere.
type Credentials struct {
	User, Password, Token string
}

// sessions makes the protocol sessions of a share.
type sessions struct {
	share     *Share
	pub, sub  func(id string) proto.Client
	separator string // between topic levels
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

// parseURL reads the URL of a broker: mqtt://, mqtts://, nats:// or tls:// (NATS over TLS).
func parseURL(text string) (endpoint, error) {
	u, err := url.Parse(text)
	if err != nil {
		return endpoint{}, fmt.Errorf("broker URL: %w", err)
	}
	ports := map[string]string{"mqtt": "1883", "mqtts": "8883", "nats": "4222", "tls": "4222"}
	port, known := ports[u.Scheme]
	if !known || u.Hostname() == "" {
		return endpoint{}, fmt.Errorf("broker URL %q: want mqtt://HOST, mqtts://HOST, nats://HOST or tls://HOST", text)
	}
	if u.Port() != "" {
		port = u.Port()
	}
	return endpoint{
		addr: net.JoinHostPort(u.Hostname(), port), host: u.Hostname(),
		secure: u.Scheme == "mqtts" || u.Scheme == "tls",
	}, nil
}

package probe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/proto/mqtt"
)

// mqttLab is the lab for MQTT.
type mqttLab struct {
	*lab
	version byte
	seen    []versionSeen
	claims  claims // of the broker, in its CONNACK
}

// prepareMQTT tries the protocol versions and goes on with the newest that is accepted, or the one that was asked for.
func prepareMQTT(ctx context.Context, l *lab, r *Report) ([]step, error) {
	m := &mqttLab{lab: l}
	for _, version := range []byte{mqtt.V311, mqtt.V5} {
		m.seen = append(m.seen, m.try(ctx, version))
	}
	base, _ := plan.OverWebSocket(l.subject.Protocol)
	switch v311, v5 := &m.seen[0], &m.seen[1]; {
	case v5.accepted() && (base == plan.MQTT5 || !v311.accepted()):
		m.version, m.claims, r.Protocol = mqtt.V5, v5.claims, plan.MQTT5
	case v311.accepted():
		m.version, r.Protocol = mqtt.V311, plan.MQTT311
	default:
		if v311.refused.Error() == v5.refused.Error() {
			return nil, fmt.Errorf("no MQTT connection is accepted: %w", v5.refused)
		}
		return nil, fmt.Errorf("no MQTT connection is accepted: in MQTT 3.1.1: %w; in MQTT 5: %w", v311.refused, v5.refused)
	}
	return m.steps(), nil
}

func (m *mqttLab) try(ctx context.Context, version byte) versionSeen {
	m.version = version
	v := versionSeen{version: version}
	p, err := m.connect(ctx, m.id("version"), nil)
	if err != nil {
		v.refused = err
		return v
	}
	defer p.close()
	if version == mqtt.V5 {
		v.claims, v.refused = readClaims(p.greeting)
	}
	return v
}

func (m *mqttLab) steps() []step {
	return append([]step{
		{[]string{AskMQTT311, AskMQTT5}, "CONNECT in each version", patience, m.versions},
		{[]string{AskQoS0}, "publish to a subscriber, both with QoS 0", 2 * patience, m.qos(0)},
		{[]string{AskQoS1}, "publish to a subscriber, both with QoS 1", 2 * patience, m.qos(1)},
		{[]string{AskQoS2}, "publish to a subscriber, both with QoS 2", 2 * patience, m.qos(2)},
		{[]string{AskRetained}, "publish retained, then subscribe by name and by wildcard", 3 * patience, m.retained},
		{[]string{AskWildcards}, "subscribe with + and #, then publish", 2 * patience, m.wildcards},
		{[]string{AskShared}, "publish to two subscribers that share $share/GROUP/TOPIC", 3 * patience, m.shared},
		{[]string{AskSession}, "drop the connection of a session, publish, come back", 3 * patience, m.session},
		{[]string{AskExpiry}, "ask for a session of 1 s, come back at once and after 3 s", 4 * patience, m.expiry},
		{[]string{AskPacket}, "publish ever larger messages to a subscriber", 5 * patience, m.packets},
		{[]string{AskReceiveMax}, "send more QoS 2 messages at once than allowed, release none", 2 * patience, m.receiveMaximum},
		{[]string{AskOffline}, "publish QoS 1 past the limit to a session that is away", 4 * patience, m.offline},
		{[]string{AskOffline0}, "publish QoS 0 to a session that is away", 3 * patience, m.offline0},
		{[]string{AskInFlight}, "publish QoS 1 to a subscriber that never acknowledges", 4 * patience, m.inFlight},
		{[]string{AskNagle}, nagleHow, 2 * patience, m.nagle},
		{[]string{AskSlow}, "QoS 0 to a subscriber that does not read", 5 * patience, m.slow},
	}, m.survival("store, end the broker by %s, start it again", m.survives)...)
}

// id is the client identifier of a step.
func (m *mqttLab) id(role string) string { return m.run + role }

// connect opens a client; adjust may change its configuration, nil = a clean session.
func (m *mqttLab) connect(ctx context.Context, id string, adjust func(*mqtt.Config)) (*peer, error) {
	c := &mqtt.Config{
		Version: m.version, CleanStart: true, KeepAlive: time.Minute,
		User: m.login.User, Password: []byte(m.login.Password),
	}
	if m.login.Password == "" {
		c.Password = nil
	}
	if adjust != nil {
		adjust(c)
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return m.open(ctx, mqtt.NewClient(c, id))
}

// keep makes the session of a client outlive its connection.
func (m *mqttLab) keep(ctx context.Context, id string, adjust func(*mqtt.Config)) (*peer, error) {
	p, err := m.connect(ctx, id, func(c *mqtt.Config) {
		c.CleanStart, c.SessionExpiry = false, time.Hour
		if m.version == mqtt.V311 {
			c.SessionExpiry = 0
		}
		if adjust != nil {
			adjust(c)
		}
	})
	if err == nil {
		m.later(id, func(ctx context.Context) error {
			p, err := m.connect(ctx, id, nil)
			if err == nil {
				p.close()
			}
			return err
		})
	}
	return p, err
}

// pair is a publisher and a subscriber.
type pair struct{ pub, sub *peer }

func (p *pair) close() {
	for _, x := range []*peer{p.pub, p.sub} {
		if x != nil {
			x.close()
		}
	}
}

// arrives tells whether a message came to the subscriber, which waits for it in another goroutine; if it was refused it will not.
func (p *pair) arrives(arrived <-chan error, refusal error) (bool, string, error) {
	if refusal != nil {
		_ = p.sub.nc.Close() // ends the waiting
		<-arrived
		return false, refusal.Error(), nil
	}
	return <-arrived == nil, "it did not arrive", nil
}

// pair connects a publisher and a subscriber to a topic.
func (m *mqttLab) pair(ctx context.Context, role, topic string, qos uint8) (p pair, err error) {
	if p.sub, err = m.connect(ctx, m.id(role+"sub"), nil); err != nil {
		return p, err
	}
	if _, err = p.sub.subscribe(topic, "", qos); err == nil {
		p.pub, err = m.connect(ctx, m.id(role+"pub"), nil)
	}
	if err != nil {
		p.close()
		return pair{}, err
	}
	return p, nil
}

func (m *mqttLab) versions(context.Context) ([]Answer, error) {
	return []Answer{m.seen[0].answer(), m.seen[1].answer()}, nil
}

// qos publishes one message with a QoS and looks with which it arrives.
func (m *mqttLab) qos(qos uint8) func(ctx context.Context) ([]Answer, error) {
	return func(ctx context.Context) ([]Answer, error) {
		seen := qosSeen{qos: qos, claimed: m.claims.maxQoS}
		role, topic := fmt.Sprint("qos", qos), m.topic()
		sub, err := m.connect(ctx, m.id(role+"sub"), nil)
		if err != nil {
			return nil, err
		}
		defer sub.close()
		seen.granted, seen.subRefused = sub.subscribe(topic, "", qos)
		pub, err := m.connect(ctx, m.id(role+"pub"), nil)
		if err != nil {
			return nil, err
		}
		defer pub.close()
		_, seen.pubRefused = pub.publishAll(topic, qos, 1, 1)
		if seen.pubRefused == nil {
			seen.pubRefused = pub.acked[1]
		}
		if seen.subRefused == nil && seen.pubRefused == nil {
			if err := sub.await(1); err != nil && !errors.Is(err, errQuiet) {
				return nil, err
			}
			for _, d := range sub.got {
				seen.arrived, seen.arrivedQoS = true, d.qos
			}
		}
		return []Answer{seen.answer()}, nil
	}
}

func (m *mqttLab) retained(ctx context.Context) ([]Answer, error) {
	base := m.topic()
	topic := base + "/leaf"
	pub, err := m.connect(ctx, m.id("retainpub"), nil)
	if err != nil {
		return nil, err
	}
	defer pub.close()
	var seen retainedSeen
	msg := message(topic, 1, 1)
	msg.Retain = true
	if err := pub.publish(msg); err != nil {
		return []Answer{retainedSeen{refused: err}.answer()}, nil
	}
	m.later(topic, func(ctx context.Context) error { return m.forget(ctx, topic) })
	if err := pub.settle(); err != nil {
		return []Answer{retainedSeen{refused: err}.answer()}, nil
	}
	for _, way := range []struct {
		filter string
		got    *bool
	}{{topic, &seen.byName}, {base + "/+", &seen.byPlus}, {base + "/#", &seen.byHash}} {
		sub, err := m.connect(ctx, m.id("retainsub"), nil)
		if err != nil {
			return nil, err
		}
		if _, err := sub.subscribe(way.filter, "", 1); err != nil {
			sub.close()
			return nil, err
		}
		err = sub.listen(300 * time.Millisecond)
		for _, d := range sub.got {
			*way.got = *way.got || d.ours && d.retained
		}
		sub.close()
		if err != nil {
			return nil, err
		}
	}
	return []Answer{seen.answer()}, nil
}

// forget removes a retained message.
func (m *mqttLab) forget(ctx context.Context, topic string) error {
	p, err := m.connect(ctx, m.id("forget"), nil)
	if err != nil {
		return err
	}
	defer p.close()
	msg := message(topic, 1, 1)
	msg.Payload, msg.Retain = nil, true
	if err := p.publish(msg); err != nil {
		return err
	}
	return p.settle()
}

func (m *mqttLab) wildcards(ctx context.Context) ([]Answer, error) {
	base := m.topic()
	plus, err := m.pair(ctx, "plus", base+"/+/leaf", 1)
	if err != nil {
		return nil, err
	}
	defer plus.close()
	hash, err := m.pair(ctx, "hash", base+"/#", 1)
	if err != nil {
		return nil, err
	}
	defer hash.close()
	seen := wildcardsSeen{one: "+", rest: "#"}
	seen.oneGot, seen.restGot, err = viaWildcards(plus.pub, plus.sub, hash.sub, base+"/a/leaf", 1)
	return []Answer{seen.answer()}, err
}

// viaWildcards publishes a message and tells whether it arrives at two subscribers.
func viaWildcards(pub, one, rest *peer, topic string, qos uint8) (oneGot, restGot bool, err error) {
	if _, err := pub.publishAll(topic, qos, 1, 1); err != nil {
		return false, false, err
	}
	errOne, errRest := one.await(1), rest.await(1)
	for _, err := range []error{errOne, errRest} {
		if err != nil && !errors.Is(err, errQuiet) {
			return false, false, err
		}
	}
	return errOne == nil, errRest == nil, nil
}

func (m *mqttLab) shared(ctx context.Context) ([]Answer, error) {
	topic := m.topic()
	var refused error
	t := team{
		join: func(name string) (*peer, error) {
			p, err := m.connect(ctx, m.id(name), nil)
			if err != nil {
				return nil, err
			}
			if _, refused = p.subscribe(topic, "g", 1); refused != nil {
				p.close()
				return nil, refused
			}
			return p, nil
		},
		open: func() (*peer, error) { return m.connect(ctx, m.id("sharepub"), nil) },
	}
	seen, err := t.share(topic, 1)
	if err != nil && refused == nil {
		return nil, err
	}
	seen.refused, seen.claimed = refused, m.claims.shared
	return []Answer{seen.answer(AskShared)}, nil
}

package probe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/proto/mqtt"
)

const (
	quiet       = 600 * time.Millisecond // after which nothing more is expected to arrive
	windowFirst = 100                    // messages for a subscriber that never acknowledges; doubled as long as all arrive
	windowBound = 12800
	shortExpiry = time.Second
	expiryPause = 3 * time.Second
)

// session drops the connection of a session, publishes, and comes back.
func (m *mqttLab) session(ctx context.Context) ([]Answer, error) {
	topic, id := m.topic(), m.id("session")
	p, err := m.keep(ctx, id, nil)
	if err != nil {
		return nil, err
	}
	_, err = p.subscribe(topic, "", 1)
	p.drop()
	if err != nil {
		return nil, err
	}
	pub, err := m.connect(ctx, m.id("sessionpub"), nil)
	if err != nil {
		return nil, err
	}
	defer pub.close()
	if _, err := pub.publishAll(topic, 1, 1, 1); err != nil {
		return nil, err
	}
	if p, err = m.keep(ctx, id, nil); err != nil {
		return nil, err
	}
	defer p.close()
	seen := sessionSeen{resumed: p.resumed}
	if err := p.await(1); err != nil && !errors.Is(err, errQuiet) {
		return nil, err
	}
	seen.arrived = len(p.got) > 0
	return []Answer{seen.answer()}, nil
}

// expiry asks for a session that never ends and notes what the broker claims instead; then for one of a second, and comes
// back at once, and after three.
func (m *mqttLab) expiry(ctx context.Context) ([]Answer, error) {
	if m.version != mqtt.V5 {
		return []Answer{undecided(AskExpiry, "MQTT 3.1.1 has no session expiry, and the broker does not tell its own")}, nil
	}
	p, err := m.keep(ctx, m.id("longest"), func(c *mqtt.Config) { c.SessionExpiry = forever * time.Second })
	if err != nil {
		return nil, err
	}
	p.drop()
	c, err := readClaims(p.greeting)
	if err != nil {
		return nil, err
	}
	seen := expirySeen{claimed: c.sessionExpiry}
	for _, visit := range []struct {
		after time.Duration
		there *bool
	}{{0, new(bool)}, {0, &seen.atOnce}, {expiryPause, &seen.later}} {
		if err := clock.Pause(ctx, visit.after); err != nil {
			return nil, err
		}
		p, err := m.keep(ctx, m.id("expiry"), func(c *mqtt.Config) { c.SessionExpiry = shortExpiry })
		if err != nil {
			return nil, err
		}
		p.drop()
		*visit.there = p.resumed
	}
	return []Answer{seen.answer()}, nil
}

// away makes a session that is subscribed to a topic and whose connection is gone.
func (m *mqttLab) away(ctx context.Context, id, topic string, qos uint8) error {
	p, err := m.keep(ctx, id, nil)
	if err != nil {
		return err
	}
	if _, err = p.subscribe(topic, "", qos); err == nil {
		err = p.settle()
	}
	p.close()
	return err
}

// back lets the session come back and returns what was kept for it.
func (m *mqttLab) back(ctx context.Context, id string) (arrived []uint64, resumed bool, err error) {
	return collect(func() (*peer, error) { return m.keep(ctx, id, nil) })
}

func (m *mqttLab) offline(ctx context.Context) ([]Answer, error) {
	topic, id := m.topic(), m.id("offline")
	pub, err := m.connect(ctx, m.id("offlinepub"), nil)
	if err != nil {
		return nil, err
	}
	defer pub.close()
	a := absence{
		leave: func() error { return m.away(ctx, id, topic, 1) },
		back:  func() ([]uint64, bool, error) { return m.back(ctx, id) },
	}
	return keepsMost(ctx, func(sent uint64) (offlineSeen, error) { return a.kept(pub, topic, sent) })
}

// offline0Messages are published with QoS 0 to a session that is away.
const offline0Messages = 10

func (m *mqttLab) offline0(ctx context.Context) ([]Answer, error) {
	topic, id := m.topic(), m.id("offline0")
	if err := m.away(ctx, id, topic, 1); err != nil {
		return nil, err
	}
	pub, err := m.connect(ctx, m.id("offline0pub"), nil)
	if err != nil {
		return nil, err
	}
	defer pub.close()
	if _, err := pub.publishAll(topic, 0, 0, offline0Messages); err != nil {
		return nil, err
	}
	arrived, resumed, err := m.back(ctx, id)
	if err != nil {
		return nil, err
	}
	seen := offlineSeen{sent: offline0Messages, arrived: arrived, resumed: resumed}
	return []Answer{seen.qos0()}, nil
}

func (m *mqttLab) inFlight(ctx context.Context) ([]Answer, error) {
	topic := m.topic()
	sub, err := m.connect(ctx, m.id("windowsub"), func(c *mqtt.Config) { c.HoldAcks = true })
	if err != nil {
		return nil, err
	}
	defer sub.drop()
	if _, err := sub.subscribe(topic, "", 1); err != nil {
		return nil, err
	}
	pub, err := m.connect(ctx, m.id("windowpub"), nil)
	if err != nil {
		return nil, err
	}
	defer pub.close()
	seen, err := fillWindow(ctx, pair{pub, sub}, topic)
	return []Answer{seen.answer()}, err
}

// fillWindow publishes ever more messages to a subscriber that never acknowledges, as long as all arrive.
func fillWindow(ctx context.Context, p pair, topic string) (seen windowSeen, err error) {
	for n := uint64(windowFirst); n <= windowBound; n *= 2 {
		if _, err := p.pub.publishAll(topic, 1, seen.sent, n-seen.sent); err != nil {
			return seen, fmt.Errorf("publish %d: %w", n, err)
		}
		seen.sent = n
		if err := p.sub.listen(quiet); err != nil {
			return seen, err
		}
		if seen.arrived = len(p.sub.got); uint64(seen.arrived) < n {
			break
		}
		if end, _ := ctx.Deadline(); time.Until(end) < patience {
			break
		}
	}
	return seen, nil
}

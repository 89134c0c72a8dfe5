package probe

import (
	"context"
	"time"
)

// survives stores a retained message and messages for a session that is away, restarts the broker, and looks what is left.
func (m *mqttLab) survives(ctx context.Context, question string, kill bool) ([]Answer, error) {
	topic, id := m.topic(), m.id("survivor")
	if err := m.away(ctx, id, topic, 1); err != nil {
		return nil, err
	}
	stored := topic + "/retained"
	if err := m.store(ctx, topic, stored); err != nil {
		return nil, err
	}
	if err := m.again(ctx, kill); err != nil {
		return nil, err
	}
	seen := survivalSeen{question: question, sent: survivalMessages}
	arrived, resumed, err := m.back(ctx, id)
	if err != nil {
		return nil, err
	}
	seen.session, seen.queued = resumed, len(distinct(arrived))
	if seen.retained, err = m.remembers(ctx, stored); err != nil {
		return nil, err
	}
	return []Answer{seen.answer()}, nil
}

// store publishes what shall survive.
func (m *mqttLab) store(ctx context.Context, topic, stored string) error {
	pub, err := m.connect(ctx, m.id("survivalpub"), nil)
	if err != nil {
		return err
	}
	defer pub.close()
	if _, err := pub.publishAll(topic, 1, 0, survivalMessages); err != nil {
		return err
	}
	msg := message(stored, 1, survivalMessages)
	msg.Retain = true
	if err := pub.publish(msg); err != nil {
		return nil //nolint:nilerr // a broker without retained messages can still keep sessions
	}
	m.later(stored, func(ctx context.Context) error { return m.forget(ctx, stored) })
	return pub.settle()
}

// again restarts the broker and waits until it accepts connections.
func (m *mqttLab) again(ctx context.Context, kill bool) error {
	return m.reopened(ctx, kill, func() (*peer, error) { return m.connect(ctx, m.id("again"), nil) })
}

// remembers tells whether a retained message is there.
func (m *mqttLab) remembers(ctx context.Context, topic string) (bool, error) {
	sub, err := m.connect(ctx, m.id("remember"), nil)
	if err != nil {
		return false, err
	}
	defer sub.close()
	if _, err := sub.subscribe(topic, "", 1); err != nil {
		return false, err
	}
	err = sub.listen(300 * time.Millisecond)
	return len(sub.got) > 0, err
}

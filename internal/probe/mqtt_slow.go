package probe

import (
	"context"
	"errors"
	"time"

	"github.com/mqlab/mqlab/internal/proto/mqtt"
)

// mqttFeeder publishes with QoS 0. The subscriber's will, which the broker publishes when it ends the connection, tells
// that it is gone.
type mqttFeeder struct {
	pub, watch *peer
	topic      string
}

func (f *mqttFeeder) feed(first, n uint64) (sent uint64, gone bool, err error) {
	for seq := first; seq < first+n; seq++ {
		m := message(f.topic, 0, seq)
		m.Payload = payload(seq, slowPayload)
		if err := f.pub.publish(m); err != nil {
			return sent, false, err
		}
		sent++
	}
	if err := f.pub.settle(); err != nil {
		if errors.Is(err, errQuiet) {
			err = errBlocked
		}
		return sent, false, err
	}
	if _, err := f.watch.next(0); err != nil && !errors.Is(err, errQuiet) {
		return sent, false, err
	}
	return sent, len(f.watch.got) > 0, nil
}

func (m *mqttLab) slow(ctx context.Context) ([]Answer, error) {
	topic, will := m.topic(), m.topic()
	sub, err := m.connect(ctx, m.id("slowsub"), func(c *mqtt.Config) { c.Will = &mqtt.Will{Topic: will, Payload: []byte("gone")} })
	if err != nil {
		return nil, err
	}
	defer sub.drop()
	if _, err := sub.subscribe(topic, "", 0); err != nil {
		return nil, err
	}
	rest, err := m.pair(ctx, "slowwatch", will, 0)
	if err != nil {
		return nil, err
	}
	defer rest.close()
	seen, err := starve(ctx, sub, &mqttFeeder{pub: rest.pub, watch: rest.sub, topic: topic}, time.Second)
	if err != nil {
		return nil, err
	}
	return []Answer{seen.answer()}, nil
}

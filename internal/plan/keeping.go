package plan

import (
	"fmt"
	"time"
)

// keeping is how much a broker keeps for a subscriber whose session stays while it is away.
type keeping struct {
	most  int    // messages of QoS 1 and 2; 0 = no number is set
	drops string // which go when there are more
	qos0  bool   // messages of QoS 0, too
}

// keepings are those of MQTT, by broker and variant as they are set up here. A broker that is not here tells of no limit.
//
//	mosquitto  max_queued_messages is 1000, queue_qos0_messages off (https://mosquitto.org/man/mosquitto-conf-5.html).
//	emqx       mqtt.max_mqueue_len is 1000, mqueue_store_qos0 on; the oldest goes (https://docs.emqx.com, Inflight and Queue).
//	hivemq     max-queue-size is 1000, strategy discard (https://github.com/hivemq/hivemq-community-edition/wiki/Configuration).
//	mochi      MaximumInflight is 8192; what is more is dropped (https://github.com/mochi-mqtt/server).
//	nats       JetStream holds what waits; QoS 0 is not stored (https://docs.nats.io, MQTT).
var keepings = map[string]map[string]keeping{
	"mosquitto": {"as-shipped": {most: 1000, drops: "newest"}, "tuned": {}},
	"emqx":      {"as-shipped": {most: 1000, drops: "oldest", qos0: true}, "tuned": {qos0: true}},
	"hivemq":    {"as-shipped": {most: 1000, drops: "newest"}, "tuned": {most: 1_000_000, drops: "newest"}},
	"mochi":     {"as-shipped": {most: 8192, drops: "newest"}, "tuned": {most: 65535, drops: "newest"}},
	"nats":      {"as-shipped": {}, "tuned": {}},
}

// forgets says what a broker will not keep of the messages for subscribers that are away, though their sessions stay; "" = nothing, or
// it is not known.
func (t *Trial) forgets() string {
	s, p := t.Subject.subscriber(), &t.Params
	k, known := keepings[s.Broker][s.Variant]
	if !known || !IsMQTT(s.Protocol) || s.Runtime == "external" || t.Subject.Bridge != nil {
		return ""
	}
	if p.QoS == 0 {
		if k.qos0 {
			return ""
		}
		return "messages of QoS 0 are not kept for subscribers that are away"
	}
	if wait := t.waiting(); k.most > 0 && wait > float64(k.most) {
		return fmt.Sprintf("about %s messages come for a subscriber while it is away: it keeps %s, and drops the %s",
			grouped(int64(wait)), grouped(int64(k.most)), k.drops)
	}
	return ""
}

// waiting is about how many messages come for one subscriber in an outage of mean length.
func (t *Trial) waiting() float64 {
	p := &t.Params
	streams := 1.0
	switch p.Pattern {
	case PatternFanin, PatternFanout:
		streams = float64(p.Publishers)
	case PatternShared:
		return 0 // the others take them
	}
	away := min(p.Outages.MTTR, max(p.Phases.Measure-time.Duration(p.Outages.At), 0))
	return p.RatePerS / float64(max(p.Publishers, 1)) * streams * away.Seconds()
}

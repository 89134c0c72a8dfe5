package plan

import (
	"fmt"
	"math"
	"strings"

	"github.com/mqlab/mqlab/internal/link"
)

// Sizes of what carries a message, in bytes.
const (
	// tcpIPBytes is the header of a segment: IPv4 20, TCP 20, its time stamps 12 (RFC 791, RFC 9293, RFC 7323).
	tcpIPBytes = 52
	// segmentBytes is what a segment carries of a packet of 1500 bytes.
	segmentBytes = 1500 - tcpIPBytes
	// tlsBytes is what a record of TLS 1.3 adds: header 5, type 1, tag 16 (RFC 8446, 5.2). One of TLS 1.2 adds 21 or 29, by its cipher
	// (RFC 7905, RFC 5288), which is not known before.
	tlsBytes = 22
	// webSocketBytes is the frame around a message of a client: 2, its mask 4, and 2 more from 126 bytes (RFC 6455, 5.2).
	webSocketBytes = 8
	// runDigits is how long the number of a run is at most.
	runDigits = 10
)

// Wire is what one message needs of a link in one direction, in bytes at the network layer.
type Wire struct {
	Data int `json:"data_bytes"` // the message itself
	Acks int `json:"ack_bytes"`  // answers of the protocol, and acknowledgements of TCP
}

// Demand is what a trial's messages need of its link in one direction.
type Demand struct {
	PerMessage Wire    `json:"per_message"`
	Data       float64 `json:"data_bits_per_s"` // of the messages, each in packets of its own
	Total      float64 `json:"bits_per_s"`      // with acknowledgements, and what is lost sent again
	Capacity   float64 `json:"capacity_bits_per_s,omitempty"`
}

// Times is how many times the capacity the messages alone would need; 0 without a capacity.
func (d Demand) Times() float64 { return over(d.Data, d.Capacity) }

// TimesInAll is Times with acknowledgements and repetitions.
func (d Demand) TimesInAll() float64 { return over(d.Total, d.Capacity) }

func over(bits, capacity float64) float64 {
	if capacity == 0 {
		return 0
	}
	return bits / capacity
}

// Need is what a trial needs of its link.
type Need struct {
	Up   Demand `json:"up"`
	Down Demand `json:"down"`
	// Fits is the highest rate of messages, over all publishers, for which there is room; 0 without a capacity.
	Fits float64 `json:"fits_per_s,omitempty"`
	// AtLeast: the protocol's own bytes are not known here and were left out.
	AtLeast bool `json:"at_least,omitempty"`
}

// times is how many times the capacity of the worse direction is needed.
func (n Need) times() float64 { return max(n.Up.TimesInAll(), n.Down.TimesInAll()) }

// Need says what the trial needs of its link; ok is false if it has none or is not paced.
//
// A message is taken to travel alone, in segments of its own, as it does at a rate that the link can carry: that is the most it can
// need. TCP acknowledges every message, in a segment of its own unless the protocol answers.
func (t *Trial) Need() (n Need, ok bool) {
	p := &t.Params
	if !p.Link.Emulated() || p.RatePerS == 0 {
		return Need{}, false
	}
	rate := max(p.RatePerS, p.RampToPerS)
	up, down, known := t.publishing()
	up2, down2, known2 := t.hearing()
	fan := p.Fan()
	n.AtLeast = !known || !known2
	n.Up = demand(up, up2, rate, fan, p.Link.Up)
	n.Down = demand(down, down2, rate, fan, p.Link.Down)
	for _, d := range []Demand{n.Up, n.Down} {
		if d.Capacity == 0 || d.Total == 0 {
			continue
		}
		if most := rate * d.Capacity / d.Total; n.Fits == 0 || most < n.Fits {
			n.Fits = most
		}
	}
	return n, true
}

// demand is that of one direction: of the publishers' side for every message, of the subscribers' side for each of fan deliveries.
func demand(once, each Wire, rate float64, fan int, p link.Params) Demand {
	w := Wire{once.Data + fan*each.Data, once.Acks + fan*each.Acks}
	d := Demand{PerMessage: w, Data: float64(w.Data) * 8 * rate, Capacity: float64(p.Rate)}
	d.Total = float64(w.Data+w.Acks) * 8 * rate / (1 - math.Min(p.Loss, 0.99))
	return d
}

// publishing is what one message needs between its publisher and the broker.
func (t *Trial) publishing() (up, down Wire, known bool) {
	return t.exchange(t.Subject.Protocol, true)
}

// hearing is what one delivery needs between the broker and a subscriber.
func (t *Trial) hearing() (up, down Wire, known bool) {
	down, up, known = t.exchange(t.Subject.SubscribeProtocol(), false)
	return up, down, known
}

// exchange is what one message needs from its sender to its receiver, and back.
func (t *Trial) exchange(protocol string, publish bool) (there, back Wire, known bool) {
	message, answers, known := t.frame(protocol, publish)
	there.Data = t.packets(protocol, message)
	ack := tcpIPBytes
	if len(answers) == 0 {
		back.Acks = ack
		return there, back, known
	}
	for i, a := range answers { // alternately by receiver and sender; each acknowledges the one before
		if i%2 == 0 {
			back.Acks += t.packets(protocol, a)
		} else {
			there.Acks += t.packets(protocol, a)
		}
	}
	if len(answers)%2 == 1 {
		there.Acks += ack
	} else {
		back.Acks += ack
	}
	return there, back, known
}

// packets is the size at the network layer of so many bytes of a protocol.
func (t *Trial) packets(protocol string, n int) int {
	if _, ok := OverWebSocket(protocol); ok {
		n += webSocketBytes
	}
	if t.Secured() {
		n += tlsBytes
	}
	segments := (n + segmentBytes - 1) / segmentBytes
	return n + segments*tcpIPBytes
}

// frame is the size of a message as the protocol writes it, and of the protocol's answers to it, in turn.
func (t *Trial) frame(protocol string, publish bool) (message int, answers []int, known bool) {
	p := &t.Params
	plain := protocol
	if inner, ok := OverWebSocket(protocol); ok {
		plain = inner
	}
	topic, payload := p.topicBytes(), p.PayloadBytes
	switch plain {
	case MQTT311, MQTT5:
		return mqttPublish(topic, payload, p.QoS, plain == MQTT5), [][]int{nil, {4}, {4, 4, 4}}[p.QoS], true
	case AMQP091:
		if p.QoS > 0 {
			answers = []int{21} // basic.ack: frame 8, method 4, tag 8, multiple 1 (AMQP 0-9-1, 4.2.3 and 1.8.3.13)
		}
		return amqp091Message(topic, payload, publish), answers, true
	case NATS:
		if publish { // PUB subject size, each line ended by CR LF
			return len("PUB ") + topic + 1 + digits(payload) + 2 + payload + 2, nil, true
		}
		return len("MSG ") + topic + len(" 1 ") + digits(payload) + 2 + payload + 2, nil, true
	case Redis:
		if publish {
			if p.QoS > 0 {
				answers = []int{len(":1\r\n")}
			}
			return respArray(len("PUBLISH"), topic, payload), answers, true
		}
		return respArray(len("message"), topic, payload), nil, true
	}
	if p.QoS > 0 {
		answers = []int{0}
	}
	return topic + payload, answers, false
}

// mqttPublish is the size of a PUBLISH (MQTT 3.1.1 and 5, 3.3).
func mqttPublish(topic, payload int, qos uint8, five bool) int {
	n := 2 + topic + payload
	if qos > 0 {
		n += 2
	}
	if five {
		n++ // no properties
	}
	length := 1
	for rest := n; rest > 127; rest >>= 7 {
		length++
	}
	return 1 + length + n
}

// amqp091Message is the size of a method, a header and a body frame, each with 8 bytes around it (AMQP 0-9-1, 4.2.3).
func amqp091Message(key, payload int, publish bool) int {
	const (
		frame    = 8
		exchange = 1 + len("amq.topic")
		header   = frame + 2 + 2 + 8 + 2 // class, weight, size, flags
	)
	method := frame + 4 + exchange + 1 + key
	if publish {
		method += 2 + 1 // reserved, bits
	} else {
		method += 2 + 8 + 1 // consumer tag of one byte, delivery tag, redelivered
	}
	return method + header + frame + payload
}

// respArray is the size of an array of three bulk strings (RESP).
func respArray(command, topic, payload int) int {
	n := len("*3\r\n")
	for _, size := range []int{command, topic, payload} {
		n += 1 + digits(size) + 2 + size + 2
	}
	return n
}

func digits(n int) int { return len(fmt.Sprint(n)) }

// topicBytes is how long a topic is, at most.
func (p *Params) topicBytes() int {
	n := digits(max(p.Publishers-1, 0))
	return len(strings.NewReplacer("{run}", strings.Repeat("0", runDigits), "{stream}", strings.Repeat("0", n), "{publisher}", strings.Repeat("0", n)).Replace(p.Topic))
}

// need says in words what a trial needs of its link; "" = there is nothing to say.
func need(t *Trial) string {
	n, ok := t.Need()
	if !ok {
		return ""
	}
	p := &t.Params
	worst, way := n.Up, "up"
	if n.Down.TimesInAll() > n.Up.TimesInAll() {
		worst, way = n.Down, "down"
	}
	if worst.Capacity == 0 || worst.TimesInAll() < 0.01 {
		return ""
	}
	least := ""
	if n.AtLeast {
		least = "at least "
	}
	text := fmt.Sprintf("%s: %s × %s msg/s × %s need %sabout %s × the link %s (%s, %s B of packets a message); with acknowledgements and what is lost sent again %s ×",
		t.Subject.Name, grouped(int64(p.Publishers))+" devices", decimal(max(p.RatePerS, p.RampToPerS)), size(float64(p.PayloadBytes)), least,
		times(worst.Times()), p.Link.Name, way, grouped(int64(worst.PerMessage.Data)), times(worst.TimesInAll()))
	switch {
	case worst.TimesInAll() > 1:
		text += fmt.Sprintf(": this measures the link's capacity; about %s msg/s fit", decimal(math.Round(n.Fits*10)/10))
	case worst.TimesInAll() > 0.8:
		text += ": hardly any room for bursts"
	}
	return text
}

// times writes a ratio with as many digits as it deserves.
func times(f float64) string {
	switch {
	case f >= 10:
		return grouped(int64(math.Round(f)))
	case f >= 1:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.2f", f)
}

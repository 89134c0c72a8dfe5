package summary

import (
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
)

// KeepAlives are what connections send to say that they are there, seen packet by packet on the link in the measure window, beside what
// protocol and TCP say that they take. An exchange of MQTT and NATS is a question and its answer; one of AMQP is a heartbeat, of
// either side. Each packet of them has to be acknowledged: by one that carries data, or by one of its own.
type KeepAlives struct {
	What      string  `json:"what"`
	Exchanges uint64  `json:"exchanges"`
	Up        uint64  `json:"sent_up"`
	Down      uint64  `json:"sent_down"`
	Carried   uint64  `json:"piggybacked_acks"` // acknowledgements that came with a keep-alive of the other side, or other data
	Bytes     float64 `json:"bytes_per_exchange"`
	// Protocol is the count: headers, frames, records of TLS, and acknowledgements that came by themselves.
	Protocol   float64 `json:"protocol_bytes_per_exchange"`
	Difference float64 `json:"difference_ratio"` // of Bytes, from Protocol
	// Due is how many exchanges the timers of both sides make of the window, if nothing else is sent. Absent: not known.
	Due *float64 `json:"due_exchanges,omitempty"`
}

// tcpIPBytes is the header of a segment: IPv4 20, TCP 20, its time stamps 12 (RFC 791, RFC 9293, RFC 7323).
const tcpIPBytes = 52

// keepAlive is how a protocol keeps connections alive.
type keepAlive struct {
	what       string
	frame      int     // bytes of each packet
	answered   bool    // an exchange is a question and its answer
	perTimeout float64 // exchanges in each keep-alive time, of both sides together; 0 = the broker's settings decide
}

// keepAliveOf: PINGREQ and PINGRESP are 2 bytes (MQTT 3.12, 3.13), and ours sends one each 0.96 of the time; a heartbeat is a frame of 8
// (AMQP 0-9-1, 4.2.7), from both sides each half of the time; an empty frame of AMQP 1.0 is 8, too (2.4.5); PING and PONG have 6.
func keepAliveOf(protocol string) (keepAlive, bool) {
	if _, framed := plan.OverWebSocket(protocol); framed {
		return keepAlive{}, false
	}
	switch {
	case plan.IsMQTT(protocol):
		return keepAlive{"PINGREQ and PINGRESP", 2, true, 1 / 0.96}, true
	case protocol == plan.AMQP091:
		return keepAlive{"heartbeats", 8, false, 4}, true
	case protocol == plan.AMQP10:
		return keepAlive{"empty frames", 8, false, 0}, true
	case protocol == plan.NATS || protocol == plan.JetStream:
		return keepAlive{"PING and PONG", 6, true, 0}, true
	}
	return keepAlive{}, false
}

// recordBytes is what a record of TLS adds to a packet (RFC 8446, 5.2; RFC 5288; RFC 7905); ok is false where it is not known.
func recordBytes(t *run.TLS) (n int, ok bool) {
	switch {
	case t == nil:
		return 0, true
	case strings.HasSuffix(t.Version, "1.3"):
		return 22, true
	case strings.Contains(t.Cipher, "GCM"):
		return 29, true
	case strings.Contains(t.Cipher, "CHACHA20"):
		return 21, true
	}
	return 0, false
}

// keepAlivesOf is nil where there were none, or the link does not show packets.
func keepAlivesOf(rec *run.Trial) *KeepAlives {
	l, p := rec.Link, &rec.Trial.Params
	how, known := keepAliveOf(rec.Trial.Subject.Protocol)
	record, alsoKnown := recordBytes(rec.Client.TLS)
	if l == nil || l.Up == nil || l.Up.TCP == nil || l.Down.TCP == nil || !known || !alsoKnown {
		return nil
	}
	size := how.frame + record
	up, down := small(l.Up.TCP, size), small(l.Down.TCP, size)
	k := &KeepAlives{What: how.what, Up: up.Sent, Down: down.Sent, Carried: up.Carried + down.Carried, Exchanges: up.Sent + down.Sent}
	alone := up.Acks + down.Acks
	if k.Exchanges == 0 {
		return nil
	}
	packets := float64(k.Exchanges)
	if how.answered {
		k.Exchanges = max(up.Sent, down.Sent)
	}
	n := float64(k.Exchanges)
	k.Bytes = float64(up.Bytes+down.Bytes+up.AckBytes+down.AckBytes) / n
	k.Protocol = (packets*float64(tcpIPBytes+size) + float64(alone)*tcpIPBytes) / n
	k.Difference = k.Bytes/k.Protocol - 1
	if every := p.Connect.KeepAlive; every > 0 && how.perTimeout > 0 && rec.Checks.Measured > 0 && p.Connect.Channels == 0 {
		k.Due = new(float64(p.Publishers+p.Subscribers) * how.perTimeout * float64(rec.Checks.Measured) / float64(every/time.Nanosecond))
	}
	return k
}

// small are the segments with a payload of this size.
func small(t *run.LinkTCP, size int) link.Small {
	for i := range t.Small {
		if t.Small[i].Payload == size {
			return t.Small[i].Small
		}
	}
	return link.Small{}
}

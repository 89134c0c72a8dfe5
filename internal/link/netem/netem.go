// Package netem is a weak network made by the kernel's own traffic control: four network namespaces in a row, joined by pairs of
// virtual Ethernet devices, and queueing disciplines on the two in the middle.
//
//	devices ── near ── far ── brokers
//
// What goes up is held to its rate where near sends to far (tbf, a queue in bytes), and delayed and lost where far sends to the
// brokers (netem); what goes down the other way round. It takes a kernel with sch_netem, which many do not have, and does less
// than backend tun: it is there to check one against the other. Two seeds of the kernel's differ always, so that two runs never have
// the same losses.
package netem

import (
	"fmt"
	"math"

	"github.com/mqlab/mqlab/internal/link"
)

// Name is what Facts and users call this backend.
const Name = "netem"

// etherBytes is what the kernel counts of a packet beyond IP: the header of Ethernet.
const etherBytes = 14

// hop is where a discipline works: the namespace and the device by which it sends.
type hop struct{ space, device string }

// shaping is what tbf does.
type shaping struct {
	BytesPerSecond, Limit, Burst uint64
}

// emulation is what netem does; times are in microseconds, shares in percent.
type emulation struct {
	Delay, Jitter                                               uint32
	DelayCorrelation, Loss, LossCorrelation, Duplicate, Corrupt float32
	Limit                                                       uint32
	BytesPerSecond                                              uint64
}

// direction is what is set for one direction; nil = nothing.
type direction struct {
	shape   *shaping
	emulate *emulation
}

// unlimited is netem's queue where something else bounds it: a packet for each 10 µs of a second's delay.
const unlimited = 100_000

// settings translates the properties of a direction, or names the first that the kernel cannot honour.
func settings(way link.Direction, p link.Params) (d direction, err error) {
	if option, why := unable(p); option != "" {
		return d, fmt.Errorf("option %s (%s): backend %s %s", option, way, Name, why)
	}
	e := emulation{
		Delay: uint32(p.Delay.Microseconds()), Jitter: uint32(p.Jitter.Microseconds()), DelayCorrelation: percent(p.Correlation),
		Loss: percent(p.Loss), LossCorrelation: percent(p.LossCorrelation), Duplicate: percent(p.Duplicate), Corrupt: percent(p.Corrupt),
		Limit: unlimited,
	}
	bytes := uint64(math.Round(float64(p.Rate) / 8))
	switch {
	case p.Mode == link.NetEm:
		e.Limit, e.BytesPerSecond = uint32(p.QueueLimit()), bytes
	case p.Rate > 0:
		// One full packet may leave at once; less would let none leave.
		d.shape = &shaping{BytesPerSecond: bytes, Limit: uint64(p.Queue()), Burst: mtu + etherBytes}
	}
	if e != (emulation{Limit: unlimited}) {
		d.emulate = &e
	}
	return d, nil
}

func percent(share float64) float32 { return float32(100 * share) }

// mtu is the largest IP packet.
const mtu = 1500

// unable returns the first option that the kernel cannot honour, and why; "" = it can all.
func unable(p link.Params) (option, why string) {
	uniform := p.Distribution == "" || p.Distribution == link.Uniform
	switch {
	case !uniform && p.Jitter > 0:
		return "distribution", "has uniform delays only; use backend tun"
	case p.Mode != link.NetEm && p.Correlation > 0:
		return "correlation", "distorts the distribution: say mode netem if that is wanted, or use backend tun"
	case p.Order != "" && p.Order != link.OrderNone && p.Jitter > 0:
		return "order", "lets packets overtake each other; use backend tun"
	case p.Burst > 0:
		return "burst", "has independent losses only; use backend tun"
	case p.FixChecksum:
		return "fix_checksum", "leaves checksums wrong; use backend tun"
	case p.Rate > 0 && p.OverheadBytes != etherBytes:
		return "overhead_bytes", fmt.Sprintf("counts %d bytes of Ethernet with each packet: say so, or use backend tun", etherBytes)
	}
	return "", ""
}

// hops are where the disciplines of a direction work.
func hops(way link.Direction) (shape, emulate hop) {
	if way == link.Up {
		return hop{"near", "far"}, hop{"far", "brokers"}
	}
	return hop{"far", "near"}, hop{"near", "devices"}
}

// String prints what is set as tc would be told it, for people.
func (d direction) String(way link.Direction) (text string) {
	shape, emulate := hops(way)
	if s := d.shape; s != nil {
		text += fmt.Sprintf("in %s: tc qdisc replace dev %s root tbf rate %dbit burst %d limit %d\n", shape.space, shape.device, 8*s.BytesPerSecond, s.Burst, s.Limit)
	}
	if e := d.emulate; e != nil {
		text += fmt.Sprintf("in %s: tc qdisc replace dev %s root netem limit %d delay %dus %dus %g%% loss %g%% %g%% duplicate %g%% corrupt %g%%",
			emulate.space, emulate.device, e.Limit, e.Delay, e.Jitter, e.DelayCorrelation, e.Loss, e.LossCorrelation, e.Duplicate, e.Corrupt)
		if e.BytesPerSecond > 0 {
			text += fmt.Sprintf(" rate %dbit", 8*e.BytesPerSecond)
		}
		text += "\n"
	}
	return text
}

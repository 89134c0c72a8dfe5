// Package link is a weak network as a pure state machine: what happens to each packet of one direction, and when. It reads no
// clock and opens no socket, so that everything about it is tested in virtual time; the packages below it bring packets and time.
//
// # What a seed fixes
//
// Every property draws from a sequence of its own. A loss is a function of the seed and of how many packets were on the air
// before, whatever their size and time: packet k is lost for every protocol alike. Delays, duplicates and corruptions are
// functions of the seed and of how many packets were not lost before. Outages are a function of time alone, see Outage.
package link

import (
	"fmt"
	"math"
	"time"
)

// Params are the properties of one direction of a link. The zero value is a perfect link. Sizes of packets are those at
// the network layer: of IP, its header included.
type Params struct {
	// Delay is the time from leaving the sender to arrival, without waiting and serialisation.
	Delay time.Duration `json:"delay_ns,omitempty"`
	// Jitter is how far the delay varies: half the range of a uniform distribution, the standard deviation of every other.
	Jitter       time.Duration `json:"jitter_ns,omitempty"`
	Distribution Distribution  `json:"distribution,omitempty"`
	// Correlation, from 0 to below 1, is that of one packet's delay with the next one's. It leaves the distribution as it is.
	Correlation float64 `json:"correlation,omitempty"`
	Order       Order   `json:"order,omitempty"`
	// Loss is the share of packets that are lost on the air, from 0 to 1.
	Loss float64 `json:"loss,omitempty"`
	// Burst is the mean number of packets that are lost in a row, from 1 (then never two), by the Gilbert model; 0 = losses are
	// independent of each other.
	Burst float64 `json:"burst,omitempty"`
	// Duplicate is the share of packets that arrive twice; the copy takes no air time and has a delay of its own.
	Duplicate float64 `json:"duplicate,omitempty"`
	// Corrupt is the share of packets in which one bit behind the IP header is turned over.
	Corrupt float64 `json:"corrupt,omitempty"`
	// FixChecksum makes TCP and UDP accept a corrupt packet, so that the application meets the wrong bit: it is one of the
	// payload, and packets without payload stay as they are.
	FixChecksum bool `json:"fix_checksum,omitempty"`
	// Rate is the capacity in bits per second; 0 = without limit.
	Rate int64 `json:"rate_bits_per_second,omitempty"`
	// OverheadBytes is what each packet takes of the rate beyond its own size, for framing below IP.
	OverheadBytes int `json:"overhead_bytes,omitempty"`
	// QueueBytes is how much may wait for the rate, overhead included; what comes later is dropped. 0 = a second's worth.
	QueueBytes int  `json:"queue_bytes,omitempty"`
	Mode       Mode `json:"mode,omitempty"`
	// QueuePackets is the limit of mode netem, delayed packets included; 0 = 1000, as of tc.
	QueuePackets int `json:"queue_packets,omitempty"`
	// LossCorrelation is that of tc's "loss 5% 25%", in mode netem only. It makes losses far rarer: use Burst.
	LossCorrelation float64 `json:"loss_correlation,omitempty"`
}

// Distribution is how delays vary around their mean.
type Distribution string

// Distributions. The empty one is Uniform.
const (
	Uniform Distribution = "uniform" // from Delay-Jitter to Delay+Jitter
	Normal  Distribution = "normal"
	// Pareto has a long tail: shape 3, cut at its 99.9 % quantile, of mean Delay and standard deviation Jitter.
	Pareto Distribution = "pareto"
	// ParetoNormal adds the quantiles of Pareto and Normal, three parts to one, scaled to standard deviation Jitter.
	ParetoNormal Distribution = "paretonormal"
)

// Order says which packets may overtake each other when delays vary.
type Order string

// Orders. The empty one is OrderNone.
const (
	OrderNone Order = "none" // any may
	// OrderFlow keeps the packets of a flow (addresses, protocol, ports) in order. In a flow whose packets follow closer than the
	// jitter this lengthens the mean delay and shortens the deviation.
	OrderFlow Order = "flow"
	OrderLink Order = "link" // none may; lengthens the mean delay as OrderFlow does, at the rate of all flows together
)

// Mode is in which order things happen to a packet.
type Mode string

// Modes. The empty one is Physical.
const (
	// Physical: it waits in a queue, is sent at the rate, is lost or not, travels for the delay.
	Physical Mode = "physical"
	// NetEm is what Linux's sch_netem does: lost packets take no air time, the delay runs while a packet waits for the rate, the
	// queue is counted in packets and includes those that are delayed, and correlation distorts (tabledist and get_crandom there).
	NetEm Mode = "netem"
)

// Validate reports the first value that makes no sense, by its name in JSON.
func (p Params) Validate() error {
	for _, share := range []struct {
		name  string
		value float64
	}{
		{"loss", p.Loss},
		{"duplicate", p.Duplicate},
		{"corrupt", p.Corrupt},
		{"correlation", p.Correlation},
		{"loss_correlation", p.LossCorrelation},
	} {
		if !(share.value >= 0 && share.value <= 1) {
			return fmt.Errorf("%s is %v; it goes from 0 to 1", share.name, share.value)
		}
	}
	for _, size := range []struct {
		name  string
		value int64
	}{
		{"delay_ns", int64(p.Delay)},
		{"jitter_ns", int64(p.Jitter)},
		{"rate_bits_per_second", p.Rate},
		{"overhead_bytes", int64(p.OverheadBytes)},
		{"queue_bytes", int64(p.QueueBytes)},
		{"queue_packets", int64(p.QueuePackets)},
	} {
		if size.value < 0 {
			return fmt.Errorf("%s is %d; it cannot be negative", size.name, size.value)
		}
	}
	if err := p.validateNames(); err != nil {
		return err
	}
	return p.validateTogether()
}

func (p Params) validateNames() error {
	switch p.Distribution {
	case "", Uniform, Normal, Pareto, ParetoNormal:
	default:
		return fmt.Errorf("distribution is %q; it can be uniform, normal, pareto or paretonormal", p.Distribution)
	}
	switch p.Order {
	case "", OrderNone, OrderFlow, OrderLink:
	default:
		return fmt.Errorf("order is %q; it can be none, flow or link", p.Order)
	}
	switch p.Mode {
	case "", Physical, NetEm:
	default:
		return fmt.Errorf("mode is %q; it can be physical or netem", p.Mode)
	}
	return nil
}

const (
	// longest bounds times, so that sums of them cannot overflow.
	longest = time.Hour
	// fastest bounds rates likewise: a terabit per second.
	fastest = 1_000_000_000_000
)

func (p Params) validateTogether() error {
	netem := p.Mode == NetEm
	switch {
	case p.Delay > longest:
		return fmt.Errorf("delay_ns is %s; the longest is %s", p.Delay, longest)
	case p.Jitter > longest:
		return fmt.Errorf("jitter_ns is %s; the longest is %s", p.Jitter, longest)
	case p.Rate > fastest:
		return fmt.Errorf("rate_bits_per_second is %d; the highest is %d", p.Rate, int64(fastest))
	case p.Rate > 0 && p.Rate < 8:
		return fmt.Errorf("rate_bits_per_second is %d; the lowest is 8", p.Rate)
	case p.Correlation == 1:
		return fmt.Errorf("correlation is 1; it must be below")
	case math.IsNaN(p.Burst) || p.Burst != 0 && p.Burst < 1:
		return fmt.Errorf("burst is %v; it is a mean number of packets, from 1", p.Burst)
	case p.Burst > 0 && p.Loss > p.Burst/(p.Burst+1):
		return fmt.Errorf("loss %v in bursts of %v cannot be: at most %.3f", p.Loss, p.Burst, p.Burst/(p.Burst+1))
	case p.LossCorrelation > 0 && !netem:
		return fmt.Errorf("loss_correlation is of mode netem only; use burst, the mean number of packets lost in a row")
	case p.QueuePackets > 0 && !netem:
		return fmt.Errorf("queue_packets is of mode netem only; use queue_bytes")
	case p.QueueBytes > 0 && netem:
		return fmt.Errorf("queue_bytes is of mode physical only; use queue_packets")
	case p.QueueBytes > 0 && p.Rate == 0:
		return fmt.Errorf("queue_bytes without rate_bits_per_second: nothing ever waits")
	case p.LossCorrelation > 0 && p.Burst > 0:
		return fmt.Errorf("burst and loss_correlation exclude each other")
	case netem && p.uniform() && p.Jitter > math.MaxInt32:
		return fmt.Errorf("jitter_ns is %s; mode netem wraps beyond %s", p.Jitter, time.Duration(math.MaxInt32))
	case p.Order != "" && p.Order != OrderNone && netem:
		return fmt.Errorf("order is of mode physical only")
	}
	return nil
}

// Queue returns how many bytes may wait for the rate: QueueBytes, or a second's worth, at least two full packets; 0 where nothing
// waits or packets are counted.
func (p Params) Queue() int {
	switch {
	case p.Rate == 0 || p.Mode == NetEm:
		return 0
	case p.QueueBytes > 0:
		return p.QueueBytes
	}
	return int(max(p.Rate/8, 2*1500))
}

// QueueLimit returns how many packets mode netem holds, delayed ones included; 0 in mode physical.
func (p Params) QueueLimit() int {
	switch {
	case p.Mode != NetEm:
		return 0
	case p.QueuePackets > 0:
		return p.QueuePackets
	}
	return 1000
}

// AirTime returns how long a packet of size bytes takes at the rate; 0 without a rate.
func (p Params) AirTime(size int) time.Duration {
	if p.Rate == 0 {
		return 0
	}
	bits := int64(size+p.OverheadBytes) * 8
	return time.Duration(float64(bits) * 1e9 / float64(p.Rate))
}

func (p Params) uniform() bool { return p.Distribution == "" || p.Distribution == Uniform }

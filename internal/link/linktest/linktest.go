// Package linktest measures whether a link does what it was told: it sends probes through a network's two places and holds
// what arrives against the configuration, each figure with its 95 % interval. Run moves the probes; what they tell is worked out by
// pure functions.
package linktest

import (
	"time"

	"github.com/mqlab/mqlab/internal/link"
	"github.com/mqlab/mqlab/internal/netns"
	"github.com/mqlab/mqlab/internal/stat"
)

// Network is what can be tested. Datagrams are used where its places have them, byte streams elsewhere.
type Network interface {
	Device() netns.Place
	Broker() netns.Place
	Change(up, down link.Params) error
	Down(down bool) error
	Counters() (up, down link.Counters)
	Facts() link.Facts
}

// Tolerance is how far a figure may be from its configuration.
type Tolerance struct {
	Time  time.Duration `json:"time_ns"`         // of mean delay and deviation, at least
	Delay float64       `json:"delay_ratio"`     // of the mean delay, if that is more
	Sd    float64       `json:"deviation_ratio"` // of the deviation, if that is more
	Rate  float64       `json:"rate_ratio"`
	Queue float64       `json:"queue_ratio"`
}

// Strict is the tolerance for a link that carries packets: the half of a millisecond is what a busy machine adds.
var Strict = Tolerance{Time: 500 * time.Microsecond, Delay: 0.005, Sd: 0.03, Rate: 0.01, Queue: 0.02}

// Options say how to test.
type Options struct {
	Packets   int           // probes per direction for delay and loss; 0 = 6000
	PerSecond int           // probes per second and direction; 0 = 1000
	Full      time.Duration // how long a link that has a rate is kept full; 0 = 4 s
	Tolerance Tolerance     // zero value = Strict
}

func (o Options) filled() Options {
	if o.Packets == 0 {
		o.Packets = 6000
	}
	if o.PerSecond == 0 {
		o.PerSecond = 1000
	}
	if o.Full == 0 {
		o.Full = 4 * time.Second
	}
	if o.Tolerance == (Tolerance{}) {
		o.Tolerance = Strict
	}
	return o
}

// What is checked.
const (
	Delay     = "delay"     // mean of the time on the way, without order and rate; in nanoseconds
	Deviation = "deviation" // its standard deviation, in nanoseconds
	Loss      = "loss"      // share of packets
	Burst     = "burst"     // mean number of packets lost in a row
	Rate      = "rate"      // bits per second, IP headers included
	Queue     = "queue"     // the longest time that a packet waits for the rate, in nanoseconds
)

// Check is one figure of one direction.
type Check struct {
	Direction  string        `json:"direction"`
	What       string        `json:"what"`
	Configured float64       `json:"configured"`
	Achieved   float64       `json:"achieved"`
	Interval   stat.Interval `json:"interval"`  // of what was achieved
	Tolerance  float64       `json:"tolerance"` // how far from the configuration it may be, beyond the interval
	Samples    int           `json:"samples"`   // packets, or bursts
	Pass       bool          `json:"pass"`
}

// Report is what came of a test.
type Report struct {
	Backend string        `json:"backend"`
	Probes  string        `json:"probes"` // datagrams or streams
	Took    time.Duration `json:"took_ns"`
	Checks  []Check       `json:"checks"`
	// Untested names what was configured and could not be checked, and why.
	Untested []string      `json:"untested,omitempty"`
	Late     link.Lateness `json:"late"`            // of the emulator, so far
	Overrun  uint64        `json:"overrun_packets"` // during the test
	Pass     bool          `json:"pass"`
	Why      []string      `json:"why,omitempty"` // it does not pass
}

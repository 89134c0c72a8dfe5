package scenario

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Network says what lies between clients and brokers. Without link and figures it is this host's own network.
type Network struct {
	// Link is a built-in link by name, such as lpwan (see mqlab link list); none is this host's own network. Every figure of it can be
	// replaced by the keys below; with them alone the link is as they say.
	Link string `yaml:"link"`
	// Backend is how the link is made: auto takes the best that this host allows, and says which.
	Backend string `yaml:"backend" oneof:"auto tun netstack proxy netem toxiproxy"`
	// Toxiproxy is the URL of the HTTP API of the Toxiproxy that backend toxiproxy drives.
	Toxiproxy string `yaml:"toxiproxy"`
	// Forget makes the link forget connections that were silent for so long, as a NAT does: nobody is told, and what is sent over them
	// vanishes. Backend proxy can do that.
	Forget time.Duration `yaml:"forget" max:"720h"`
	// CongestionControl is the TCP algorithm of both ends: cubic, reno, bbr. Absent: cubic if it can be had, else reno.
	CongestionControl string `yaml:"congestion_control"`

	Path `yaml:",inline"`

	// Up holds figures of the direction from device to broker alone; they come before those of both.
	Up Path `yaml:"up"`
	// Down holds figures of the direction from broker to device alone; they come before those of both.
	Down Path `yaml:"down"`
}

// Path are the figures of a link. Written directly below network they are those of both directions.
type Path struct {
	// Delay is the time from leaving the sender to arrival.
	Delay time.Duration `yaml:"delay" max:"1h"`
	// Jitter is how far the delay varies: half the range of a uniform distribution, the standard deviation of others.
	Jitter time.Duration `yaml:"jitter" max:"1h"`
	// Distribution is how delays vary around their mean.
	Distribution string `yaml:"distribution" oneof:"uniform normal pareto paretonormal"`
	// Correlation is that of one packet's delay with the next one's, 0 to below 1.
	Correlation Share `yaml:"correlation"`
	// Order is which packets keep their order when delays vary: none, those of a flow, or all.
	Order string `yaml:"order" oneof:"none flow link"`
	// Loss is the share of packets that are lost, for example 5%.
	Loss Share `yaml:"loss"`
	// Burst is the mean number of packets that are lost in a row; absent: losses are independent.
	Burst Packets `yaml:"burst"`
	// Duplicate is the share of packets that arrive twice.
	Duplicate Share `yaml:"duplicate"`
	// Corrupt is the share of packets in which a bit is turned over.
	Corrupt Share `yaml:"corrupt"`
	// FixChecksum lets TCP accept a corrupt packet, so that the application meets the wrong bit.
	FixChecksum bool `yaml:"fix_checksum"`
	// Rate is the capacity, for example 256kbit/s, which all connections share.
	Rate BitRate `yaml:"rate"`
	// Overhead is what each packet takes of the rate beyond its own size.
	Overhead Size `yaml:"overhead"`
	// Queue is how much may wait for the rate; absent: as much as leaves in a second.
	Queue Size `yaml:"queue"`
	// Mode is the order in which things happen: physical (wait, be sent, get lost, travel), or netem as Linux does it.
	Mode string `yaml:"mode" oneof:"physical netem"`
	// LossCorrelation is that of tc's "loss 5% 25%", in mode netem only: it makes losses far rarer. Use burst.
	LossCorrelation Share `yaml:"loss_correlation"`
	// QueuePackets is the limit of mode netem, in packets, delayed ones included.
	QueuePackets int `yaml:"queue_packets" min:"1" max:"1000000"`
}

// Share is a part of a whole, written 5% or 0.05.
type Share float64

// BitRate is a number of bits per second, written 256kbit/s.
type BitRate int64

// Packets is a mean number of packets.
type Packets float64

// NoLink is the link that is none.
const NoLink = "none"

// parseShare reads 5%, 0.05.
func parseShare(text string) (Share, error) {
	value, unit, err := number(text)
	switch {
	case err != nil:
		return 0, err
	case unit == "%":
		value /= 100
	case unit != "":
		return 0, fmt.Errorf("%q is no share: write 5%% or 0.05", text)
	}
	if value > 1 {
		return 0, fmt.Errorf("%q is more than all: write 5%% or 0.05", text)
	}
	return Share(value), nil
}

var bitUnits = map[string]float64{"bit": 1, "kbit": 1e3, "Mbit": 1e6, "mbit": 1e6, "Gbit": 1e9, "gbit": 1e9}

// parseBitRate reads 256kbit/s; the /s may be left out, as tc does.
func parseBitRate(text string) (BitRate, error) {
	value, unit, err := number(text)
	if err != nil {
		return 0, err
	}
	factor, ok := bitUnits[strings.TrimSuffix(unit, "/s")]
	bits := math.Round(value * factor)
	switch {
	case !ok:
		return 0, fmt.Errorf("%q is no capacity: write 256kbit/s; known units: bit/s, kbit/s (1000), Mbit/s, Gbit/s", text)
	case bits < 8 || bits > 1e12:
		return 0, fmt.Errorf("%q is out of range: 8bit/s to 1000Gbit/s", text)
	}
	return BitRate(bits), nil
}

// parsePackets reads a mean number of packets, such as 4 or 2.5.
func parsePackets(text string) (Packets, error) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(n >= 1 && n <= 1e6) {
		return 0, fmt.Errorf("%q is no mean number of packets: 1 to 1000000", text)
	}
	return Packets(n), nil
}

// Emulated reports whether the point has a link other than this host's own network.
func (p *Point) Emulated() bool {
	n := &p.Network
	return n.Link != "" && n.Link != NoLink || n.Forget > 0 || n.Path != Path{} || n.Up != Path{} || n.Down != Path{}
}

// Written reports whether a key was written, in the file, on the command line or in the matrix.
func (p *Point) Written(key string) bool { return p.written(key) }

// checkNetwork adds what is wrong with the network.
func (p *Point) checkNetwork(report reporter) {
	n := &p.Network
	figures := n.Path != Path{} || n.Up != Path{} || n.Down != Path{}
	switch {
	case n.Link == NoLink && figures:
		report("network.link", "is none, though figures of a link are written: remove one or the other")
	case !p.Emulated() && n.Link == "" && n.Backend != "auto":
		report("network.backend", "there is no link to make: set network.link")
	case !p.Emulated() && n.Link == "" && n.CongestionControl != "":
		report("network.congestion_control", "is that of a link's ends: set network.link")
	case n.Toxiproxy != "" && n.Backend != "toxiproxy":
		report("network.toxiproxy", "is for backend toxiproxy: set network.backend")
	}
}

// Over overrides the link, as the flag --link does.
func (s *Scenario) Over(link string) { s.set("--link "+link, "network.link", link) }

// LinkBy overrides the backend, as the flag --link-backend does.
func (s *Scenario) LinkBy(backend string) {
	s.set("--link-backend "+backend, "network.backend", backend)
}

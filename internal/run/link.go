package run

import (
	"time"

	"github.com/mqlab/mqlab/internal/link"
)

// Link is how the network between clients and brokers was made, and what it did. What it was to be is in plan.Params.
type Link struct {
	Backend string     `json:"backend"`       // that was taken
	Why     string     `json:"why,omitempty"` // it was taken
	Facts   link.Facts `json:"facts"`
	// SelfTest is whether such a link does what it is told, measured before the first trial that has it. Absent: it was not tested.
	SelfTest *LinkTest `json:"self_test,omitempty"`
	Up       *LinkWay  `json:"up,omitempty"` // absent: the backend does not count
	Down     *LinkWay  `json:"down,omitempty"`
	// Intervals are readings over the measure window, one after the other.
	Intervals []LinkInterval `json:"intervals,omitempty"`
	Outages   []link.Outage  `json:"outages,omitempty"`
	Agreement *LinkAgreement `json:"agreement,omitempty"`
}

// LinkTest is what probes found out about a link.
type LinkTest struct {
	Backend  string        `json:"backend"`
	Probes   string        `json:"probes,omitempty"` // datagrams or streams
	Took     time.Duration `json:"took_ns,omitempty"`
	Checks   []LinkCheck   `json:"checks,omitempty"`
	Untested []string      `json:"untested,omitempty"` // what was configured and could not be checked, and why
	Late     link.Lateness `json:"late"`
	Overrun  uint64        `json:"overrun_packets,omitempty"`
	Pass     bool          `json:"pass"`
	Why      []string      `json:"why,omitempty"` // it does not pass
}

// LinkCheck is one figure of one direction, configured beside achieved. Times are in nanoseconds, rates in bits per second.
type LinkCheck struct {
	Direction  string  `json:"direction"`
	What       string  `json:"what"` // delay, deviation, loss, burst, rate, queue
	Configured float64 `json:"configured"`
	Achieved   float64 `json:"achieved"`
	Low        float64 `json:"low"` // of its 95 % interval
	High       float64 `json:"high"`
	Tolerance  float64 `json:"tolerance"` // how far from configured it may be, beyond the interval
	Samples    int     `json:"samples"`
	Pass       bool    `json:"pass"`
}

// LinkWay is what became of the packets of one direction.
type LinkWay struct {
	Total    link.Counters `json:"total"`    // of the whole trial, connecting and drain included
	Measured link.Counters `json:"measured"` // of the measure window; in_flight and longest_wait_ns as they were at its end
	// TCP is what the TCP of this direction's sender has sent, seen packet by packet. Absent: the backend does not show packets.
	TCP *LinkTCP `json:"tcp,omitempty"`
}

// LinkInterval is what a link did since the interval before.
type LinkInterval struct {
	T    int64    `json:"t_ns"` // its end, since the measure window opened
	Up   LinkFlow `json:"up"`
	Down LinkFlow `json:"down"`
}

// LinkFlow is what went in one direction, in bytes at the network layer.
type LinkFlow struct {
	Offered  uint64        `json:"offered_bytes"`
	Carried  uint64        `json:"carried_bytes"`
	Lost     uint64        `json:"lost_bytes,omitempty"`
	Dropped  uint64        `json:"queue_dropped_bytes,omitempty"`
	Outage   uint64        `json:"outage_bytes,omitempty"`
	InFlight uint64        `json:"in_flight_bytes,omitempty"` // at its end
	Wait     time.Duration `json:"mean_wait_ns,omitempty"`    // for the rate, of the packets that were accepted
}

// LinkTCP are segments of TCP, of the whole trial and of the measure window.
type LinkTCP struct {
	Total    link.Segments `json:"total"`
	Measured link.Segments `json:"measured"`
	// Small are the segments with little in them, by size: keep-alives are among them.
	Small []LinkSmall `json:"small,omitempty"`
}

// LinkSmall are segments with one size of payload, of the measure window, and how they were acknowledged.
type LinkSmall struct {
	Payload int `json:"payload_bytes"`
	link.Small
}

// LinkAgreement compares the link's account of what devices sent with that of their TCP. The link is read before and after TCP is
// asked; of the two, or between them, the figures stand here that are nearest to TCP's.
type LinkAgreement struct {
	By string `json:"by"` // TCP_INFO of the sockets, or the stack's own counters
	// TCPBytes and LinkBytes are bytes of the streams, what was sent again included, for TCP_INFO; of packets for a stack.
	TCPBytes    uint64 `json:"tcp_bytes"`
	LinkBytes   uint64 `json:"link_bytes"`
	TCPPackets  uint64 `json:"tcp_packets"`
	LinkPackets uint64 `json:"link_packets"`
	// Segments that were sent again.
	TCPAgain  uint64 `json:"tcp_retransmitted"`
	LinkAgain uint64 `json:"link_retransmitted"`
	// Connections are those that were compared: all that were open.
	Connections int `json:"connections,omitempty"`
}

// Package monitor watches what a trial costs: CPU, memory, threads, descriptors and context switches of the broker's
// process tree and of the generator, and how busy the host is. It reads /proc once a second and belongs to Linux; on
// other systems it reports nothing.
//
// Counters are cumulative, so that any interval can be derived from two samples, and never go backwards: a process or
// thread that ends keeps the last value seen. What it used between that sample and its end, at most one interval, is
// not seen.
package monitor

import (
	"context"
	"time"
)

// The roles of what is watched.
const (
	Broker    = "broker"
	Generator = "generator"
	Host      = "host"
)

// Sample is what was seen of one role at one moment. What is not known is absent in its JSON form.
type Sample struct {
	T    int64  `json:"t_ns"` // CLOCK_MONOTONIC
	Role string `json:"role"`

	// Of a process tree.
	Processes      int        `json:"processes,omitempty"` // alive; the values below are sums over them
	CPUSeconds     float64    `json:"cpu_seconds,omitempty"`
	PSSBytes       uint64     `json:"pss_bytes,omitempty"` // shared pages divided among their users; not in every sample if costly
	RSSBytes       uint64     `json:"rss_bytes,omitempty"` // counts shared pages once for each process
	Threads        int        `json:"threads,omitempty"`
	FDs            int        `json:"fds,omitempty"`
	CtxVoluntary   uint64     `json:"ctx_voluntary,omitempty"`    // gave up the CPU to wait
	CtxInvoluntary uint64     `json:"ctx_involuntary,omitempty"`  // lost the CPU to others
	RunWaitSeconds float64    `json:"run_wait_seconds,omitempty"` // ready to run, but waited for a CPU; sum over threads
	Busiest        *Thread    `json:"busiest_thread,omitempty"`   // since the sample before; absent in the first one
	TCP            *TCPTotals `json:"tcp,omitempty"`              // of its connections
	Quota          *Quota     `json:"quota,omitempty"`            // of its CPU, where it is held to one

	// Of the host. Seconds are sums over its cores.
	Cores           int      `json:"cores,omitempty"`
	HostBusySeconds float64  `json:"host_busy_seconds,omitempty"` // user, nice, system and interrupts
	StealSeconds    float64  `json:"steal_seconds,omitempty"`     // taken by the hypervisor
	Load1           float64  `json:"load1,omitempty"`
	CPUPressure10   *float64 `json:"cpu_pressure_avg10,omitempty"` // per cent of the last 10 s in which some task waited for a CPU
}

// Thread is what one thread did between two samples.
type Thread struct {
	Name           string  `json:"name"`    // as the kernel has it, at most 15 bytes
	Seconds        float64 `json:"seconds"` // between the samples
	CPUSeconds     float64 `json:"cpu_seconds"`
	RunWaitSeconds float64 `json:"run_wait_seconds"` // ready to run, but waited for a CPU
}

// Quota counts the periods of a CPU quota, since it was set.
type Quota struct {
	Periods          uint64  `json:"periods"`           // in which there was something to do
	Throttled        uint64  `json:"throttled"`         // of these, in which it was used up
	ThrottledSeconds float64 `json:"throttled_seconds"` // of waiting for the next period, sum over cores
}

// TCPTotals are sums of what TCP_INFO says about connections, since each was made.
type TCPTotals struct {
	Sockets       uint64 `json:"sockets"`    // that were asked
	BytesSent     uint64 `json:"bytes_sent"` // payload of segments, retransmissions included
	BytesReceived uint64 `json:"bytes_received"`
	SegmentsOut   uint64 `json:"segments_out"`
	SegmentsIn    uint64 `json:"segments_in"`
	Retransmits   uint64 `json:"retransmits"` // segments sent again
}

// Add adds the totals of another connection.
func (t *TCPTotals) Add(o TCPTotals) {
	t.Sockets += o.Sockets
	t.BytesSent += o.BytesSent
	t.BytesReceived += o.BytesReceived
	t.SegmentsOut += o.SegmentsOut
	t.SegmentsIn += o.SegmentsIn
	t.Retransmits += o.Retransmits
}

// Target is what to watch besides the host.
type Target struct {
	Role string
	PIDs []int // the roots of its process tree
	// Roots, if set, tells them where they change, instead of PIDs.
	Roots func() []int
	Alone bool // only the processes PIDs themselves; for ourselves, whose children are the broker and the guard
	// TCP, if set, asks for the totals of its connections; false = not known.
	TCP func() (TCPTotals, bool)
}

// Run calls report for the host and each target at once, then every interval, and a last time when ctx ends. It
// returns after that. All calls come from the goroutine of Run.
func (m *Monitor) Run(ctx context.Context, every time.Duration, report func(Sample)) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		m.sample(report)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			m.sample(report)
			return
		}
	}
}

package run

import (
	"time"

	"github.com/mqlab/mqlab/internal/energy"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/plan"
)

// State says how a trial ended.
type State string

// How a trial can end. Cut is set by Open for a trial whose writer did not reach the end.
const (
	Finished State = "finished"
	Failed   State = "failed"
	Cut      State = "cut"
)

// TrialRecord is trial.json: what is known at the end of a trial. Pointers are nil where a value is unknown.
type TrialRecord struct {
	State   State      `json:"state"`
	Failure string     `json:"failure,omitempty"` // one line; why it failed
	Trial   plan.Trial `json:"trial"`
	Started time.Time  `json:"started,omitzero"`
	// MeasureStart is the CLOCK_MONOTONIC time at which the measure window opened: the zero of windows and events.
	MeasureStart int64         `json:"measure_start_ns,omitempty"`
	Broker       Broker        `json:"broker"`
	Client       Client        `json:"client"`
	Connections  Connections   `json:"connections"`
	Churn        *Churn        `json:"churn,omitempty"`
	Wire         *Wire         `json:"wire,omitempty"`
	Link         *Link         `json:"link,omitempty"` // absent: the host's own network
	Generator    Generator     `json:"generator"`
	Placement    *Placement    `json:"placement,omitempty"`
	Totals       []GroupTotal  `json:"totals,omitempty"`  // by window group; with what is known only at the end (lost, unconfirmed)
	Streams      []StreamTotal `json:"streams,omitempty"` // optional
	Members      []uint64      `json:"members,omitempty"` // deliveries to each member of a shared subscription
	Recovery     *Recovery     `json:"recovery,omitempty"`
	Radio        *Radio        `json:"radio,omitempty"`
	Stages       *Stages       `json:"stages,omitempty"`
	Idle         *Idle         `json:"idle,omitempty"`
	Checks       Checks        `json:"checks"`
}

// Broker is what was measured.
type Broker struct {
	Name    string           `json:"name"`
	Version string           `json:"version,omitempty"`
	Runtime string           `json:"runtime,omitempty"`
	Variant string           `json:"variant,omitempty"`
	Config  []Setting        `json:"config,omitempty"`
	Limits  map[string]int64 `json:"limits,omitempty"`
	// Memory (PSS) of its processes before the first connection, and when all were there, without load.
	PSSIdle      *uint64 `json:"pss_idle_bytes,omitempty"`
	PSSConnected *uint64 `json:"pss_connected_bytes,omitempty"`
	// PSSAfter is the same when load and churn were over and all clients had left; only where there was churn.
	PSSAfter *uint64 `json:"pss_after_bytes,omitempty"`
	Stderr   string  `json:"stderr,omitempty"` // its last lines, when it exited or refused
	// Throttling is over the measure window; MemoryPeak since the broker's start, page cache included. Both are known of a
	// broker that the lab holds to a machine.
	Throttling *Throttling `json:"throttling,omitempty"`
	MemoryPeak *uint64     `json:"memory_peak_bytes,omitempty"`
}

// Throttling is how often somebody used up a CPU quota and had to wait for the next period.
type Throttling struct {
	Periods   uint64 `json:"periods"`      // in which it wanted to run
	Throttled uint64 `json:"throttled"`    // of these, in which it had to wait
	Time      int64  `json:"throttled_ns"` // that it waited, summed over cores
}

// MemoryKill is the end of a broker that reached the memory limit of its machine.
type MemoryKill struct {
	Connections *int  `json:"connections,omitempty"` // that it had accepted by then; absent: it was not ready yet
	LimitBytes  int64 `json:"limit_bytes,omitempty"`
	Heap        bool  `json:"java_heap,omitempty"` // the limit is that of its Java heap
}

// Setting is one configuration value of a broker.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Source string `json:"source"` // effective (the broker told) or as written
}

// Client says how the generator spoke to the broker.
type Client struct {
	Protocol          string   `json:"protocol"`
	Name              string   `json:"name"`               // the client implementation; mqlab for its own sessions
	Engine            string   `json:"engine,omitempty"`   // loop or goroutine
	Loops             int      `json:"loops,omitempty"`    // event loops
	Quantum           string   `json:"quantum,omitempty"`  // precise, or a duration
	Send              string   `json:"send,omitempty"`     // io_uring or write, of event loops
	SendWhy           string   `json:"send_why,omitempty"` // why not io_uring
	Writes            string   `json:"writes,omitempty"`   // message (each alone), or batch
	KernelTimestamps  bool     `json:"kernel_timestamps"`
	NoDelay           bool     `json:"tcp_nodelay"`
	CongestionControl string   `json:"congestion_control,omitempty"`
	TLS               *TLS     `json:"tls,omitempty"`
	Guarantee         string   `json:"guarantee,omitempty"`  // of a publish: "at most once", "at least once", "exactly once"
	Durability        string   `json:"durability,omitempty"` // of what the broker took: "in memory", "stored", "durable"; absent: not known
	Window            int      `json:"window,omitempty"`     // unacknowledged messages in force per publisher
	ReceiveMaximum    int      `json:"broker_receive_maximum,omitempty"`
	Settings          []string `json:"settings,omitempty"` // anything else worth recording, key=value
}

// TLS says how a TLS connection was verified.
type TLS struct {
	Verified bool   `json:"verified"`
	Version  string `json:"version,omitempty"`
	Cipher   string `json:"cipher,omitempty"`
	Group    string `json:"group,omitempty"` // of the key exchange; absent: none was needed, or it is not told
	// Of all handshakes of the trial, records of TLS included, TCP and IP not.
	Handshakes uint64 `json:"handshakes,omitempty"`
	Resumed    uint64 `json:"resumed"`
	BytesUp    uint64 `json:"handshake_bytes_up,omitempty"`
	BytesDown  uint64 `json:"handshake_bytes_down,omitempty"`
}

// Connections counts connections over the whole trial. Attempted is every try, also to come back; Failed are those that
// never became ready; Lost were ready and died before the end.
type Connections struct {
	Attempted   uint64    `json:"attempted"`
	Established uint64    `json:"established"`
	Failed      uint64    `json:"failed"`
	Lost        uint64    `json:"lost"`
	Reconnected uint64    `json:"reconnected"`
	ReadyIn     int64     `json:"ready_in_ns,omitempty"` // from the first attempt until all were ready, before any load
	Failures    []Failure `json:"failures,omitempty"`
	Refusals    []Failure `json:"refusals,omitempty"` // of messages, by the broker's reason
}

// Churn counts the clients that were due, in the measure window, to connect and leave. Those that are neither made nor failed could
// not begin: as many were on their way as may be at one time.
type Churn struct {
	Due      uint64    `json:"due"`
	Made     uint64    `json:"made"` // the broker accepted them
	Failed   uint64    `json:"failed"`
	Failures []Failure `json:"failures,omitempty"`
}

// Stages are how many messages due in the measure window were written to sockets, and acknowledged by the TCP of the broker's host. Of
// TLS connections these are at least so many.
type Stages struct {
	Written  uint64 `json:"written"`
	TCPAcked uint64 `json:"tcp_acked"`
	// The same at the end of the measure window.
	WrittenAtEnd  *uint64 `json:"written_at_measure_end,omitempty"`
	TCPAckedAtEnd *uint64 `json:"tcp_acked_at_measure_end,omitempty"`
}

// Idle is for how long connections could be silent, where publishers have intervals of their own.
type Idle struct {
	Survived *int64 `json:"survived_ns,omitempty"` // the longest, up to which all connections went on; absent: none did
	Failed   *int64 `json:"failed_ns,omitempty"`   // the shortest after which a message did not arrive; absent: all did
}

// Radio is how long the radios of devices would have been on in the measure window, by models.
type Radio struct {
	Devices int          `json:"devices"` // that sent or received anything
	Span    int64        `json:"span_ns"` // of the window
	Uses    []energy.Use `json:"uses"`
}

// Recovery is what became of connections in outages, and of the messages that waited for subscribers meanwhile. Messages are counted
// of subscribers that have their streams to themselves.
type Recovery struct {
	Outages  uint64  `json:"outages"`                    // that began
	Affected uint64  `json:"affected"`                   // connections that were there when one did, summed over them
	Noticed  uint64  `json:"noticed"`                    // … that were lost by it
	Returned uint64  `json:"returned"`                   // … and ready again
	Resumed  *uint64 `json:"sessions_present,omitempty"` // … for which the broker had kept the session; MQTT
	Backlog  uint64  `json:"backlog"`                    // messages sent before their subscriber was back, and kept for it
	Largest  uint64  `json:"largest_backlog"`            // of one subscriber after one outage
	Missed   uint64  `json:"missed"`                     // likewise sent before, and not kept
	Oldest   uint64  `json:"oldest_dropped"`             // … sent before all that was kept for the same subscriber
	Newest   uint64  `json:"newest_dropped"`             // … sent after all that was kept
}

// Failure counts connection failures of one reason.
type Failure struct {
	Reason string `json:"reason"`
	Count  uint64 `json:"count"`
}

// Wire counts what the generator's sockets carried in the whole trial, by the kernel's account (TCP_INFO).
type Wire struct {
	WireTotals
	Publishers  *WireTotals `json:"publishers,omitempty"`  // of their connections alone
	Subscribers *WireTotals `json:"subscribers,omitempty"` // likewise
}

// WireTotals are sums over connections that were open when the drain ended.
type WireTotals struct {
	BytesUp       *uint64 `json:"bytes_up,omitempty"`   // generator to broker
	BytesDown     *uint64 `json:"bytes_down,omitempty"` // broker to generator
	SegmentsUp    *uint64 `json:"segments_up,omitempty"`
	SegmentsDown  *uint64 `json:"segments_down,omitempty"`
	Retransmitted *uint64 `json:"retransmitted_segments,omitempty"`
	LostSegments  *uint64 `json:"lost_segments,omitempty"`
	Reordering    *uint64 `json:"reordering_segments,omitempty"`
}

// Placement is which cores of this host brokers and generator could run on, as the kernel told when all were running.
type Placement struct {
	BrokerCores    string `json:"broker_cores,omitempty"` // as the kernel lists them: 0-1,4; absent: not known
	GeneratorCores string `json:"generator_cores,omitempty"`
	Shared         *bool  `json:"shared,omitempty"` // a core is in both lists; absent: one of them is not known
	Why            string `json:"why,omitempty"`    // pinned, or not
}

// Generator is what the load generator itself used, over the measure window.
type Generator struct {
	Processes    int      `json:"processes,omitempty"`
	CPUSeconds   *float64 `json:"cpu_seconds,omitempty"`  // of the process, deliberate spinning included
	SpinSeconds  *float64 `json:"spin_seconds,omitempty"` // of these, spent waiting precisely for a due time
	Cores        float64  `json:"cores,omitempty"`        // what it was given
	RSSBytes     *uint64  `json:"rss_bytes,omitempty"`    // at most
	GCPauseTotal *int64   `json:"gc_pause_total_ns,omitempty"`
	GCPauseMax   *int64   `json:"gc_pause_max_ns,omitempty"`
	SkippedSends uint64   `json:"skipped_sends,omitempty"`
	// Throttling is that of the control group with a CPU quota that this program is in; nil = there is none, or it is not known.
	Throttling *Throttling `json:"throttling,omitempty"`
}

// GroupTotal is the final ledger of one window group.
type GroupTotal struct {
	Group  string        `json:"group"`
	Counts ledger.Counts `json:"counts"`
}

// StreamTotal is the final ledger of one stream.
type StreamTotal struct {
	Stream uint32        `json:"stream"`
	Counts ledger.Counts `json:"counts"`
}

// Checks are the facts that decide whether a trial may be believed. The zero value of a field is the good one, except
// SubscribersReady and Measured.
type Checks struct {
	SubscribersReady bool   `json:"subscribers_ready"`         // every subscription was confirmed before publishing began
	Measured         int64  `json:"measured_ns"`               // actual length of the measure window
	SamplesDropped   uint64 `json:"samples_dropped,omitempty"` // records that samples.bin lacks
	HoleOverflow     bool   `json:"hole_overflow,omitempty"`   // a stream had more open holes than the ledger holds
	LedgerMismatch   string `json:"ledger_mismatch,omitempty"` // a sum that does not come out, in words
	Interrupted      bool   `json:"interrupted,omitempty"`     // the user stopped it
	Stopped          string `json:"stopped,omitempty"`         // why its end was not waited for: its answer was certain
	BrokerExited     string `json:"broker_exited,omitempty"`   // how, if it did while it was measured
	// KilledForMemory says that the broker's end was that; MemoryKills counts processes of it that ended so while it went on.
	KilledForMemory  *MemoryKill `json:"killed_for_memory,omitempty"`
	MemoryKills      uint64      `json:"memory_kills,omitempty"`
	ClockUncertainty int64       `json:"clock_uncertainty_ns,omitempty"` // of kernel timestamps
}

// Event is a moment of a trial's timeline.
type Event struct {
	T    int64  `json:"t_ns"` // since the measure window opened
	Kind string `json:"kind"` // pause, resume, disconnect, reconnect, broker_exit, …
	Text string `json:"text,omitempty"`
}

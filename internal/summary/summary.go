// Package summary folds what a run left behind into what is reported: counts, rates, percentiles, resources, verdicts of
// validity and comparisons. It is pure, and it is the only source of figures for every report: Of makes a Summary of a
// Run, and a Summary marshals to the JSON that `mqlab report --format json` prints.
//
// Two rules hold throughout. Unknown is absent: a figure that is not known is a nil pointer and no field in JSON, never
// zero. And nothing flatters: percentiles are over the messages expected, so that a lost message is later than any other;
// a percentile that falls among the lost, or that there are too few messages for, does not exist.
package summary

import (
	"time"

	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
)

// Schema is the version of the JSON form. Fields may be added to a version, never changed.
const Schema = 1

// Summary is everything that is reported about a run.
type Summary struct {
	Schema      int          `json:"schema"`
	Run         Run          `json:"run"`
	Trials      []Trial      `json:"trials"`
	Cells       []Cell       `json:"cells"`
	Comparisons []Comparison `json:"comparisons"`
}

// Run says what was run, where and when.
type Run struct {
	ID            string    `json:"id"`
	Scenario      string    `json:"scenario"`
	Description   string    `json:"description,omitempty"`
	Seed          uint64    `json:"seed"`
	Started       time.Time `json:"started"`
	Command       []string  `json:"command,omitempty"`
	Host          run.Host  `json:"host"`
	TrialsPlanned int       `json:"trials_planned"`
	Needs         []string  `json:"needs,omitempty"` // of links, said beforehand
	Complete      bool      `json:"complete"`        // every planned trial was run to its end
}

// Trial is one subject under one load, once.
type Trial struct {
	ID         int         `json:"id"`
	Cell       int         `json:"cell"`
	Point      int         `json:"point"`
	Repetition int         `json:"repetition"`
	Started    time.Time   `json:"started,omitzero"`
	State      run.State   `json:"state"`
	Failure    string      `json:"failure,omitempty"`
	Subject    Subject     `json:"subject"`
	Params     plan.Params `json:"params"`
	Promise
	Validity    Validity       `json:"validity"`
	Reasons     []Reason       `json:"reasons"`
	Measured    *int64         `json:"measured_ns,omitempty"`
	Counts      Counts         `json:"counts"`
	Rates       Rates          `json:"rates"`
	Latency     Latency        `json:"latency"`
	Generator   Generator      `json:"generator"`
	Placement   *run.Placement `json:"placement,omitempty"`
	Broker      Broker         `json:"broker"`
	Host        *HostLoad      `json:"host,omitempty"`
	Client      run.Client     `json:"client"`
	Connections *Connections   `json:"connections,omitempty"`
	Churn       *Churn         `json:"churn,omitempty"`
	Wire        *run.Wire      `json:"wire,omitempty"`
	Link        *Link          `json:"link,omitempty"` // absent: the host's own network
	Sharing     *Sharing       `json:"sharing,omitempty"`
	Recovery    *Recovery      `json:"recovery,omitempty"`
	Energy      *Energy        `json:"energy,omitempty"`
	Stages      *Stages        `json:"stages,omitempty"`
	Idle        *run.Idle      `json:"idle,omitempty"`
	Bottleneck  *Bottleneck    `json:"bottleneck,omitempty"`
	Events      []run.Event    `json:"events,omitempty"`
	// Findings are why messages were slow, the largest share of the excess latency first; one of cause none where nothing is to be
	// explained. Empty: it cannot be diagnosed.
	Findings  []diagnose.FindingSaid `json:"findings"`
	diagnosis *diagnose.Result       // nil where there is none
	delivered uint64                 // inside the measure window
}

// Subject is what was measured.
type Subject struct {
	Name      string   `json:"name"`
	Broker    string   `json:"broker"`
	Version   string   `json:"broker_version,omitempty"`
	Runtime   string   `json:"runtime"`
	Variant   string   `json:"variant"`
	URL       string   `json:"url,omitempty"`
	Publish   Endpoint `json:"publish"`
	Subscribe Endpoint `json:"subscribe"`
}

// Endpoint is how one side spoke to the broker.
type Endpoint struct {
	Protocol string `json:"protocol"`
	Client   string `json:"client"`
}

// Counts are numbers of messages; see ledger.Counts for each. What is not known is absent: the fate of the messages of a
// trial that was cut, and acknowledgements where the protocol gives none.
type Counts struct {
	Offered           *uint64 `json:"offered,omitempty"`
	Sent              *uint64 `json:"sent,omitempty"`
	Unsent            *uint64 `json:"unsent,omitempty"`
	Acked             *uint64 `json:"acked,omitempty"`
	Unconfirmed       *uint64 `json:"unconfirmed,omitempty"`
	Refused           *uint64 `json:"refused,omitempty"`
	Expected          *uint64 `json:"expected,omitempty"`
	Received          *uint64 `json:"received,omitempty"`
	Delivered         *uint64 `json:"delivered,omitempty"`
	Drained           *uint64 `json:"drained,omitempty"`
	Late              *uint64 `json:"late,omitempty"`
	Lost              *uint64 `json:"lost,omitempty"`
	UndeliveredUnsent *uint64 `json:"undelivered_unsent,omitempty"`
	Duplicates        *uint64 `json:"duplicates,omitempty"`
	Reordered         *uint64 `json:"reordered,omitempty"`
	MaxReorder        *uint64 `json:"max_reorder,omitempty"`
	Corrupt           *uint64 `json:"corrupt,omitempty"`
	Foreign           *uint64 `json:"foreign,omitempty"`
	ClockSkew         *uint64 `json:"clock_skew,omitempty"`
	Resent            *uint64 `json:"resent,omitempty"`
}

// Rates are per second of the measure window. Sent and delivered count what happened inside it, whatever the due time; a
// backlog drained afterwards is not in them.
type Rates struct {
	Offered   *float64 `json:"offered_per_s,omitempty"`
	Sent      *float64 `json:"sent_per_s,omitempty"`
	Delivered *float64 `json:"delivered_per_s,omitempty"`
	Expected  *float64 `json:"expected_per_s,omitempty"` // deliveries that the offered messages should cause
	Achieved  *float64 `json:"achieved_ratio,omitempty"` // delivered of expected; above 1 where messages of the warm-up arrived
}

// Generator is the load generator's own account over the measure window.
type Generator struct {
	Lateness      *Quantiles `json:"lateness,omitempty"`
	CPUSeconds    *float64   `json:"cpu_seconds,omitempty"` // without deliberate spinning
	SpinSeconds   *float64   `json:"spin_seconds,omitempty"`
	Cores         *float64   `json:"cores,omitempty"`
	CPUPerMessage *float64   `json:"cpu_ns_per_message,omitempty"` // cpu_seconds by messages sent and received in the window
	RSSBytes      *uint64    `json:"rss_bytes,omitempty"`
	Processes     int        `json:"processes,omitempty"`
	GCPauseTotal  *int64     `json:"gc_pause_total_ns,omitempty"`
	GCPauseMax    *int64     `json:"gc_pause_max_ns,omitempty"`
	SkippedSends  *uint64    `json:"skipped_sends,omitempty"`
	Throttled     *float64   `json:"throttled_ratio,omitempty"` // periods in which it used up the CPU quota that it is held to
}

// Broker is what the broker's processes used over the measure window. 100 percent is one core.
type Broker struct {
	CPUSeconds     *float64 `json:"cpu_seconds,omitempty"`
	CPUPercentMean *float64 `json:"cpu_percent_mean,omitempty"`
	CPUPercentMax  *float64 `json:"cpu_percent_max,omitempty"` // of the busiest interval between two samples that the window touches
	CPUPerDelivery *float64 `json:"cpu_ns_per_delivery,omitempty"`
	PSSBytesMean   *uint64  `json:"pss_bytes_mean,omitempty"`
	PSSBytesMax    *uint64  `json:"pss_bytes_max,omitempty"`
	// PSS before the first connection, when all were there, and after churn, when all had left; and what each connection took,
	// where they are enough to tell.
	PSSBytesIdle       *uint64 `json:"pss_bytes_idle,omitempty"`
	PSSBytesConnected  *uint64 `json:"pss_bytes_connected,omitempty"`
	PSSBytesAfter      *uint64 `json:"pss_bytes_after,omitempty"`
	BytesPerConnection *int64  `json:"bytes_per_connection,omitempty"`

	// Of the thread that was busiest in each second: the part of the time it ran, and that it was ready to run but had no CPU.
	ThreadBusy   *float64 `json:"busiest_thread_ratio,omitempty"`
	ThreadWaited *float64 `json:"busiest_thread_waited_ratio,omitempty"`
	ThreadName   string   `json:"busiest_thread,omitempty"`

	RSSBytesMax *uint64          `json:"rss_bytes_max,omitempty"`
	ThreadsMax  *int             `json:"threads_max,omitempty"`
	FDsMax      *int             `json:"fds_max,omitempty"`
	Config      []run.Setting    `json:"config,omitempty"`
	Limits      map[string]int64 `json:"limits,omitempty"`
	Stderr      string           `json:"stderr,omitempty"`
	// Of a broker that is held to a machine: periods of 100 ms in which it used up its CPU, of those in which it wanted to
	// run; how long it waited so; and the most memory it had since its start, page cache included.
	ThrottledRatio  *float64 `json:"throttled_ratio,omitempty"`
	ThrottledTime   *int64   `json:"throttled_ns,omitempty"`
	MemoryPeakBytes *uint64  `json:"memory_peak_bytes,omitempty"`
}

// HostLoad is what the whole machine did over the measure window, as ratios of its cores.
type HostLoad struct {
	Steal  *float64 `json:"steal_ratio,omitempty"`  // taken by other guests of the hypervisor
	Busy   *float64 `json:"busy_ratio,omitempty"`   // everything, ours included
	Others *float64 `json:"others_ratio,omitempty"` // busy, without broker and generator
}

// Connections are counts over the whole trial and the time from dialling to ready.
type Connections struct {
	run.Connections
	PerSecond *float64 `json:"connect_per_s,omitempty"` // connections that became ready, by ready_in_ns

	Connect  *Quantiles `json:"connect,omitempty"`
	TCP      *Quantiles `json:"connect_tcp,omitempty"`      // the part of it until TCP was established
	TLS      *Quantiles `json:"connect_tls,omitempty"`      // the part of it that the TLS handshake took
	Protocol *Quantiles `json:"connect_protocol,omitempty"` // the part of it that the protocol took, subscriptions included
	Outage   *Quantiles `json:"outage,omitempty"`           // of lost connections: from their loss until they were ready again
}

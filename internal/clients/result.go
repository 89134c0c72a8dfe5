// Package clients compares client libraries: what each adds between the socket and the callback, measured by the instrumented broker with
// the libraries as they are.
//
// Two figures are ranked. Drain is the work per message: messages are queued while the client is stopped, and what it takes from there to
// the last callback holds no sender and no wake-up. Lone is the time of a single message from the begin of the broker's write to the
// callback, of all clients in turn, each message paired with that of the floor. Time within the callback is shown, and is no latency.
package clients

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mqlab/mqlab/internal/stat"
)

// Result is what a comparison found. Durations are ns.
type Result struct {
	Schema  int       `json:"schema"`
	Seed    uint64    `json:"seed"`
	Host    Isolation `json:"isolation"`
	Clients []Client  `json:"clients"`
	Skipped []Skipped `json:"skipped,omitempty"`
	Cells   []Cell    `json:"cells"`
	Rank    []Ranking `json:"rankings"`

	Variant    *Variant    `json:"options,omitempty"`     // named options that were set
	Untraced   string      `json:"untraced,omitempty"`    // why the kernel's events could not be read
	Scaled     []Scaled    `json:"connections,omitempty"` // several at once
	Leaks      []Leak      `json:"leaks,omitempty"`
	Reconnects []Reconnect `json:"reconnects,omitempty"`
	KeepAlives []KeepAlive `json:"keepalives,omitempty"`
}

// Isolation is how the clients were kept apart from the rest of the host.
type Isolation struct {
	Pinned   bool   `json:"pinned"`   // clients on one core, the sender on another
	RealTime bool   `json:"realtime"` // SCHED_RR for both
	Why      string `json:"why,omitempty"`
	cores    []int  // of sender and clients; nil = any
}

// Client is a library that was compared.
type Client struct {
	Name     string `json:"client"`
	Language string `json:"language"`
	Library  string `json:"library"`
	Version  string `json:"version,omitempty"`
	Protocol string `json:"protocol"`
	Floor    bool   `json:"floor,omitempty"` // a socket and no library
}

// Skipped is a library that was not compared.
type Skipped struct {
	Name string `json:"client"`
	Why  string `json:"why"`
}

// Cell is one client with one payload and QoS.
type Cell struct {
	Client   string `json:"client"`
	Payload  int    `json:"payload_bytes"`
	QoS      int    `json:"qos"`
	Invalid  string `json:"invalid,omitempty"` // why it is no result
	Messages int    `json:"messages"`          // sent
	Received int    `json:"received"`          // of these, by the callback, each once
	// Drain is the work per message of each round; absent where a client could not be drained.
	Drain []float64 `json:"drain_rounds_ns,omitempty"`
	// Lone is the latency of a single message: quantiles, and of each round the median difference to the floor of C.
	Lone        *Lone     `json:"lone,omitempty"`
	Excess      []float64 `json:"excess_rounds_ns,omitempty"`
	InCallback  float64   `json:"in_callback_p50_ns,omitempty"`   // what a clock inside the callback sees: not a latency
	CPU         float64   `json:"cpu_per_message_ns,omitempty"`   // of all threads, while draining; absent where an agent cannot tell
	CPURounds   []float64 `json:"cpu_rounds_ns,omitempty"`        // the same of each round
	Jitter      []float64 `json:"jitter_rounds_ns,omitempty"`     // of each round the 90th percentile of single messages less their median
	WaitRatio   float64   `json:"wait_ratio,omitempty"`           // ready without a core, of the time, with single messages
	Switches    float64   `json:"switches_per_message,omitempty"` // voluntary, with single messages
	Faults      float64   `json:"faults_per_message,omitempty"`
	Calls       float64   `json:"io_calls_per_message,omitempty"` // system calls that read or write, while draining
	Allocations *float64  `json:"allocations_per_message,omitempty"`
	Allocated   *float64  `json:"allocated_per_message_bytes,omitempty"`
	Pauses      int       `json:"pauses"` // of the runtime that were seen
	PauseMax    int64     `json:"pause_max_ns,omitempty"`
	Resident    uint64    `json:"rss_bytes,omitempty"`
	Threads     int       `json:"threads,omitempty"`

	Involuntary   float64    `json:"involuntary_switches_per_message,omitempty"` // with single messages
	QueueDrops    uint64     `json:"queue_drops,omitempty"`                      // by the program's own queue, which was full
	Syscalls      *float64   `json:"syscalls_per_message,omitempty"`             // of every kind, with single messages
	SyscallsDrain *float64   `json:"syscalls_per_message_drain,omitempty"`       // and while draining
	Breakdown     *Breakdown `json:"breakdown,omitempty"`
	Paced         *Paced     `json:"paced,omitempty"`
	Burst         *Burst     `json:"burst,omitempty"`
}

// Lone is the latency of single messages, from the begin of the write to the callback.
type Lone struct {
	Count int     `json:"count"`
	Min   float64 `json:"min_ns"`
	P50   float64 `json:"p50_ns"`
	P90   float64 `json:"p90_ns"`
	P99   float64 `json:"p99_ns,omitempty"` // needs 1,000 messages
}

// Metric is what clients are ranked by.
type Metric string

// The metrics of rankings.
const (
	Drain  Metric = "drain"  // work per message
	Excess Metric = "excess" // what is added to a single message
	CPU    Metric = "cpu"    // CPU per message, while draining
	Jitter Metric = "jitter" // how far single messages scatter
)

// Metrics are those that clients are ranked by, in the order of reports.
var Metrics = []Metric{Drain, Excess, Jitter, CPU}

// Rounds are the values of a metric, one of each round.
func (c *Cell) Rounds(m Metric) []float64 {
	switch m {
	case Excess:
		return c.Excess
	case CPU:
		return c.CPURounds
	case Jitter:
		return c.Jitter
	}
	return c.Drain
}

// Ranking is the order of the clients by one metric, with one payload and QoS. Clients with a common mark cannot be told apart.
type Ranking struct {
	Metric  Metric   `json:"metric"`
	Payload int      `json:"payload_bytes"`
	QoS     int      `json:"qos"`
	Rows    []Ranked `json:"rows"`
}

// Ranked is a place in a ranking.
type Ranked struct {
	Client string  `json:"client"`
	Median float64 `json:"median_ns"`
	Low    float64 `json:"ci_low_ns"` // 95 % interval of the median, over the rounds
	High   float64 `json:"ci_high_ns"`
	Marks  string  `json:"marks"`
}

// Cell returns the cell of a client, nil if there is none.
func (r *Result) Cell(client string, payload, qos int) *Cell {
	i := slices.IndexFunc(r.Cells, func(c Cell) bool { return c.Client == client && c.Payload == payload && c.QoS == qos })
	if i < 0 {
		return nil
	}
	return &r.Cells[i]
}

// Point is what clients are compared at.
type Point struct {
	Payload int `json:"payload_bytes"`
	QoS     int `json:"qos"`
}

// String names a point: "256 B, QoS 0".
func (p Point) String() string { return fmt.Sprintf("%s, QoS %d", Size(p.Payload), p.QoS) }

// Size writes a payload exactly, in the largest unit that allows that.
func Size(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}

// Points are those of the cells, in their order.
func (r *Result) Points() (points []Point) {
	for i := range r.Cells {
		if p := r.Cells[i].point(); !slices.Contains(points, p) {
			points = append(points, p)
		}
	}
	return points
}

func (c *Cell) point() Point { return Point{c.Payload, c.QoS} }

// Ranking returns the order by a metric at a point, nil if there is none.
func (r *Result) Ranking(m Metric, p Point) *Ranking {
	i := slices.IndexFunc(r.Rank, func(k Ranking) bool { return k.Metric == m && k.Payload == p.Payload && k.QoS == p.QoS })
	if i < 0 {
		return nil
	}
	return &r.Rank[i]
}

// rank makes the rankings of all points, floors left out: they are what others are compared with.
func (r *Result) rank() {
	for _, p := range r.Points() {
		for _, m := range Metrics {
			if ranking := r.rankBy(m, p.Payload, p.QoS); len(ranking.Rows) > 0 {
				r.Rank = append(r.Rank, ranking)
			}
		}
	}
}

func (r *Result) rankBy(m Metric, payload, qos int) Ranking {
	ranking := Ranking{Metric: m, Payload: payload, QoS: qos}
	var names []string
	var samples [][]float64
	for _, k := range r.Clients {
		c := r.Cell(k.Name, payload, qos)
		if c == nil || c.Invalid != "" || k.Floor {
			continue
		}
		if rounds := c.Rounds(m); len(rounds) > 0 {
			names, samples = append(names, k.Name), append(samples, rounds)
		}
	}
	groups := stat.Groups(samples, r.Seed)
	for _, i := range groups.Order {
		row := Ranked{Client: names[i], Median: stat.Median(samples[i]), Marks: groups.Marks[i]}
		if ci, ok := stat.BootstrapCI(samples[i]); ok {
			row.Low, row.High = ci.Low, ci.High
		}
		ranking.Rows = append(ranking.Rows, row)
	}
	return ranking
}

// quantile is that of a list, by nearest rank.
func quantile(sorted []float64, q float64) float64 {
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func sorted(list []float64) []float64 {
	list = slices.Clone(list)
	slices.SortFunc(list, cmp.Compare)
	return list
}

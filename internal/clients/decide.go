package clients

import (
	"fmt"
	"math"
	"slices"

	"github.com/mqlab/mqlab/agents"
	"github.com/mqlab/mqlab/internal/stat"
)

// Decision is what a comparison says about the choice of a library. It is a fold of the result.
type Decision struct {
	Matrix  []Matrix  `json:"matrix"`
	Choices []Choice  `json:"recommendations"`
	Figures []Figures `json:"figures"`
	Efforts []Effort  `json:"efforts"`
}

// Effort is what a library asks of those who write a program.
type Effort struct {
	Client string `json:"client"`
	Lines  int    `json:"lines"` // to connect, subscribe and receive, counted in the agent's source
	Traps  []Trap `json:"traps"`
}

// Matrix holds what speaks for and against each library at one point.
type Matrix struct {
	Point
	Rows []Traits `json:"rows"`
}

// Traits are those of one library. What is not known is absent.
type Traits struct {
	Client    string  `json:"client"`
	PerSecond *Figure `json:"messages_per_s,omitempty"` // that one client takes with nothing else to do: the inverse of its work per message
	Added     *Figure `json:"added_ns,omitempty"`       // to a single message, beyond the floor of C
	Jitter    *Figure `json:"jitter_ns,omitempty"`
	CPU       *Figure `json:"cpu_per_message_ns,omitempty"`
	Memory    uint64  `json:"rss_bytes,omitempty"`
	LeastMem  bool    `json:"rss_best,omitempty"` // within MemoryTie of the least
	Lines     int     `json:"lines"`
	Traps     int     `json:"traps"`
}

// Figure is a median with its interval.
type Figure struct {
	Median float64 `json:"median"`
	Low    float64 `json:"ci_low"`
	High   float64 `json:"ci_high"`
	Marks  string  `json:"marks,omitempty"` // two without a common one are different
	Best   bool    `json:"best,omitempty"`  // cannot be told apart from the best, as others can
}

// Figures are what the rounds of a client, floors included, say by each metric.
type Figures struct {
	Client string `json:"client"`
	Point
	Of map[Metric]*Figure `json:"by"`
}

// Use is what a library is chosen for.
type Use string

// The uses, in the order of reports.
const (
	ForLatency    Use = "latency"
	ForJitter     Use = "jitter"
	ForThroughput Use = "throughput"
	ForCPU        Use = "cpu"
	ForMemory     Use = "memory"
	ForEffort     Use = "effort"
)

// Uses are all of them.
var Uses = []Use{ForLatency, ForJitter, ForThroughput, ForCPU, ForMemory, ForEffort}

// metricOf is what a use is decided by, "" where there are no rounds.
var metricOf = map[Use]Metric{ForLatency: Excess, ForJitter: Jitter, ForThroughput: Drain, ForCPU: CPU}

// Choice is the best library for a use at a point, or those that cannot be told apart from it. Effort is the same at all points.
type Choice struct {
	Use     Use      `json:"use"`
	Point   *Point   `json:"point,omitempty"`
	Best    []string `json:"best"`          // the first has the best median
	Decided bool     `json:"decided"`       // false: none of those compared can be told apart from the best
	Why     string   `json:"why,omitempty"` // it is not decided
	Unknown []string `json:"unknown,omitempty"`
}

// MemoryTie is how much more memory than the least counts as no difference: memory is read of one process, without repetition.
const MemoryTie = 0.10

// Decide folds a result.
func Decide(r *Result) *Decision {
	d := &Decision{}
	names := r.libraries()
	for _, name := range names {
		d.Efforts = append(d.Efforts, Effort{name, agents.Lines(name), Traps(name)})
	}
	for _, p := range r.Points() {
		d.Matrix = append(d.Matrix, r.matrix(p, names))
		for _, use := range Uses[:len(Uses)-1] {
			d.Choices = append(d.Choices, r.choose(use, p, names))
		}
	}
	if len(names) > 0 {
		d.Choices = append(d.Choices, leastEffort(d.Efforts))
	}
	for i := range r.Cells {
		d.Figures = append(d.Figures, r.figures(&r.Cells[i]))
	}
	return d
}

func (r *Result) figures(c *Cell) Figures {
	f := Figures{c.Client, c.point(), map[Metric]*Figure{}}
	for _, m := range Metrics {
		if x := r.Figure(m, f.Point, c.Client); x != nil {
			f.Of[m] = x
		}
	}
	return f
}

// libraries are the clients that are compared, floors left out.
func (r *Result) libraries() (names []string) {
	for _, k := range r.Clients {
		if !k.Floor {
			names = append(names, k.Name)
		}
	}
	return names
}

func (r *Result) matrix(p Point, names []string) Matrix {
	m := Matrix{Point: p}
	least := r.leastMemory(p, names)
	for _, name := range names {
		c := r.Cell(name, p.Payload, p.QoS)
		if c == nil || c.Invalid != "" {
			continue
		}
		t := Traits{
			Client: name, PerSecond: r.Figure(Drain, p, name).inverse(), Added: r.Figure(Excess, p, name), Jitter: r.Figure(Jitter, p, name),
			CPU: r.Figure(CPU, p, name), Memory: c.Resident, Lines: agents.Lines(name), Traps: len(Traps(name)),
		}
		t.LeastMem = slices.Contains(least, name)
		m.Rows = append(m.Rows, t)
	}
	return m
}

// Figure is what the rounds of a client say by a metric, with its marks in the ranking if it is ranked; nil if nothing is known.
func (r *Result) Figure(m Metric, p Point, client string) *Figure {
	c := r.Cell(client, p.Payload, p.QoS)
	if c == nil || c.Invalid != "" || len(c.Rounds(m)) == 0 {
		return nil
	}
	f := &Figure{Median: stat.Median(c.Rounds(m))}
	if ci, ok := stat.BootstrapCI(c.Rounds(m)); ok {
		f.Low, f.High = ci.Low, ci.High
	}
	if k := r.Ranking(m, p); k != nil {
		for _, row := range k.Rows {
			if row.Client == client {
				f.Marks = row.Marks
				f.Best = alike(row.Marks, k.Rows[0].Marks) && slices.ContainsFunc(k.Rows, func(o Ranked) bool { return !alike(o.Marks, k.Rows[0].Marks) })
			}
		}
	}
	return f
}

// inverse turns ns per message into messages per second.
func (f *Figure) inverse() *Figure {
	if f == nil || f.Median <= 0 {
		return nil
	}
	i := &Figure{Median: 1e9 / f.Median, Marks: f.Marks, Best: f.Best}
	if f.Low > 0 && f.High > 0 {
		i.Low, i.High = 1e9/f.High, 1e9/f.Low
	}
	return i
}

// alike: two that share a mark cannot be told apart.
func alike(a, b string) bool {
	return slices.ContainsFunc([]rune(a), func(m rune) bool { return slices.Contains([]rune(b), m) })
}

func (r *Result) choose(use Use, p Point, names []string) Choice {
	c := Choice{Use: use, Point: &p}
	if use == ForMemory {
		c.Best = r.leastMemory(p, names)
		known := 0
		for _, name := range names {
			if k := r.Cell(name, p.Payload, p.QoS); k != nil && k.Invalid == "" && k.Resident > 0 {
				known++
			} else {
				c.Unknown = append(c.Unknown, name)
			}
		}
		c.settle(known, 0)
		return c
	}
	k := r.Ranking(metricOf[use], p)
	for _, name := range names {
		if f := r.Figure(metricOf[use], p, name); f == nil {
			c.Unknown = append(c.Unknown, name)
		}
	}
	if k == nil {
		c.settle(0, 0)
		return c
	}
	for _, row := range k.Rows {
		if alike(row.Marks, k.Rows[0].Marks) {
			c.Best = append(c.Best, row.Client)
		}
	}
	c.settle(len(k.Rows), r.rounds(k))
	return c
}

// rounds is the smallest number of rounds of those in a ranking.
func (r *Result) rounds(k *Ranking) int {
	least := math.MaxInt
	for _, row := range k.Rows {
		least = min(least, len(r.Cell(row.Client, k.Payload, k.QoS).Rounds(k.Metric)))
	}
	return least
}

// settle says whether there is a best among so many that were compared, and if not, why.
func (c *Choice) settle(compared, rounds int) {
	switch need := RoundsFor(compared); {
	case compared == 0:
		c.Why = "nothing is known"
	case compared == 1:
		c.Why = "nothing to compare with"
	case len(c.Best) < compared:
		c.Decided = true
	case rounds > 0 && rounds < need:
		c.Why = fmt.Sprintf("%d rounds cannot tell %d libraries apart, whatever they do: give --rounds %d or more", rounds, compared, need)
	default:
		c.Why = fmt.Sprintf("no difference is shown between any of %d libraries", compared)
	}
}

// RoundsFor is the least number of rounds by which so many clients can be told apart at all: the smallest probability that the rank test
// knows, 2 in C(2n, n), adjusted for all pairs, must be below its limit.
func RoundsFor(clients int) int {
	pairs := float64(clients*(clients-1)) / 2
	n, ways := 1, 2.0
	for ; pairs*2/ways > stat.Alpha; n++ {
		ways *= float64(2*n+1) * float64(2*n+2) / (float64(n+1) * float64(n+1))
	}
	return n
}

// leastMemory are the clients within MemoryTie of the least, the least first.
func (r *Result) leastMemory(p Point, names []string) (best []string) {
	memory := map[string]uint64{}
	for _, name := range names {
		if c := r.Cell(name, p.Payload, p.QoS); c != nil && c.Invalid == "" && c.Resident > 0 {
			memory[name] = c.Resident
			best = append(best, name)
		}
	}
	slices.SortStableFunc(best, func(a, b string) int { return int(memory[a]/1024) - int(memory[b]/1024) })
	return slices.DeleteFunc(best, func(name string) bool {
		return float64(memory[name]) > (1+MemoryTie)*float64(memory[best[0]])
	})
}

func leastEffort(efforts []Effort) Choice {
	c := Choice{Use: ForEffort}
	order := slices.Clone(efforts)
	slices.SortStableFunc(order, func(a, b Effort) int { return a.Lines - b.Lines })
	for _, e := range order {
		if e.Lines == order[0].Lines {
			c.Best = append(c.Best, e.Client)
		}
	}
	c.settle(len(order), 0)
	return c
}

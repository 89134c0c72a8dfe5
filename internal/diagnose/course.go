package diagnose

import (
	"cmp"
	"slices"
	"time"
)

// Course is how a run went, by stretches of time such as seconds: what is known where the times of single messages were not kept. All
// times count from one zero, in nanoseconds.
type Course struct {
	Figures       Figures
	Stretches     []Stretch // in the order of time, without the warm-up
	Lost          int       // messages that never arrived
	Negative      int       // messages that seem to have arrived before they were sent
	KeepAlive     time.Duration
	Floor         time.Duration // the least time the path takes; 0 = not known
	Slack         time.Duration // by how much the path alone makes that longer, at most
	RoundTrip     time.Duration // of the network alone; 0 = too short to matter
	Window        int           // unacknowledged messages that a publisher may have; 0 = any number
	Ack, AckLeast time.Duration // usual and shortest time until an acknowledgement; 0 = not known
	Signals       []Signal
	Facts         Facts
	Retransmitted *uint64 // segments, in all; nil = not known
	Local         bool    // the path is within one host: nothing is lost on it
	Busiest       *Busy   // thread of the broker; nil = not known
	Sources       []Source
}

// Figures are those of all messages that arrived, in nanoseconds.
type Figures struct {
	Messages        int
	Mean, Deviation float64
	P50, P99, Max   int64
}

// Stretch is what happened in a stretch of time.
type Stretch struct {
	Span
	Times     []Bin   // latencies of the messages that arrived in it, ascending
	Late      Waits   // of messages, for a sender that was late
	Blocked   Waits   // of messages, for room in the socket or in the window
	Reading   Waits   // of messages that had arrived, until the generator read them
	ReadAll   bool    // Reading is known, at least of some
	Copies    float64 // deliveries that a message should have
	Holds     []Hold
	Queued    time.Duration // mean time that the network's queue held back a packet each way and back
	Lost      int           // bytes that the network lost
	Delivered int           // messages, and
	Offered   int           // those that were due
	Sent      int           // those that were sent
}

// Bin is messages of about the same latency.
type Bin struct {
	Count int64
	Sum   int64 // of their latencies
}

func (b Bin) mean() int64 { return b.Sum / max(1, b.Count) }

// Waits are times that messages waited for something.
type Waits struct {
	Count    int64
	Sum, Max int64
}

func (w *Waits) add(o Waits) {
	w.Count, w.Sum, w.Max = w.Count+o.Count, w.Sum+o.Sum, max(w.Max, o.Max)
}

// Hold is time within a stretch in which somebody could not run.
type Hold struct {
	Cause Cause
	Side  string
	Time  int64
	Count int // in how many pieces; 0 = not known
	// Full: it was held back so often that what it had to do piled up.
	Full bool
}

// Busy is how busy the broker's busiest thread was, and how long it had no core, as parts of the time.
type Busy struct{ Running, Waiting float64 }

// bin is slow messages of one stretch that took about as long, and how much of their excess is explained.
type bin struct {
	stretch      int
	count        int64
	latency      int64 // of each, nearly
	excess, open int64 // of all together
}

// course is a Course under diagnosis.
type course struct {
	*Course
	floor, slow int64
	bins        []bin
	total       int64 // of excess
	messages    int64
	slowCount   int64
}

func newCourse(in *Course) *course {
	c := &course{Course: in, floor: int64(in.Floor)}
	if c.floor == 0 {
		c.floor = min(max(c.quantile(0.05), 0), millisecond)
	}
	c.slow = max(millisecond, 3*c.floor)
	if in.Floor > 0 {
		c.slow = c.floor + max(millisecond, c.floor/4)
	}
	c.slow += int64(in.Slack)
	for i := range in.Stretches {
		for _, b := range in.Stretches[i].Times {
			c.messages += b.Count
			if b.mean() <= c.slow {
				continue
			}
			e := b.Sum - b.Count*c.floor
			c.bins = append(c.bins, bin{i, b.Count, b.mean(), e, e})
			c.total += e
			c.slowCount += b.Count
		}
	}
	return c
}

// quantile is that of all latencies, as coarse as the bins are.
func (c *course) quantile(q float64) int64 {
	var all []Bin
	n := int64(0)
	for i := range c.Stretches {
		all = append(all, c.Stretches[i].Times...)
	}
	slices.SortFunc(all, func(a, b Bin) int { return cmp.Compare(a.mean(), b.mean()) })
	for _, b := range all {
		n += b.Count
	}
	left := int64(q * float64(n))
	for _, b := range all {
		if left -= b.Count; left < 0 {
			return b.mean()
		}
	}
	return 0
}

// DiagnoseCourse finds the causes, the largest share first. A share counts seconds, not messages: it is an upper bound for a cause
// that held for a part of a second only.
func DiagnoseCourse(in *Course) *Result {
	c := newCourse(in)
	f := &in.Figures
	r := &Result{
		Messages: f.Messages, Lost: in.Lost, Negative: in.Negative, Mean: f.Mean, Deviation: f.Deviation, P50: f.P50, P99: f.P99, Max: f.Max,
		Slow: int(c.slowCount), Floor: c.floor, Threshold: c.slow, Undecided: in.undecided(),
	}
	if in.Negative > 0 {
		r.Findings = []Finding{{Cause: ClockSkew, Evidence: []Evidence{{"clock_skew", []any{in.Negative, in.Negative + f.Messages}}}}}
	}
	switch {
	case f.Messages < fewest:
		r.Findings = append(r.Findings, Finding{Cause: TooFew, Evidence: []Evidence{{"too_few", []any{f.Messages, fewest}}}})
		return r
	case c.quiet():
		r.Findings = append(r.Findings, c.none())
		return r
	}
	found := c.causes()
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(b.Share, a.Share) })
	r.Unexplained = c.left(c.open())
	if len(found) == 0 && len(r.Findings) == 0 {
		found = append(found, Finding{Cause: Unexplained, Evidence: []Evidence{
			{"unexplained", []any{ns(f.P50), ns(f.P99), ns(f.Max), percent(float64(c.slowCount) / float64(max(1, c.messages)))}},
		}})
	}
	r.Findings = append(r.Findings, found...)
	return r
}

// bySecond are the causes that need no times of single messages where there are those of seconds.
var bySecond = []Cause{DelayedAck, Backlog, ClockSkew, NotReading, Handshake, Periodic, KeepAlivePeriod}

func (in *Course) undecided() []Gap {
	return slices.DeleteFunc(undecided(&Input{Sources: in.Sources}), func(g Gap) bool { return slices.Contains(bySecond, g.Cause) })
}

// quiet: nearly every message was fast, and the few that were not are no pattern.
func (c *course) quiet() bool {
	return c.Figures.P99 < max(budget, c.slow) && c.events() < bigEvents
}

// events is how many stretches had a message that was much too slow; those that follow each other count once.
func (c *course) events() (n int) {
	last := -2
	for _, b := range c.bins {
		if b.latency > c.floor+bigEvent && b.stretch > last {
			if b.stretch > last+1 {
				n++
			}
			last = b.stretch
		}
	}
	return n
}

func (c *course) none() Finding {
	f := Finding{Cause: None, Evidence: []Evidence{{"none", []any{ns(c.Figures.P50), ns(c.Figures.P99)}}}}
	if n := c.events(); n > 0 {
		f.Evidence = append(f.Evidence, Evidence{"single_events", []any{n, ns(c.Figures.Max)}})
	}
	return f
}

// causes are claimed in an order: what was done to the run on purpose; what is unmistakable; what was measured, the largest share first;
// and at last what follows from something else as well.
func (c *course) causes() (found []Finding) {
	var certain, measured []claim
	var done []Span
	for i := range c.Signals {
		if c.Signals[i].Certain {
			done = append(done, c.Signals[i].Spans...)
		}
	}
	done = merged(done)
	for i := range c.Signals {
		if k := c.during(&c.Signals[i], done); c.Signals[i].Certain {
			certain = append(certain, k)
		} else {
			measured = append(measured, k)
		}
	}
	measured = append(measured, c.held(Throttling), c.held(CPUContention), c.held(HostNoise), c.late(), c.readLate(), c.queued(), c.losses())
	byShare := func(a, b claim) int { return cmp.Compare(c.share(b.parts), c.share(a.parts)) }
	slices.SortStableFunc(certain, byShare)
	slices.SortStableFunc(measured, byShare)
	first, last := []claim{c.backlog()}, []claim{c.stood(), c.heldByAck()}
	if full := c.windowFull(); c.windowLimits() {
		first = append([]claim{full}, first...)
	} else {
		last = append([]claim{full}, last...)
	}
	for _, k := range slices.Concat(certain, first, measured, last) {
		found = c.judge(found, k)
	}
	return c.judge(found, c.rhythmic())
}

// judge adds a claim that explains enough of what is left.
func (c *course) judge(found []Finding, k claim) []Finding {
	left := c.left(k.parts)
	if left < atLeast || left < enough && (len(found) == 0 || k.basis == inferred) {
		return found
	}
	k.finding.Share = left
	c.explain(k.parts)
	return append(found, k.finding)
}

func (c *course) open() []int64 {
	open := make([]int64, len(c.bins))
	for i := range c.bins {
		open[i] = c.bins[i].open
	}
	return open
}

func (c *course) share(parts []int64) float64 {
	sum := int64(0)
	for i, p := range parts {
		sum += min(p, c.bins[i].excess)
	}
	return float64(sum) / float64(max(1, c.total))
}

// left is the part of all excess that parts explain and nothing before them did.
func (c *course) left(parts []int64) float64 {
	sum := int64(0)
	for i, p := range parts {
		sum += min(p, c.bins[i].open)
	}
	return float64(sum) / float64(max(1, c.total))
}

func (c *course) explain(parts []int64) {
	for i, p := range parts {
		c.bins[i].open -= min(p, c.bins[i].open)
	}
}

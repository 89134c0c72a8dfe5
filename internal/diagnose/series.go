package diagnose

import (
	"math"
	"slices"
	"sort"
)

const (
	microsecond = int64(1000)
	millisecond = 1000 * microsecond
	second      = 1000 * millisecond
)

// series is the messages that arrived, in the order of sending, with what each took too long.
type series struct {
	in       *Input
	messages []Message
	timed    bool    // Sent and Recv are times, not only their difference
	start    []int64 // when a message should have been sent: Sent without the lateness of the sender
	latency  []int64 // Recv − start
	sorted   []int64 // latency, ascending
	excess   []int64 // latency above the floor, of slow messages; 0 for others
	open     []int64 // the part of excess that no cause has explained yet
	total    int64   // of excess
	lost     int
	floor    int64
	slow     int64 // a message above this is slow
	period   int64 // between sends; 0 = not known
}

func newSeries(in *Input) *series {
	s := &series{in: in, timed: slices.Contains(in.Sources, Times), lost: in.Lost}
	for _, m := range in.Messages {
		if m.Lost {
			s.lost++
			continue
		}
		s.messages = append(s.messages, m)
	}
	slices.SortStableFunc(s.messages, func(a, b Message) int { return int(min(max(a.Sent-b.Sent, -1), 1)) })
	s.start = s.starts()
	s.latency = make([]int64, len(s.messages))
	for i, m := range s.messages {
		s.latency[i] = m.Recv - s.start[i]
	}
	s.sorted = slices.Sorted(slices.Values(s.latency))
	s.period = s.sendPeriod()
	s.measureExcess()
	return s
}

// nearby is how many messages on either side a schedule is estimated from.
const nearby = 25

// starts takes the sender's lateness off Sent: a stall between two sends delays the call, not the message (coordinated omission). The
// schedule is that of Due, shifted to the earliest call nearby; a sender that drifts steadily is a slow clock, not late.
func (s *series) starts() []int64 {
	n := len(s.messages)
	start := make([]int64, n)
	late := make([]int64, n)
	var steps []int64
	for i, m := range s.messages {
		start[i] = m.Sent
		if s.in.FromDue {
			start[i] = m.Due
		}
		late[i] = m.Sent - m.Due
		if i > 0 {
			steps = append(steps, late[i]-late[i-1])
		}
	}
	if n == 0 || !s.timed || s.in.FromDue || slices.ContainsFunc(s.messages, func(m Message) bool { return m.Due == 0 }) {
		return start
	}
	slices.Sort(steps)
	drift := at(steps, 0.5)
	for i := range late {
		late[i] -= drift * int64(i)
	}
	for i := range start {
		earliest := slices.Min(late[max(0, i-nearby):min(n, i+nearby+1)])
		start[i] -= late[i] - earliest
	}
	return start
}

// sendPeriod is the usual time between sends; where several are sent at once, between those bursts.
func (s *series) sendPeriod() int64 {
	if !s.timed || len(s.messages) < 2 {
		return 0
	}
	gaps := make([]int64, 0, len(s.messages))
	for i := 1; i < len(s.messages); i++ {
		gaps = append(gaps, s.messages[i].Sent-s.messages[i-1].Sent)
	}
	slices.Sort(gaps)
	p, q := at(gaps, 0.5), at(gaps, 0.9)
	if 5*p < q {
		return q
	}
	return p
}

// measureExcess sets the floor, and what each slow message took above it. The floor is that of the path if it is known; otherwise the
// 5 % quantile, but not more than 1 ms, as a client that is slow with every message has no fast ones to compare with.
func (s *series) measureExcess() {
	s.floor = int64(s.in.Floor)
	if s.floor == 0 {
		s.floor = min(max(at(s.sorted, 0.05), 0), millisecond)
	}
	s.slow = max(millisecond, 3*s.floor)
	if s.in.Floor > 0 {
		s.slow = s.floor + max(millisecond, s.floor/4)
	}
	s.slow += int64(s.in.Slack)
	s.excess = make([]int64, len(s.latency))
	for i, l := range s.latency {
		if l > s.slow {
			s.excess[i] = l - s.floor
			s.total += s.excess[i]
		}
	}
	s.open = slices.Clone(s.excess)
}

// at is the quantile q of an ascending list, by nearest rank; 0 if it is empty.
func at(list []int64, q float64) int64 {
	if len(list) == 0 {
		return 0
	}
	return list[min(len(list)-1, int(math.Ceil(q*float64(len(list))))-min(1, int(math.Ceil(q*float64(len(list))))))]
}

// share is the part of all excess that parts are.
func (s *series) share(parts []int64) float64 { return s.partOf(parts, s.excess) }

// left is the part of all excess that parts explain and nothing before them did.
func (s *series) left(parts []int64) float64 { return s.partOf(parts, s.open) }

func (s *series) partOf(parts, of []int64) float64 {
	if s.total == 0 {
		return 0
	}
	sum := int64(0)
	for i, p := range parts {
		sum += min(p, of[i])
	}
	return float64(sum) / float64(s.total)
}

// explain books parts as explained.
func (s *series) explain(parts []int64) {
	for i, p := range parts {
		s.open[i] -= min(p, s.open[i])
	}
}

func (s *series) unexplained() float64 {
	if s.total == 0 {
		return 0
	}
	return float64(sum(s.open)) / float64(s.total)
}

func sum(list []int64) (n int64) {
	for _, x := range list {
		n += x
	}
	return n
}

// byArrival are the indices of the messages in the order of their arrival.
func (s *series) byArrival() []int {
	order := make([]int, len(s.messages))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return s.messages[order[a]].Recv < s.messages[order[b]].Recv })
	return order
}

// span is from the first send to the last arrival.
func (s *series) span() (from, to int64) {
	from, to = math.MaxInt64, math.MinInt64
	for i, m := range s.messages {
		from, to = min(from, s.start[i]), max(to, m.Recv)
	}
	return from, to
}

// result holds the figures of the whole.
func (s *series) result() *Result {
	r := &Result{
		Messages: len(s.messages), Lost: s.lost, Negative: s.in.Negative,
		P50: at(s.sorted, 0.5), P99: at(s.sorted, 0.99), Floor: s.floor, Threshold: s.slow,
	}
	if n := len(s.sorted); n > 0 {
		r.Max = s.sorted[n-1]
		r.Mean, r.Deviation = moments(s.sorted)
	}
	for _, e := range s.excess {
		if e > 0 {
			r.Slow++
		}
	}
	return r
}

func moments(list []int64) (mean, deviation float64) {
	for _, x := range list {
		mean += float64(x) / float64(len(list))
	}
	for _, x := range list {
		deviation += (float64(x) - mean) * (float64(x) - mean) / float64(len(list))
	}
	return mean, math.Sqrt(deviation)
}

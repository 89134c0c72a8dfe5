package jitter

import (
	"math"
	"slices"

	"github.com/mqlab/mqlab/internal/diagnose"
)

// series are the messages of a round, those of the burst apart.
type series struct {
	c     *Case
	all   []diagnose.Message // by number
	begin int64              // when the first was due
}

func newSeries(c *Case, in *diagnose.Input) *series {
	s := &series{c: c, all: in.Messages}
	if len(s.all) > 0 {
		s.begin = s.all[0].Due
	}
	return s
}

// steady are the messages without those of the burst.
func (s *series) steady() (list []diagnose.Message) {
	for i, m := range s.all {
		if !s.c.inBurst(i) {
			list = append(list, m)
		}
	}
	return list
}

// times are what messages took, from one moment to another.
func times(messages []diagnose.Message, of func(diagnose.Message) int64) (list []int64) {
	for _, m := range messages {
		if !m.Lost {
			list = append(list, of(m))
		}
	}
	return list
}

func service(m diagnose.Message) int64  { return m.Recv - m.Sent }
func response(m diagnose.Message) int64 { return m.Recv - m.Due }

// ticks are the largest round trip of each moment of the schedule, NaN where a message was lost.
func (s *series) ticks() (list []float64) {
	last := int64(math.MinInt64)
	for _, m := range s.steady() {
		v := math.NaN()
		if !m.Lost {
			v = float64(service(m))
		}
		if m.Due != last {
			list, last = append(list, v), m.Due
			continue
		}
		list[len(list)-1] = math.Max(list[len(list)-1], v) // NaN stays
	}
	return list
}

// Slot is a stretch of time, by when messages were due.
type Slot struct {
	From  int64 `json:"from_ns"` // since the first message
	To    int64 `json:"to_ns"`
	Count int   `json:"count"` // that came
	Lost  int   `json:"lost"`
	Min   int64 `json:"min_ns,omitempty"` // absent where none came
	P50   int64 `json:"p50_ns,omitempty"`
	Max   int64 `json:"max_ns,omitempty"`
}

const mostSlots = 240

// timeline divides the schedule into slots that are alike, none shorter than an interval.
func (s *series) timeline() []Slot {
	steady := s.steady()
	if len(steady) == 0 {
		return nil
	}
	whole := steady[len(steady)-1].Due - s.begin + int64(s.c.Interval)
	n := max(1, min(mostSlots, int(whole/int64(s.c.Interval))))
	slots, came := make([]Slot, n), make([][]int64, n)
	for i := range slots {
		slots[i].From, slots[i].To = whole*int64(i)/int64(n), whole*int64(i+1)/int64(n)
	}
	for _, m := range steady {
		i := max(0, min(n-1, int(float64(m.Due-s.begin)/float64(whole)*float64(n))))
		if m.Lost {
			slots[i].Lost++
			continue
		}
		came[i] = append(came[i], service(m))
	}
	for i, list := range came {
		if slices.Sort(list); len(list) > 0 {
			slots[i].Count, slots[i].Min, slots[i].P50, slots[i].Max = len(list), list[0], rank(list, 0.5), list[len(list)-1]
		}
	}
	return slots
}

// Burst is what many messages at once did.
type Burst struct {
	At       int64  `json:"at_ns"` // since the first message
	Messages int    `json:"messages"`
	Lost     int    `json:"lost"`
	Max      *int64 `json:"max_ns,omitempty"`      // round trip of the slowest of the burst; absent if none came
	Usual    int64  `json:"usual_ns"`              // at most this long take messages before the burst, but for one in a hundred
	Recover  *int64 `json:"recovery_ns,omitempty"` // from the burst until round trips are usual again; absent = they never were
}

// calmAgain is how many messages in a row must be as fast as before.
const calmAgain = 10

// burst judges how long a burst is felt: until the last message that is slower than 99 of 100 were before it, of a run that ends with
// calmAgain others that are not. nil without a burst, or where nothing is known of the time before.
func (s *series) burst() *Burst {
	first := slices.IndexFunc(s.all, func(m diagnose.Message) bool { return m.Due >= s.begin+int64(s.c.burstAt())*int64(s.c.Interval) })
	if s.c.Burst == 0 || first < 1 || first >= len(s.all) {
		return nil
	}
	before := times(s.all[:first], service)
	if len(before) == 0 {
		return nil
	}
	slices.Sort(before)
	b := &Burst{At: s.all[first].Due - s.begin, Usual: rank(before, 0.99)}
	began := s.all[first].Sent
	felt, calm := began, 0
	for i, m := range s.all[first:] {
		if s.c.inBurst(first + i) {
			b.add(m)
			felt = max(felt, m.Recv)
			continue
		}
		if m.Lost || service(m) > b.Usual {
			calm = 0
			felt = max(felt, m.Recv)
			continue
		}
		if calm++; calm == calmAgain && b.Messages > 0 {
			b.Recover = new(felt - began)
			break
		}
	}
	return b
}

func (b *Burst) add(m diagnose.Message) {
	b.Messages++
	if m.Lost {
		b.Lost++
		return
	}
	if t := service(m); b.Max == nil || t > *b.Max {
		b.Max = &t
	}
}

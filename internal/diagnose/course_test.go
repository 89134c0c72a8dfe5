package diagnose

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// trip is a run made up for a test: messages evenly spread over seconds, of which each takes what the case says.
type trip struct {
	Course
	rng *rand.Rand
}

const perSecond = 200

// newTrip is a run of so many seconds whose messages take what latency says, by the time at which they were due, in nanoseconds.
func newTrip(seconds int, floor time.Duration, latency func(due int64) int64) *trip {
	t := &trip{rng: rand.New(rand.NewPCG(1, 2))}
	t.Local, t.Retransmitted = true, new(uint64(0))
	t.Sources = []Source{Schedule, Events, Window, Broker}
	times := make([][]int64, seconds+10)
	for i := range seconds * perSecond {
		due := int64(i) * second / perSecond
		l := int64(floor) + 100*microsecond + t.rng.Int64N(200*microsecond)
		if latency != nil {
			l += latency(due)
		}
		at := min((due+l)/second, int64(len(times)-1))
		times[at] = append(times[at], l)
	}
	var all []int64
	for i, list := range times {
		slices.Sort(list)
		s := Stretch{Span: Span{int64(i) * second, int64(i+1) * second}, Copies: 1, ReadAll: true, Delivered: len(list)}
		if i < seconds {
			s.Offered, s.Sent = perSecond, perSecond
		}
		for _, l := range list {
			s.Times = append(s.Times, Bin{1, l})
		}
		all = append(all, list...)
		if i < seconds || len(list) > 0 {
			t.Stretches = append(t.Stretches, s)
		}
	}
	slices.Sort(all)
	mean, deviation := moments(all)
	t.Figures = Figures{Messages: len(all), Mean: mean, Deviation: deviation, P50: at(all, 0.5), P99: at(all, 0.99), Max: all[len(all)-1]}
	t.Floor = floor
	return t
}

// pauses delay what is due in them to their end.
func pauses(spans ...Span) func(int64) int64 {
	return func(due int64) int64 {
		for _, s := range spans {
			if due >= s.From && due < s.To {
				return s.To - due
			}
		}
		return 0
	}
}

// each sets something of every second.
func (t *trip) each(set func(i int, s *Stretch)) *trip {
	for i := range t.Stretches {
		set(i, &t.Stretches[i])
	}
	return t
}

var trips = []struct {
	name string
	make func() *trip
	want []Cause
}{
	{"healthy", func() *trip { return newTrip(10, 0, nil) }, []Cause{None}},
	{"healthy over a long way", func() *trip { return newTrip(10, 80*time.Millisecond, nil) }, []Cause{None}},
	{"two slow moments", func() *trip {
		return newTrip(10, 0, pauses(Span{2 * second, 2*second + 8*millisecond}, Span{7 * second, 7*second + 8*millisecond}))
	}, []Cause{None}},
	{"the broker was paused", func() *trip {
		t := newTrip(10, 0, pauses(Span{4 * second, 6 * second}))
		t.Signals = []Signal{{Cause: BrokerStall, Side: "broker", Certain: true, Spans: []Span{{4 * second, 6 * second}}}}
		return t
	}, []Cause{BrokerStall}},
	{"the broker stood still, and nobody told", func() *trip { return newTrip(10, 0, pauses(Span{4300 * millisecond, 6300 * millisecond})) }, []Cause{BrokerStall}},
	{"it stood for a part of a second, often", func() *trip {
		return newTrip(10, 0, pauses(Span{1100 * millisecond, 1400 * millisecond}, Span{3100 * millisecond, 3400 * millisecond}, Span{7100 * millisecond, 7400 * millisecond}))
	}, []Cause{BrokerStall}},
	{"likewise, but packets were sent again on the way", func() *trip {
		t := newTrip(10, 0, pauses(Span{4300 * millisecond, 6300 * millisecond}))
		t.Local, t.Retransmitted = false, new(uint64(3))
		return t
	}, []Cause{PacketLoss}},
	{"the generator sent late", func() *trip {
		return newTrip(10, 0, func(due int64) int64 { return 10 * millisecond }).each(func(_ int, s *Stretch) {
			s.Late = Waits{perSecond, perSecond * 10 * millisecond, 10 * millisecond}
		})
	}, []Cause{GeneratorLate}},
	{"the generator read late", func() *trip {
		return newTrip(10, 0, pauses(Span{4 * second, 5 * second})).each(func(i int, s *Stretch) {
			if i == 5 {
				s.Reading = Waits{perSecond, perSecond * second / 2, second}
			}
		})
	}, []Cause{GeneratorLate}},
	{"a little lateness explains no long wait", func() *trip {
		t := newTrip(10, 0, pauses(Span{4 * second, 6 * second})).each(func(_ int, s *Stretch) {
			s.Late = Waits{100_000, 100_000 * millisecond, millisecond}
			s.ReadAll = false
		})
		return t
	}, []Cause{Unexplained}},
	{"a window of one over 20 ms", func() *trip {
		t := newTrip(10, 20*time.Millisecond, func(due int64) int64 { return due / 2 }).each(func(_ int, s *Stretch) {
			s.Blocked = Waits{s.blockedOf(), s.blockedOf() * s.From / 2, s.To / 2}
		})
		t.Window, t.Ack, t.AckLeast = 1, 21*time.Millisecond, 20*time.Millisecond
		return t
	}, []Cause{WindowFull}},
	{"a socket that is not emptied", func() *trip {
		return newTrip(10, 0, func(int64) int64 { return 30 * millisecond }).each(func(_ int, s *Stretch) {
			s.Blocked = Waits{perSecond, perSecond * 30 * millisecond, 30 * millisecond}
		})
	}, []Cause{NotReading}},
	{"the queue grows", func() *trip { return newTrip(10, 0, func(due int64) int64 { return due / 5 }) }, []Cause{Backlog}},
	{"a quota that is used up always", func() *trip {
		return newTrip(10, 0, func(due int64) int64 { return 70 * millisecond * (due / second % 2) }).each(func(i int, s *Stretch) {
			s.Holds = []Hold{{Cause: Throttling, Side: "broker", Time: 600 * millisecond, Count: 9, Full: true}}
		})
	}, []Cause{Throttling}},
	{"a quota that is used up at times", func() *trip {
		return newTrip(10, 0, pauses(Span{3 * second, 3*second + 60*millisecond}, Span{5 * second, 5*second + 60*millisecond}, Span{8 * second, 8*second + 60*millisecond})).each(func(i int, s *Stretch) {
			if i == 3 || i == 5 || i == 8 {
				s.Holds = []Hold{{Cause: Throttling, Side: "broker", Time: 60 * millisecond, Count: 1}}
			}
		})
	}, []Cause{Throttling}},
	{"the broker waited for a core", func() *trip {
		return newTrip(10, 0, pauses(Span{3 * second, 3400 * millisecond})).each(func(i int, s *Stretch) {
			if i == 3 {
				s.Holds = []Hold{{Cause: CPUContention, Side: "broker", Time: 450 * millisecond}}
			}
		})
	}, []Cause{CPUContention}},
	{"too short a wait for a core explains no long one", func() *trip {
		return newTrip(10, 0, pauses(Span{3 * second, 3800 * millisecond})).each(func(i int, s *Stretch) {
			s.ReadAll = false
			s.Holds = []Hold{{Cause: CPUContention, Side: "broker", Time: 20 * millisecond}}
		})
	}, []Cause{Unexplained}},
	{"the hypervisor took the machine", func() *trip {
		return newTrip(10, 0, pauses(Span{3 * second, 3400 * millisecond})).each(func(i int, s *Stretch) {
			if i == 3 {
				s.Holds = []Hold{{Cause: HostNoise, Side: "host", Time: 450 * millisecond}}
			}
		})
	}, []Cause{HostNoise}},
	{"losses on the air", func() *trip {
		t := newTrip(10, 40*time.Millisecond, func(due int64) int64 { return 250 * millisecond * (due / (second / perSecond) % 10 / 9) }).each(func(_ int, s *Stretch) { s.Lost = 4000 })
		t.Local, t.RoundTrip, t.Retransmitted = false, 40*time.Millisecond, new(uint64(60))
		t.Sources = append(t.Sources, Link)
		return t
	}, []Cause{PacketLoss}},
	{"TCP sends again within a host, where nothing is lost", func() *trip {
		t := newTrip(10, 0, func(due int64) int64 { return 250 * millisecond * (due / (second / perSecond) % 10 / 9) })
		t.Retransmitted = new(uint64(60))
		return t
	}, []Cause{Unexplained}},
	{"a full network", func() *trip {
		return newTrip(10, 40*time.Millisecond, func(int64) int64 { return 300 * millisecond }).each(func(_ int, s *Stretch) { s.Queued = 290 * time.Millisecond })
	}, []Cause{LinkFull}},
	{"an outage, and connecting again", func() *trip {
		t := newTrip(10, 0, pauses(Span{3 * second, 5500 * millisecond}))
		t.Signals = []Signal{
			{Cause: Outage, Side: "network", Certain: true, Spans: []Span{{3 * second, 5 * second}}},
			{Cause: Handshake, Side: "client", Certain: true, Spans: []Span{{5 * second, 5500 * millisecond}}},
		}
		return t
	}, []Cause{Outage, Handshake}},
	{"Nagle and a delayed acknowledgement", func() *trip {
		t := newTrip(10, 0, func(due int64) int64 { return 40 * millisecond * (due / (second / perSecond) % 2) })
		t.Facts.ClientNoDelay = new(false)
		return t
	}, []Cause{DelayedAck}},
	{"a moment of every tenth second", func() *trip {
		t := newTrip(90, 0, func(due int64) int64 {
			if due%(10*second) < 100*millisecond {
				return 30*millisecond + due%(7*millisecond)
			}
			return 0
		})
		t.KeepAlive = 60 * time.Second
		return t
	}, []Cause{Periodic}},
	{"a moment of each keepalive", func() *trip {
		t := newTrip(90, 0, func(due int64) int64 {
			if due%(10*second) < 100*millisecond {
				return 30*millisecond + due%(7*millisecond)
			}
			return 0
		})
		t.KeepAlive = 10 * time.Second
		return t
	}, []Cause{KeepAlivePeriod}},
	{"seconds at no rhythm", func() *trip {
		return newTrip(90, 0, func(due int64) int64 {
			if n := due / second; slices.Contains([]int64{3, 9, 22, 35, 41, 58, 73, 77}, n) && due%second < 100*millisecond {
				return 30*millisecond + due%(7*millisecond)
			}
			return 0
		})
	}, []Cause{Unexplained}},
	{"clocks that disagree", func() *trip {
		t := newTrip(10, 0, nil)
		t.Negative = 40
		return t
	}, []Cause{ClockSkew, None}},
	{"uniform noise", func() *trip {
		t := newTrip(10, 0, nil)
		return newTrip(10, 0, func(int64) int64 { return t.rng.Int64N(50 * millisecond) })
	}, []Cause{Unexplained}},
	{"two levels", func() *trip {
		return newTrip(10, 0, func(due int64) int64 { return 23 * millisecond * (due / (second / perSecond) % 2) })
	}, []Cause{Unexplained}},
	{"49 messages", func() *trip {
		t := newTrip(1, 0, nil)
		t.Figures.Messages = 49
		return t
	}, []Cause{TooFew}},
	{"none", func() *trip { return &trip{} }, []Cause{TooFew}},
}

func (s *Stretch) blockedOf() int64 { return int64(s.Offered) }

// TestCourse: causes are named by what is known of a run by the second, healthy and senseless ones get no name, and nothing is said in
// words that have no place for its figures.
func TestCourse(t *testing.T) {
	for _, c := range trips {
		r := DiagnoseCourse(&c.make().Course)
		var got []Cause
		sum := 0.0
		for i := range r.Findings {
			f := &r.Findings[i]
			got = append(got, f.Cause)
			sum += f.Share
			for _, language := range Languages {
				for _, e := range f.In(language).Evidence {
					if e == "" || strings.Contains(e, "%!") || strings.Contains(e, "%s") {
						t.Errorf("%s: %q", c.name, e)
					}
				}
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v\n%s", c.name, got, c.want, text(r))
		}
		if sum+r.Unexplained > 1.001 {
			t.Errorf("%s: %.3f of the excess is shared out", c.name, sum+r.Unexplained)
		}
	}
}

// TestStallSpan: when the broker stood still is found out from what the seconds around it delivered.
func TestStallSpan(t *testing.T) {
	for _, want := range []Span{{4300 * millisecond, 6300 * millisecond}, {2 * second, 5100 * millisecond}, {4050 * millisecond, 5950 * millisecond}} {
		r := DiagnoseCourse(&newTrip(10, 0, pauses(want)).Course)
		got := r.Findings[0].Spans
		near := func(a, b int64) bool { return max(a-b, b-a) < 30*millisecond }
		if len(got) != 1 || !near(got[0].From, want.From) || !near(got[0].To, want.To) {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// TestArrival compares with every moment at which a message may have arrived.
func TestArrival(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		var spans []Span
		for range 1 + rng.IntN(6) {
			from := rng.Int64N(200)
			spans = append(spans, Span{from, from + 1 + rng.Int64N(30)})
		}
		spans = merged(spans)
		window := Span{rng.Int64N(100), 0}
		window.To = window.From + 1 + rng.Int64N(60)
		wait, want, most := 1+rng.Int64N(80), int64(0), int64(-1)
		for end := window.From; end <= window.To; end++ {
			if n := overlap(end-wait, end, spans); n >= most {
				most, want = n, end
			}
		}
		if got := arrival(wait, window, spans); got != want {
			t.Fatalf("wait %d in %v, spans %v: %d, want %d", wait, window, spans, got, want)
		}
	}
}

func ExampleDiagnoseCourse() {
	t := newTrip(10, 0, pauses(Span{4 * second, 6 * second}))
	r := DiagnoseCourse(&t.Course)
	fmt.Println(r.Verdict(), r.Findings[0].In("en").Evidence[0])
	// Output: broker_stall 100 % of the excess looks like standing still: all that was due meanwhile came at its end (1 times, up to 2 s)
}

package diagnose

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// world makes messages whose cause is known.
type world struct {
	r        *rand.Rand
	interval int64
	n        int
	in       Input
}

func newWorld(seed uint64, interval time.Duration, n int) *world {
	return &world{
		r: rand.New(rand.NewPCG(seed, 1)), interval: int64(interval), n: n,
		in: Input{Sources: []Source{Times, Schedule, Callbacks}, KeepAlive: time.Minute},
	}
}

// base is a healthy way: 0.3 ms, lopsided.
func (w *world) base() int64 {
	return int64(250e3 * math.Exp(0.3*w.r.NormFloat64()))
}

// sends fills in messages of a healthy client.
func (w *world) sends() *world {
	for i := range w.n {
		due := second + int64(i)*w.interval
		sent := due + w.r.Int64N(50*microsecond)
		recv := sent + w.base()
		w.in.Messages = append(w.in.Messages, Message{Due: due, Sent: sent, Recv: recv, Done: recv + 20*microsecond})
	}
	return w
}

// hold delays every message that would arrive within a span to its end.
func (w *world) hold(spans []Span) {
	for i := range w.in.Messages {
		m := &w.in.Messages[i]
		for _, s := range spans {
			if m.Recv >= s.From && m.Recv < s.To {
				work := m.Done - m.Recv
				m.Recv = s.To + w.r.Int64N(100*microsecond)
				m.Done = m.Recv + work
			}
		}
	}
}

// spans are n stretches of about length, at random times.
func (w *world) spans(n int, length time.Duration) (list []Span) {
	end := second + int64(w.n)*w.interval
	for range n {
		from := second + w.r.Int64N(end-second)
		list = append(list, Span{from, from + int64(float64(length)*(0.7+0.6*w.r.Float64()))})
	}
	return list
}

// every is a stretch of length once in a period.
func (w *world) every(period, length time.Duration) (list []Span) {
	for at := second + int64(period)/2; at < second+int64(w.n)*w.interval; at += int64(period) {
		list = append(list, Span{at, at + int64(length)})
	}
	return list
}

func (w *world) signal(c Cause, source Source, spans []Span) *world {
	w.hold(merged(spans))
	w.in.Signals = append(w.in.Signals, Signal{Cause: c, Side: "client", Spans: spans})
	w.in.Sources = append(w.in.Sources, source)
	return w
}

// sample is a world with its truth.
type sample struct {
	name  string
	truth Cause
	make  func(w *world)
}

// nextSend moves each arrival to just after the k-th next send.
func nextSend(k func(w *world, i int) int) func(w *world) {
	return func(w *world) {
		w.sends()
		for i := range w.in.Messages {
			at := second + int64(i+k(w, i))*w.interval
			w.in.Messages[i].Recv = at + 100*microsecond + w.r.Int64N(100*microsecond)
			w.in.Messages[i].Done = w.in.Messages[i].Recv + 20*microsecond
		}
	}
}

// latencies replaces every latency.
func latencies(f func(w *world) int64) func(w *world) {
	return func(w *world) {
		w.sends()
		for i := range w.in.Messages {
			m := &w.in.Messages[i]
			m.Recv = m.Sent + f(w)
			m.Done = m.Recv + 20*microsecond
		}
	}
}

// rounded moves arrivals up to multiples of t.
func rounded(t time.Duration) func(w *world) {
	return func(w *world) {
		w.sends()
		for i := range w.in.Messages {
			m := &w.in.Messages[i]
			m.Recv += (int64(t)-m.Recv%int64(t))%int64(t) + w.r.Int64N(100*microsecond)
			m.Done = m.Recv + 20*microsecond
		}
	}
}

// lingering sends at random, and hands on in groups: the first message of each waits for linger.
func lingering(linger time.Duration) func(w *world) {
	return func(w *world) {
		w.interval = 4 * millisecond
		w.sends()
		flush, at := int64(0), second
		for i := range w.in.Messages {
			m := &w.in.Messages[i]
			at += int64(w.r.ExpFloat64() * float64(w.interval))
			m.Due, m.Sent = at, at
			if at > flush {
				flush = at + int64(linger)
			}
			m.Recv = flush + w.base()/4
			m.Done = m.Recv + 20*microsecond
		}
	}
}

// queue serves one message at a time, each for as long as work takes.
func queue(work func(w *world) int64, inCallback bool) func(w *world) {
	return func(w *world) {
		w.sends()
		free := int64(0)
		for i := range w.in.Messages {
			m := &w.in.Messages[i]
			m.Recv = max(m.Recv, free)
			free = m.Recv + work(w)
			m.Done = free
			if !inCallback {
				m.Recv, m.Done = free, free+20*microsecond
			}
		}
	}
}

// pairs are two messages at once, of which the second waits for a delayed acknowledgement.
func pairs(hold time.Duration) func(w *world) {
	return func(w *world) {
		w.sends()
		for i := range w.in.Messages {
			m := &w.in.Messages[i]
			m.Due, m.Sent = second+int64(i/2)*w.interval, second+int64(i/2)*w.interval+int64(i%2)*30*microsecond
			m.Recv = m.Sent + w.base()
			if i%2 == 1 {
				m.Recv = m.Sent + int64(hold) + w.r.Int64N(2*millisecond)
			}
			m.Done = m.Recv + 20*microsecond
		}
		slices.SortFunc(w.in.Messages, func(a, b Message) int { return cmp.Compare(a.Sent, b.Sent) })
	}
}

func signalled(c Cause, source Source, n int, length time.Duration) func(w *world) {
	return func(w *world) {
		w.sends()
		w.signal(c, source, w.spans(n, length))
	}
}

func once(w *world, spans ...Span) { w.sends(); w.hold(spans) }

func samples() []sample {
	yes, no := true, false
	half := 0.3
	return []sample{
		{"healthy", None, func(w *world) { w.sends() }},
		{"healthy, scattered", None, latencies(func(w *world) int64 { return 200*microsecond + w.r.Int64N(700*microsecond) })},
		{"healthy, a signal that harms nobody", None, func(w *world) {
			w.sends()
			w.in.Signals = []Signal{{Cause: GCPause, Spans: w.spans(20, time.Millisecond/2)}}
		}},
		{"constant", None, latencies(func(*world) int64 { return 50 * millisecond })},
		{"one outlier", None, func(w *world) { once(w, Span{2 * second, 2*second + 80*millisecond}) }},
		{"a slow clock", None, func(w *world) {
			w.sends()
			for i := range w.in.Messages {
				m := &w.in.Messages[i]
				late := int64(i) * 170 * microsecond
				m.Sent, m.Recv, m.Done = m.Sent+late, m.Recv+late, m.Done+late
			}
		}},
		{"uniform noise", Unexplained, latencies(func(w *world) int64 { return w.r.Int64N(30 * millisecond) })},
		{"two levels", Unexplained, latencies(func(w *world) int64 {
			return []int64{300 * microsecond, 23 * millisecond}[w.r.IntN(2)] + w.r.Int64N(100*microsecond)
		})},
		{"random stalls nobody saw", Unexplained, func(w *world) { once(w, w.spans(25, 90*time.Millisecond)...) }},
		{"loop, one period", LoopSleep, nextSend(func(*world, int) int { return 1 })},
		{"loop, two periods", LoopSleep, nextSend(func(*world, int) int { return 2 })},
		{"loop, a staircase", LoopSleep, nextSend(func(w *world, i int) int { return 1 + 4*i/w.n })},
		{"polling", PollSleep, rounded(73 * time.Millisecond)},
		{"polling, at every second or third look", PollSleep, func(w *world) {
			w.interval = 44 * millisecond
			rounded(20_600 * time.Microsecond)(w)
		}},
		{"multiples of the interval, by chance", Unexplained, nextSend(func(w *world, _ int) int { return 4 + w.r.IntN(6) })},
		{"Wi-Fi", PowerSave, rounded(102400 * time.Microsecond)},
		{"Nagle 40", DelayedAck, func(w *world) { pairs(41 * time.Millisecond)(w); w.in.Facts.ClientNoDelay = &no }},
		{"Nagle 200", DelayedAck, func(w *world) { w.interval = max(w.interval, 300*millisecond); pairs(200 * time.Millisecond)(w) }},
		{"40 ms, but NODELAY is on", Unexplained, func(w *world) {
			pairs(41 * time.Millisecond)(w)
			w.in.Facts.ClientNoDelay, w.in.Facts.BrokerNoDelay = &yes, &yes
		}},
		{"Nagle, once or twice", DelayedAck, func(w *world) {
			w.interval = max(w.interval, 120*millisecond)
			latencies(func(w *world) int64 { return int64(1+w.r.IntN(2))*42*millisecond + w.r.Int64N(millisecond) })(w)
			w.in.Facts.ClientNoDelay = &no
		}},
		{"Nagle, a longer delay", DelayedAck, func(w *world) {
			held := 0.6
			w.interval = max(w.interval, 90*millisecond)
			pairs(61 * time.Millisecond)(w)
			w.in.Facts.ClientNoDelay, w.in.Facts.Unsent = &no, &held
		}},
		{"Nagle, groups that wait for the rest of a delay", DelayedAck, func(w *world) {
			held := 0.4
			w.n = 3000
			lingering(34 * time.Millisecond)(w)
			w.in.Facts.ClientNoDelay, w.in.Facts.Unsent = &no, &held
		}},
		{"61 ms, but nothing is held back", Unexplained, func(w *world) {
			w.interval = max(w.interval, 90*millisecond)
			pairs(61 * time.Millisecond)(w)
			w.in.Facts.ClientNoDelay = &no
		}},
		{"a full window", WindowFull, func(w *world) {
			queue(func(w *world) int64 { return 12 * w.interval / 10 }, false)(w)
			end := w.in.Messages[len(w.in.Messages)-1].Recv
			w.in.Signals, w.in.Sources = []Signal{{Cause: WindowFull, Spans: []Span{{second, end}}, Certain: true}}, append(w.in.Sources, Window)
		}},
		{"a slow disk in the callback", DiskWrite, func(w *world) {
			w.interval, w.n = 10*millisecond, 2000
			queue(func(w *world) int64 {
				if w.r.IntN(100) == 0 {
					return 60 * millisecond
				}
				return 20 * microsecond
			}, true)(w)
			var spans []Span
			for _, m := range w.in.Messages {
				if m.Done-m.Recv > millisecond {
					spans = append(spans, Span{m.Recv, m.Done})
				}
			}
			w.in.Signals, w.in.Sources = []Signal{{Cause: DiskWrite, Side: "client", Spans: spans}}, append(w.in.Sources, Threads)
		}},
		{"no core, nor for the probe beside", HostNoise, func(w *world) {
			mean := 20e6
			spans := merged(w.spans(60, 40*time.Millisecond))
			w.sends()
			w.hold(spans)
			w.in.Facts.HostExcess, w.in.Sources = &mean, append(w.in.Sources, Control, RunQueue)
			w.in.Signals = []Signal{{Cause: CPUContention, Side: "client", Spans: spans, Certain: true}, {Cause: HostNoise, Side: "host", Spans: w.spans(30, 30*time.Millisecond)}}
		}},
		{"gathered", Coalescing, func(w *world) { w.n = 3000; lingering(25 * time.Millisecond)(w) }},
		{"flushed at fixed moments, the client waits", Coalescing, func(w *world) {
			waiting := 0.97
			rounded(73 * time.Millisecond)(w)
			w.in.Facts.SocketWait = &waiting
		}},
		{"blocked callback", BlockedCallback, func(w *world) {
			w.interval = 10 * millisecond
			w.n = 2000
			queue(func(w *world) int64 {
				if w.r.IntN(100) == 0 {
					return 60 * millisecond
				}
				return 20 * microsecond
			}, true)(w)
		}},
		{"callback beyond keepalive", CallbackKeepAlive, func(w *world) {
			w.in.KeepAlive = 5 * time.Second
			w.interval = 20 * millisecond
			i := 0
			queue(func(*world) int64 {
				if i++; i == 200 || i == 600 {
					return 8 * second
				}
				return 20 * microsecond
			}, true)(w)
		}},
		{"backlog of the callback", Backlog, func(w *world) { queue(func(w *world) int64 { return 12 * w.interval / 10 }, true)(w) }},
		{"backlog elsewhere", Backlog, func(w *world) { queue(func(w *world) int64 { return 12 * w.interval / 10 }, false)(w) }},
		{"swapping", MemoryGrowth, func(w *world) {
			swaps := uint64(1000)
			queue(func(w *world) int64 { return 12 * w.interval / 10 }, false)(w)
			w.in.Facts.SwapIns = &swaps
		}},
		{"collections", GCPause, signalled(GCPause, Pauses, 20, 120*time.Millisecond)},
		{"contention", CPUContention, signalled(CPUContention, RunQueue, 60, 40*time.Millisecond)},
		{"quota", Throttling, signalled(Throttling, Broker, 40, 60*time.Millisecond)},
		{"loss", PacketLoss, signalled(PacketLoss, Capture, 15, 210*time.Millisecond)},
		{"window", WindowFull, signalled(WindowFull, Window, 30, 70*time.Millisecond)},
		{"broker", BrokerStall, signalled(BrokerStall, Broker, 5, 400*time.Millisecond)},
		{"host", HostNoise, signalled(HostNoise, Control, 20, 50*time.Millisecond)},
		{"keepalive", KeepAlivePeriod, func(w *world) {
			w.in.KeepAlive = 3 * time.Second
			once(w, w.every(3*time.Second, 70*time.Millisecond)...)
		}},
		{"every 1.7 s", Periodic, func(w *world) { once(w, w.every(1703*time.Millisecond, 55*time.Millisecond)...) }},
		{"every 1.7 s, for about as long as an acknowledgement is delayed", Periodic, func(w *world) {
			w.interval, w.n = 10*millisecond, 2000
			once(w, w.every(1703*time.Millisecond, 46*time.Millisecond)...)
		}},
		{"sent late", GeneratorLate, func(w *world) {
			w.sends()
			for _, s := range w.spans(20, 90*time.Millisecond) {
				for i := range w.in.Messages {
					if m := &w.in.Messages[i]; m.Due >= s.From && m.Due < s.To {
						late := s.To - m.Due
						m.Sent, m.Recv, m.Done = m.Due+late, m.Due+late+w.base(), m.Due+late+w.base()+20*microsecond
					}
				}
			}
		}},
		{"first messages", Handshake, func(w *world) { once(w, Span{second, second + 4*w.interval + 400*millisecond}) }},
		{"healthy loop by its threads", Unexplained, func(w *world) {
			waiting := 0.97
			nextSend(func(w *world, _ int) int { return 1 + w.r.IntN(3) })(w)
			w.in.Facts.SocketWait = &waiting
			w.in.Facts.Asleep = &half
		}},
	}
}

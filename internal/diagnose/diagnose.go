// Package diagnose names the cause of slow and jittery messages. It is pure: it reads times, what was seen beside them, and nothing
// else.
//
// The excess latency of a message is what it took above the floor of its path. Each cause claims a part of the excess of each
// message: because the message waited while something measured was going on (a signal: a garbage collection, a retransmission), or
// because the times have a structure that only this cause gives them (messages read right after the next publish). A cause's share
// is the part of all excess that it explains. What nothing explains stays unexplained.
package diagnose

import (
	"cmp"
	"slices"
	"time"
)

// Message is one message as its client saw it. Times are nanoseconds of one clock.
type Message struct {
	Due  int64 // when the schedule wanted it sent; 0 = there is no schedule
	Sent int64 // when the client began to send it
	Recv int64 // when its callback began, or its answer was read
	Done int64 // when the callback returned; 0 = not known
	Lost bool  // it never arrived; Recv and Done mean nothing
}

// Span is a stretch of time, in nanoseconds of the messages' clock.
type Span struct{ From, To int64 }

// Signal is when something was seen going on that makes messages wait.
type Signal struct {
	Cause Cause
	Side  string // whose it was: client, broker, network, host; empty = not known
	Spans []Span
	Count int // of events; 0 = the number of spans
	// Certain: each span is known to hold a message back, however much of the time the spans cover.
	Certain bool
}

// Facts are shares and totals seen beside the messages. nil = not looked at.
type Facts struct {
	SocketWait    *float64 // part of the looks at the client's threads that found one waiting for the socket
	Asleep        *float64 // and part that found one in a sleep, and none waiting for the socket
	Unread        *float64 // part of the looks at the client's socket that found received bytes nobody had read
	Unsent        *float64 // and part that found bytes held back behind unacknowledged ones
	ClientNoDelay *bool    // TCP_NODELAY of the client's socket
	BrokerNoDelay *bool
	MemoryGrowth  *float64 // bytes per second, of the client or the broker
	MemoryBytes   *float64 // at the end
	SwapIns       *uint64  // pages read back from disk
	HostExcess    *float64 // ns that probes beside the client took too long, on average over all of them
}

// Source is a kind of evidence.
type Source string

// The kinds of evidence.
const (
	Times     Source = "times"     // when each message was sent and received
	Schedule  Source = "schedule"  // when each was due
	Callbacks Source = "callbacks" // when callbacks returned
	Pauses    Source = "pauses"    // of the language runtime
	Threads   Source = "threads"   // what threads wait for
	RunQueue  Source = "run queue" // time ready to run without a core
	Sockets   Source = "sockets"   // options, queues, TCP_INFO
	Capture   Source = "capture"   // of packets
	Broker    Source = "broker"    // its processes and its log
	Control   Source = "control"   // a probe beside, that knows the host's own noise
	Memory    Source = "memory"
	Events    Source = "events" // connections lost and made, faults, alarms
	Window    Source = "window" // of unacknowledged messages
	Link      Source = "link"   // the network's own counters
)

// Input is all that is known.
type Input struct {
	Messages  []Message
	Lost      int           // further messages that never arrived, of which no time is known
	Negative  int           // messages that seem to have arrived before they were sent; they are not among Messages
	KeepAlive time.Duration // 0 = not known
	Floor     time.Duration // the least time the path takes; 0 = not known
	Slack     time.Duration // by how much the path alone makes that longer, at most
	FromDue   bool          // latency counts from Due, which is of the same clock; otherwise the schedule is estimated
	Signals   []Signal
	Facts     Facts
	Sources   []Source // what was looked at; a cause whose source is missing is undecided, not absent
}

// Evidence is one fact in figures.
type Evidence struct {
	Key  string // of its text
	Args []any
}

// Finding is a cause that holds.
type Finding struct {
	Cause    Cause
	Side     string  // see Signal
	Share    float64 // of the excess latency, 0 to 1
	Evidence []Evidence
	Spans    []Span // when, the longest ones; absent for a structure
}

// Gap is a cause that cannot be decided, as evidence is missing.
type Gap struct {
	Cause Cause
	Needs Source
}

// Result is a diagnosis.
type Result struct {
	Messages, Lost, Negative int
	Mean, Deviation          float64 // nanoseconds
	P50, P99, Max            int64   // nanoseconds, of those that arrived
	Slow                     int     // messages above Threshold
	Floor, Threshold         int64   // nanoseconds
	Findings                 []Finding
	Unexplained              float64 // part of the excess; 0 if there is none
	Undecided                []Gap
}

// Verdict is the strongest cause; None, Unexplained or TooFew where there is no cause.
func (r *Result) Verdict() Cause { return r.Findings[0].Cause }

// fewest is how many messages a diagnosis needs: of fewer, a percentile is one message.
const fewest = 50

// Diagnose finds the causes, the largest share first. Where the path is not known and nothing fits, the fastest messages are taken for the
// path: what fits then is told, with what was assumed.
func Diagnose(in *Input) *Result {
	s := newSeries(in)
	r := s.diagnose()
	fastest := at(s.sorted, 0.05)
	if in.Floor > 0 || r.Verdict() != Unexplained || fastest <= s.floor {
		return r
	}
	assumed := *in
	assumed.Floor = time.Duration(fastest)
	again, key := newSeries(&assumed).diagnose(), "floor_assumed"
	if v := again.Verdict(); v == Unexplained || v == None {
		again, key = r, "floor_unknown"
	}
	again.Findings[0].Evidence = append(again.Findings[0].Evidence, Evidence{key, []any{ns(fastest)}})
	return again
}

func (s *series) diagnose() *Result {
	in := s.in
	r := s.result()
	r.Undecided = undecided(in)
	if len(s.messages) < fewest {
		r.Findings = append(clockSkew(s), s.broken()...)
		r.Findings = append(r.Findings, Finding{Cause: TooFew, Evidence: []Evidence{{"too_few", []any{len(s.messages), fewest}}}})
		return r
	}
	skew := clockSkew(s)
	if s.quiet() {
		r.Findings = append(skew, s.untroubled()...)
		return r
	}
	findings := s.mechanisms()
	slices.SortStableFunc(findings, func(a, b Finding) int { return cmp.Compare(b.Share, a.Share) })
	if f, rank := s.pattern(findings); rank >= 0 {
		at := slices.IndexFunc(findings, func(other Finding) bool { return other.Share < rank })
		if at < 0 {
			at = len(findings)
		}
		findings = slices.Insert(findings, at, f)
	}
	r.Unexplained = s.unexplained()
	if len(findings) == 0 {
		if s.steady() {
			findings = s.untroubled()
		} else {
			findings = append(findings, s.unexplainedFinding())
		}
	}
	if 100*in.Negative >= len(in.Messages) { // then no other time can be believed either
		findings = append(skew, findings...)
	} else {
		findings = append(findings, skew...)
	}
	r.Findings = findings
	return r
}

const (
	enough  = 0.3 // the share that a cause needs
	atLeast = 0.1 // and what a further one must add to those before it
)

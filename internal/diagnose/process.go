package diagnose

import "time"

// Process is what was seen of a running client from outside, without the times of its messages. nil = not looked at.
type Process struct {
	Facts
	For           time.Duration // how long it was looked at
	WaitCore      *float64      // part of the time that threads were ready and had no core
	Throttled     time.Duration
	Retransmitted uint64 // segments
	Pauses        int    // of the language runtime
	LongestPause  time.Duration
	Dropped       uint64 // messages, for want of room in the program's own queue
	DiskWrite     *float64
	MemorySteady  *float64 // part of the tenths of the time in which memory grew
	Sources       []Source
}

// What of a process's time, or of the looks at it, a cause needs.
const (
	mostly        = 0.5
	often         = 0.3
	notUnsent     = 0.1
	notRunning    = 0.05
	inDiskWrite   = 0.02
	manySwapIns   = 100
	steadyGrowth  = 0.9     // of the tenths of the time, at least
	muchGrowth    = 8 << 20 // bytes, and more than a tenth of all
	leakDoublesIn = time.Hour
	longPause     = time.Millisecond // as long as a message that is called slow takes
)

// DiagnoseProcess names what keeps a client from its messages. No share of an excess can be told, as the latency is not known.
func DiagnoseProcess(p *Process) *Result {
	r := &Result{Undecided: undecided(&Input{Sources: p.Sources})}
	add := func(c Cause, side string, evidence ...Evidence) {
		r.Findings = append(r.Findings, Finding{Cause: c, Side: side, Evidence: evidence})
	}
	above := func(x *float64, limit float64) bool { return x != nil && *x >= limit }
	s := &series{in: &Input{Facts: p.Facts}}
	busy := above(p.Unread, often) && !above(p.SocketWait, mostly)
	switch {
	case busy && above(p.Asleep, mostly):
		add(LoopSleep, "client", s.threadFacts()...)
	case busy:
		add(NotReading, "client", s.threadFacts()...)
	}
	if is(p.ClientNoDelay, false) && above(p.Unsent, notUnsent) {
		add(DelayedAck, "client", Evidence{"nodelay", []any{known(p.ClientNoDelay), known(p.BrokerNoDelay)}}, Evidence{"unsent", []any{percent(*p.Unsent)}})
	}
	if above(p.WaitCore, notRunning) {
		add(CPUContention, "client", Evidence{"wait_core", []any{percent(*p.WaitCore)}})
	}
	if p.For > 0 && p.Throttled.Seconds() >= notRunning*p.For.Seconds() {
		add(Throttling, "client", Evidence{"throttled", []any{p.Throttled, p.For}})
	}
	if p.LongestPause >= longPause {
		add(GCPause, "client", Evidence{"pauses", []any{p.Pauses, p.LongestPause}})
	}
	if p.Dropped > 0 {
		add(Backlog, "client", Evidence{"queue_dropped", []any{p.Dropped}})
	}
	if p.Retransmitted > 0 {
		add(PacketLoss, "network", Evidence{"retransmitted", []any{p.Retransmitted, p.For}})
	}
	if above(p.DiskWrite, inDiskWrite) {
		add(DiskWrite, "client", Evidence{"in_disk_write", []any{percent(*p.DiskWrite)}})
	}
	if p.SwapIns != nil && *p.SwapIns >= manySwapIns || p.grows() {
		add(MemoryGrowth, "client", memoryEvidence(&p.Facts)...)
	}
	if len(r.Findings) == 0 {
		add(None, "", s.threadFacts()...)
		if g := p.MemoryGrowth; g != nil && p.MemoryBytes != nil && *g*leakDoublesIn.Seconds() > *p.MemoryBytes {
			r.Findings[0].Evidence = append(r.Findings[0].Evidence, memoryEvidence(&p.Facts)...)
		}
	}
	return r
}

// grows: its memory grew all the time, and by much.
func (p *Process) grows() bool {
	if p.MemorySteady == nil || p.MemoryGrowth == nil || p.MemoryBytes == nil {
		return false
	}
	grew := *p.MemoryGrowth * p.For.Seconds()
	return *p.MemorySteady >= steadyGrowth && grew > muchGrowth && grew > *p.MemoryBytes/10
}

package trial

import (
	"fmt"

	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/worker"
)

// take writes a window and adds it to the totals.
func (j *job) take(w *ledger.Window) error {
	total := j.totals[w.Group]
	if total == nil {
		total = &ledger.Counts{}
		j.totals[w.Group] = total
	}
	total.Add(&w.Counts)
	if j.Watch != nil {
		j.Watch(w)
	}
	if j.Enough != nil {
		if why := j.Enough(w); why != "" {
			j.giveUp(&enoughError{why})
		}
	}
	return j.out.Window(w)
}

// enoughError ends a trial of which enough is known.
type enoughError struct{ why string }

func (e *enoughError) Error() string { return "stopped: " + e.why }

// settle turns a worker's result into the record, and checks that the sums come out.
func (j *job) settle(r *worker.Result) {
	if r == nil {
		return
	}
	_ = j.windows.Close() // totals are complete now; Run returns the error
	counts := worker.Settle(j.trial.Params.Pattern, r)
	subs := j.totals[engine.Subscribers]
	pubs := j.totals[engine.Publishers]
	if subs == nil || pubs == nil {
		j.record.Checks.LedgerMismatch = "no windows were recorded"
		return
	}
	subs.Add(&counts)
	j.record.Checks.Measured = int64(r.Measured)
	j.record.Checks.HoleOverflow = subs.Overflow > 0
	j.record.Checks.LedgerMismatch = mismatch(pubs, subs)
	j.record.Totals = []run.GroupTotal{{Group: engine.Publishers, Counts: *pubs}, {Group: engine.Subscribers, Counts: *subs}}
	j.record.Members = r.Members
	j.describeTLS(r.TLS)
	j.record.Stages = stages(r.Stages)
	j.record.Idle = idle(&j.trial.Params, r)
	j.record.Recovery = recovery(j.trial.Subject.Protocol, r.Recovery)
	j.describeWorker(r)
}

// mismatch says which sum does not come out, or "".
func mismatch(pubs, subs *ledger.Counts) string {
	if pubs.Sent+pubs.Unsent != pubs.Offered {
		return fmt.Sprintf("sent %d + unsent %d is not offered %d", pubs.Sent, pubs.Unsent, pubs.Offered)
	}
	if sum := subs.Delivered + subs.Lost + subs.UndeliveredUnsent; sum != subs.Expected {
		return fmt.Sprintf("delivered %d + lost %d + undelivered because unsent %d is not expected %d",
			subs.Delivered, subs.Lost, subs.UndeliveredUnsent, subs.Expected)
	}
	return ""
}

func (j *job) describeWorker(r *worker.Result) {
	c := &j.record.Client
	c.Engine, c.Loops, c.Quantum, c.KernelTimestamps = r.Facts.Engine, r.Facts.Loops, r.Facts.Quantum, r.Facts.KernelTimestamps
	c.Send, c.SendWhy, c.Writes = r.Facts.Send, r.Facts.SendWhy, r.Facts.Writes
	c.Settings = r.Facts.Settings
	j.record.Connections = connections(r.Connections)
	j.record.Connections.ReadyIn = j.readyIn
	j.record.Churn = churn(r.Visits)
	if r.TCP != nil {
		j.record.Wire = wire(r.TCP)
	}
	j.agree(r)
	g := &j.record.Generator
	g.Cores = j.given(r.Facts)
	if r.Used.HasCPU {
		g.CPUSeconds = new(r.Used.CPU.Seconds())
		g.SpinSeconds = new(r.Spun.Seconds())
	}
	g.GCPauseTotal, g.GCPauseMax = new(int64(r.Used.GCPause)), new(int64(r.Used.GCMax))
}

// stages turns how far messages came into the record; nil = it was not followed.
func stages(s *worker.Stages) *run.Stages {
	if s == nil {
		return nil
	}
	out := &run.Stages{Written: s.Final.Written, TCPAcked: s.Final.TCPAcked}
	if s.AtEnd != nil {
		out.WrittenAtEnd, out.TCPAckedAtEnd = &s.AtEnd.Written, &s.AtEnd.TCPAcked
	}
	return out
}

// describeTLS notes what handshakes agreed on and cost.
func (j *job) describeTLS(h *worker.Handshakes) {
	t := j.record.Client.TLS
	if t == nil || h == nil {
		return
	}
	t.Version, t.Cipher, t.Group = h.Version, h.Cipher, h.Group
	t.Handshakes, t.Resumed, t.BytesUp, t.BytesDown = uint64(h.Count), uint64(h.Resumed), h.BytesUp, h.BytesDown
}

// recovery is what outages did; nil where there were none.
func recovery(protocol string, r engine.Recovery) *run.Recovery {
	if r.Outages == 0 {
		return nil
	}
	out := &run.Recovery{
		Outages: uint64(r.Outages), Affected: uint64(r.Affected), Noticed: uint64(r.Noticed), Returned: uint64(r.Returned),
		Backlog: r.Backlog, Largest: r.Largest, Missed: r.Missed, Oldest: r.Oldest, Newest: r.Newest,
	}
	if plan.IsMQTT(protocol) {
		out.Resumed = new(uint64(r.Resumed))
	}
	return out
}

// churn turns what became of visitors into the record; nil = there were none.
func churn(v *worker.Visits) *run.Churn {
	if v == nil {
		return nil
	}
	return &run.Churn{Due: uint64(v.Due), Made: uint64(v.Made), Failed: uint64(v.Failed), Failures: failures(v.Failures)}
}

func connections(c engine.Connections) run.Connections {
	return run.Connections{
		Attempted: uint64(c.Attempted), Established: uint64(c.Established), Failed: uint64(c.Failed),
		Lost: uint64(c.Lost), Reconnected: uint64(c.Reconnected), Failures: failures(c.Failures), Refusals: failures(c.Refusals),
	}
}

// failures lists reasons, the most frequent first.
func failures(byReason map[string]int) (list []run.Failure) {
	for reason, n := range byReason {
		list = append(list, run.Failure{Reason: reason, Count: uint64(n)})
	}
	sortFailures(list)
	return list
}

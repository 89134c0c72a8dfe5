package engine

import (
	"time"

	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/ledger"
)

// recorder fills the windows of one group, one second each, cut at whole seconds from the start of the measure window.
type recorder struct {
	group    string
	cur      *ledger.Window
	measure  int64 // zero of the windows' times
	end      int64
	boundary int64  // when cur ends
	unsent   uint64 // bytes that were counted as out, came back, and will be sent again
}

// sent counts bytes that went out.
func (r *recorder) sent(n int) {
	again := min(uint64(n), r.unsent)
	r.unsent -= again
	r.window().InWindow.BytesOut += uint64(n) - again
}

// begin ends the window of the connect phase, which began at opened, and starts the schedule's.
func (r *recorder) begin(opened, start, measure, end int64, emit func(*ledger.Window)) {
	r.measure, r.end = measure, end
	r.window().Start = opened - measure
	r.cut(start, emit)
	r.boundary = r.after(start)
}

// after returns the first boundary later than t: a whole second, or the end of the measure window.
func (r *recorder) after(t int64) int64 {
	const second = int64(time.Second)
	k := (t - r.measure) / second
	if t < r.measure {
		k = -((r.measure - t + second - 1) / second)
	}
	b := r.measure + (k+1)*second
	if t < r.end && b > r.end {
		b = r.end
	}
	return b
}

func (r *recorder) phase(start int64) string {
	switch {
	case start < 0:
		return "warm-up"
	case start < r.end-r.measure:
		return "measure"
	}
	return "drain"
}

func (r *recorder) window() *ledger.Window {
	if r.cur == nil {
		r.cur = &ledger.Window{Group: r.group, Phase: "connect"}
	}
	return r.cur
}

func (r *recorder) record(m ledger.Metric, v int64) { r.recordN(m, v, 1) }

// recordN is n times record.
func (r *recorder) recordN(m ledger.Metric, v, n int64) {
	w := r.window()
	h := w.Hists[m]
	if h == nil {
		h = hist.New()
		w.Hists[m] = h
	}
	h.RecordN(v, n)
}

// rotate emits every window whose time is over.
func (r *recorder) rotate(now int64, emit func(*ledger.Window)) {
	for now >= r.boundary {
		r.cut(r.boundary, emit)
		r.boundary = r.after(r.boundary)
	}
}

// cut ends the current window at time at and starts the next.
func (r *recorder) cut(at int64, emit func(*ledger.Window)) {
	w := r.window()
	w.End = at - r.measure
	r.cur = nil
	next := r.window()
	next.Start = w.End
	next.Phase = r.phase(next.Start)
	emit(w)
}

package capacity

import (
	"errors"
	"time"

	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/gate"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/search"
)

var (
	errBaseline = errors.New("a search compares with no other run: write a number")
	errSubject  = errors.New("the limits of a search are for every subject: leave out the name")
)

// Watch sees the windows of a probe and tells when it is certain to fail.
type Watch struct {
	early   search.Early
	fan     float64
	last    int // the last second that was judged, counted from -warm
	warm    int
	seconds map[int]*second
}

// second is what is known of one second of a probe, from all windows that end in it.
type second struct {
	inside, due, recorded float64
	late                  []float64
}

// Watch watches a trial of the search.
func (h *Hunt) Watch(t plan.Trial) *Watch {
	p := &t.Params
	w := &Watch{fan: float64(p.Fan()), warm: int(p.Phases.WarmUp / time.Second), seconds: map[int]*second{}}
	w.last = -w.warm
	w.early = search.Early{Expected: p.RatePerS * p.Phases.Measure.Seconds() * w.fan, Length: p.Phases.Measure}
	for _, l := range h.limits {
		upper := l.Op == gate.Less || l.Op == gate.AtMost
		switch q, ok := percentileOf(l.Metric.Name); {
		case ok && upper && l.Metric.Name == "response_"+q.Name:
			w.early.Bounds = append(w.early.Bounds, search.Bound{Quantile: q.Q, Within: int64(l.Value)})
		case l.Metric.Name == "achieved" && (l.Op == gate.More || l.Op == gate.AtLeast):
			w.early.Achieved = max(w.early.Achieved, l.Value)
		}
	}
	return w
}

// slot widens a bound by the resolution of histograms, so that nothing is called late that might be in time.
const slot = 1.01

// Window takes a window and says why the probe must fail, "" while it may hold. A second is judged when the first window of the next
// one comes, a second later: those of several loops do not come at the same moment.
func (w *Watch) Window(win *ledger.Window) (why string) {
	n := int((win.End + int64(time.Second) - 1) / int64(time.Second)) // the second, from 1, that it ends in; 0 and below in the warm-up
	if win.End <= 0 {
		n = int(win.End / int64(time.Second))
	}
	s := w.seconds[n]
	if s == nil {
		s = &second{late: make([]float64, len(w.early.Bounds))}
		w.seconds[n] = s
	}
	if win.Group == engine.Publishers {
		s.due += float64(win.Counts.Offered) * w.fan
	} else if win.Group == engine.Subscribers {
		s.inside += float64(win.InWindow.Delivered)
		w.response(s, win)
	}
	for w.last+1 < n {
		w.last++
		if why == "" {
			why = w.judge(w.last)
		}
	}
	return why
}

func (w *Watch) response(s *second, win *ledger.Window) {
	h := win.Hists[ledger.Response]
	if h == nil {
		return
	}
	s.recorded += float64(h.Count())
	for i, b := range w.early.Bounds {
		s.late[i] += float64(h.Count() - h.CountAtMost(int64(float64(b.Within)*slot)))
	}
}

// judge gives a second that is complete to Early.
func (w *Watch) judge(n int) string {
	at := time.Duration(n) * time.Second
	if n <= 0 {
		if s := w.seconds[n]; s != nil {
			return w.early.Second(search.Progress{At: at, Inside: s.inside, Late: s.late})
		}
		return ""
	}
	p := search.Progress{At: at, Late: make([]float64, len(w.early.Bounds))}
	for k := 1; k <= n; k++ {
		s := w.seconds[k]
		if s == nil {
			continue
		}
		p.Inside += s.inside
		p.Due += s.due
		p.Recorded += s.recorded
		for i, late := range s.late {
			p.Late[i] += late
		}
	}
	return w.early.Second(p)
}

package report

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/mqlab/mqlab/internal/chart"
	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/monitor"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/summary"
)

// cellFold is what charts show of one cell: its repetitions, merged.
type cellFold struct {
	invalid  bool // no repetition is valid: these are all there are
	trials   []*run.Trial
	hists    [ledger.NumMetrics]*hist.Hist
	expected [ledger.NumMetrics]int64 // times there should be; 0 = not known
	seconds  []second
}

// second is what happened in one second of all repetitions.
type second struct {
	n        int64 // since the measure window opened
	from, to int64 // ns, of the windows in it
	covered  int64 // ns, sum over the repetitions
	in       ledger.InWindow
	response *hist.Hist
}

// foldCells merges the repetitions of each cell.
func foldCells(s *summary.Summary, r *run.Run) map[int]*cellFold {
	folds := map[int]*cellFold{}
	for i := range s.Cells {
		c := &s.Cells[i]
		f := &cellFold{invalid: c.Valid == 0}
		folds[c.Cell] = f
		for _, id := range c.Trials {
			t := trialOf(s, id)
			n := slices.IndexFunc(r.Trials, func(x run.Trial) bool { return x.Trial.ID == id })
			if t == nil || n < 0 || t.Validity == summary.Invalid && !f.invalid {
				continue
			}
			f.add(&r.Trials[n], t)
		}
		slices.SortFunc(f.seconds, func(a, b second) int { return cmp.Compare(a.n, b.n) })
	}
	return folds
}

func trialOf(s *summary.Summary, id int) *summary.Trial {
	i := slices.IndexFunc(s.Trials, func(t summary.Trial) bool { return t.ID == id })
	if i < 0 {
		return nil
	}
	return &s.Trials[i]
}

// add merges one repetition.
func (f *cellFold) add(t *run.Trial, s *summary.Trial) {
	f.trials = append(f.trials, t)
	for m, q := range map[ledger.Metric]*summary.Quantiles{ledger.Response: s.Latency.Response, ledger.Service: s.Latency.Service, ledger.Ack: s.Latency.Ack} {
		if q != nil {
			f.expected[m] += int64(q.Expected)
		}
	}
	spans := map[int64]int64{}
	for i := range t.Windows {
		w := &t.Windows[i]
		n := int64(math.Floor(time.Duration(w.Start).Seconds()))
		x := f.at(n, w)
		x.merge(w)
		spans[n] = max(spans[n], w.End-max(w.Start, n*int64(time.Second)))
		for m, expected := range f.expected {
			if h := w.Hists[m]; h != nil && w.Start >= 0 && expected > 0 {
				f.hists[m] = merged(f.hists[m], h)
			}
		}
	}
	for n, covered := range spans {
		f.at(n, nil).covered += covered
	}
}

// at is the n-th second, made of w if there is none.
func (f *cellFold) at(n int64, w *ledger.Window) *second {
	i := slices.IndexFunc(f.seconds, func(x second) bool { return x.n == n })
	if i < 0 {
		i = len(f.seconds)
		f.seconds = append(f.seconds, second{n: n, from: w.Start, to: w.End})
	}
	return &f.seconds[i]
}

func (x *second) merge(w *ledger.Window) {
	x.from, x.to = min(x.from, w.Start), max(x.to, w.End)
	var all ledger.Window
	all.InWindow = x.in
	all.Merge(&ledger.Window{InWindow: w.InWindow})
	x.in = all.InWindow
	if h := w.Hists[ledger.Response]; h != nil {
		x.response = merged(x.response, h)
	}
}

// merged adds b to a, or a copy of it where there is no a yet.
func merged(a, b *hist.Hist) *hist.Hist {
	if a == nil {
		return b.Clone()
	}
	a.Merge(b)
	return a
}

// rate is a count of a second per second; no number where the second was cut short.
func (x *second) rate(count uint64) float64 {
	full := float64(x.covered) / float64(time.Second)
	if x.to-x.from < int64(time.Second)/2 || full <= 0 {
		return none
	}
	return float64(count) / full
}

// column sorts the response times of a second into the rows of a heat map, exactly.
func (x *second) column() chart.Column {
	c := chart.Column{From: inSeconds(x.from), To: inSeconds(x.to)}
	if x.response == nil || x.response.Count() == 0 {
		return c
	}
	before := int64(0)
	for _, end := range chart.Rows(math.Max(1, float64(x.response.Min())), float64(x.response.Quantile(1))) {
		n := atMost(x.response, int64(end))
		c.Buckets = append(c.Buckets, chart.Bucket{Value: end, Count: n - before})
		before = n
	}
	return c
}

// atMost counts the values whose slot ends at or below v.
func atMost(h *hist.Hist, v int64) int64 {
	n := int(h.Count())
	return int64(sort.Search(n, func(i int) bool { // the value of rank i+1 is above v
		return h.Quantile((float64(i)+0.5)/float64(n)) > v
	}))
}

// phases are those of all repetitions together.
func (f *cellFold) phases() (phases []chart.Phase) {
	for _, t := range f.trials {
		for i := range t.Windows {
			w := &t.Windows[i]
			n := slices.IndexFunc(phases, func(p chart.Phase) bool { return p.Name == w.Phase })
			if n < 0 {
				n = len(phases)
				phases = append(phases, chart.Phase{Name: w.Phase, From: inSeconds(w.Start), To: inSeconds(w.End), Main: w.Phase == "measure"})
			}
			p := &phases[n]
			p.From, p.To = math.Min(p.From, inSeconds(w.Start)), math.Max(p.To, inSeconds(w.End))
		}
	}
	slices.SortStableFunc(phases, func(a, b chart.Phase) int { return cmp.Compare(a.From, b.From) })
	for i := 1; i < len(phases); i++ { // repetitions are not equally long: the longest counts
		phases[i].From = math.Max(phases[i].From, phases[i-1].To)
	}
	return phases
}

// sameMoment is how close events of repetitions are together to be marked once, in seconds.
const sameMoment = 0.25

// outOfService says in what state the broker is after a fault has begun.
func outOfService(e *run.Event) string {
	if e.Kind == "pause" {
		return "paused"
	}
	return "down"
}

// marks are the events of all repetitions; a pause lasts until the broker is resumed, its absence until it is started.
func (f *cellFold) marks() (marks []chart.Mark) {
	for _, t := range f.trials {
		var paused *run.Event
		for i := range t.Events {
			switch e := &t.Events[i]; e.Kind {
			case "pause", "stop", "kill":
				paused = e
			case "resume", "start":
				if paused != nil {
					marks = mark(marks, chart.Mark{Kind: outOfService(paused), From: inSeconds(paused.T), To: inSeconds(e.T)})
				}
				paused = nil
			default:
				marks = mark(marks, chart.Mark{Kind: spaced(e.Kind), From: inSeconds(e.T)})
			}
		}
		if paused != nil {
			marks = mark(marks, chart.Mark{Kind: outOfService(paused), From: inSeconds(paused.T), To: f.end()})
		}
	}
	slices.SortStableFunc(marks, func(a, b chart.Mark) int { return cmp.Compare(a.From, b.From) })
	return marks
}

// mark adds m, or widens one of the same kind at the same moment.
func mark(marks []chart.Mark, m chart.Mark) []chart.Mark {
	for i := range marks {
		if o := &marks[i]; o.Kind == m.Kind && m.To > m.From && math.Abs(o.From-m.From) < sameMoment {
			o.From, o.To = math.Min(o.From, m.From), math.Max(o.To, m.To)
			return marks
		}
	}
	return append(marks, m)
}

// start and end are the span of time that charts show.
func (f *cellFold) start() float64 {
	if len(f.seconds) == 0 {
		return 0
	}
	return inSeconds(f.seconds[0].from)
}

func (f *cellFold) end() (last float64) {
	for _, x := range f.seconds {
		last = math.Max(last, inSeconds(x.to))
	}
	return last
}

// shortestInterval between two samples of which a load is drawn: CPU time is counted in ticks of 10 ms.
const shortestInterval = int64(100 * time.Millisecond)

// load is the CPU load of a role in percent of a core between samples, mean over the repetitions.
func (f *cellFold) load(role string) []chart.Point {
	return f.mean(math.Floor, func(t *run.Trial, add func(x, y float64)) { // an interval lies around a half second
		samples := samplesOf(t, role)
		for i := 1; i < len(samples); i++ {
			a, b := &samples[i-1], &samples[i]
			if b.T-a.T >= shortestInterval {
				add(inSeconds(a.T+b.T)/2, 100*(b.CPUSeconds-a.CPUSeconds)/inSeconds(b.T-a.T))
			}
		}
	})
}

// memory is the memory of a role, mean over the repetitions.
func (f *cellFold) memory(role string) []chart.Point {
	return f.mean(math.Round, func(t *run.Trial, add func(x, y float64)) {
		for _, s := range samplesOf(t, role) {
			if s.PSSBytes > 0 {
				add(inSeconds(s.T), float64(s.PSSBytes))
			}
		}
	})
}

// mean averages the points that collect adds for each trial, those in the same second together.
func (f *cellFold) mean(second func(float64) float64, collect func(t *run.Trial, add func(x, y float64))) (points []chart.Point) {
	type sum struct{ x, y, n float64 }
	sums := map[float64]sum{}
	for _, t := range f.trials {
		collect(t, func(x, y float64) {
			at := second(x)
			s := sums[at]
			sums[at] = sum{s.x + x, s.y + y, s.n + 1}
		})
	}
	for _, s := range sums {
		points = append(points, chart.Point{X: s.x / s.n, Y: s.y / s.n})
	}
	slices.SortFunc(points, func(a, b chart.Point) int { return cmp.Compare(a.X, b.X) })
	return points
}

// samplesOf are the samples of a role, their time since the measure window opened. Without that time there are none.
func samplesOf(t *run.Trial, role string) (samples []monitor.Sample) {
	if t.MeasureStart == 0 {
		return nil
	}
	for _, s := range t.Monitor {
		if s.Role == role {
			s.T -= t.MeasureStart
			samples = append(samples, s)
		}
	}
	slices.SortStableFunc(samples, func(a, b monitor.Sample) int { return cmp.Compare(a.T, b.T) })
	return samples
}

func inSeconds(ns int64) float64 { return time.Duration(ns).Seconds() }

package findings

import (
	"slices"
	"time"

	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/run"
)

// mostStretches bounds a course: of a longer run a stretch is several seconds.
const mostStretches = 3600

// worthSaying is the least that a message waits to be counted as one that waited.
const worthSaying = int64(time.Millisecond)

// Course is how a trial went; nil where Why says why not.
func Course(rec *run.Trial) *diagnose.Course {
	if Why(rec) != "" {
		return nil
	}
	p := &rec.Trial.Params
	c := &diagnose.Course{
		KeepAlive: p.Connect.KeepAlive, Window: window(rec),
		Sources: []diagnose.Source{diagnose.Schedule, diagnose.Events, diagnose.Window, diagnose.Memory},
		Facts:   diagnose.Facts{ClientNoDelay: new(rec.Client.NoDelay)},
	}
	f := newFold(rec)
	f.into(c)
	c.Negative = int(f.skew)
	c.Lost = int(lost(rec))
	c.Signals = append(signals(rec), alarms(rec, c)...)
	watch(rec, c)
	network(rec, c)
	return c
}

// window is how many messages a publisher may have unacknowledged; 0 = there is no limit.
func window(rec *run.Trial) int {
	if rec.Trial.Params.QoS == 0 {
		return 0
	}
	own := max(rec.Client.Window, rec.Trial.Params.Window)
	if granted := rec.Client.ReceiveMaximum; granted > 0 && (own == 0 || granted < own) {
		return granted
	}
	return own
}

func lost(rec *run.Trial) (n uint64) {
	for i := range rec.Totals {
		n += rec.Totals[i].Counts.Lost
	}
	return n
}

// fold is a trial's windows by stretches.
type fold struct {
	stretches []stretch
	times     *hist.Hist // of all
	acks      *hist.Hist
	skew      uint64
	copies    float64
}

type stretch struct {
	diagnose.Stretch
	times *hist.Hist
}

func newFold(rec *run.Trial) *fold {
	f := &fold{times: hist.New(), acks: hist.New(), copies: 1}
	width := f.width(rec)
	byStart := map[int64]int{}
	var offered, expected uint64
	for i := range rec.Totals {
		offered, expected = offered+rec.Totals[i].Counts.Offered, expected+rec.Totals[i].Counts.Expected
	}
	if offered > 0 && expected > 0 {
		f.copies = float64(expected) / float64(offered)
	}
	for i := range rec.Windows {
		w := &rec.Windows[i]
		if w.Start < 0 {
			continue
		}
		n, ok := byStart[w.Start/width]
		if !ok {
			n = len(f.stretches)
			byStart[w.Start/width] = n
			f.stretches = append(f.stretches, stretch{times: hist.New(), Stretch: diagnose.Stretch{
				Span: diagnose.Span{From: w.Start, To: w.End}, Copies: f.copies,
			}})
		}
		f.add(&f.stretches[n], w)
	}
	slices.SortStableFunc(f.stretches, func(a, b stretch) int { return int(min(max(a.From-b.From, -1), 1)) })
	return f
}

// width is that of a stretch: a second, or as many as bound their number.
func (f *fold) width(rec *run.Trial) int64 {
	last := int64(0)
	for i := range rec.Windows {
		last = max(last, rec.Windows[i].End)
	}
	seconds := last/int64(time.Second) + 1
	return int64(time.Second) * ((seconds + mostStretches - 1) / mostStretches)
}

func (f *fold) add(s *stretch, w *ledger.Window) {
	s.From, s.To = min(s.From, w.Start), max(s.To, w.End)
	if w.Phase == "measure" {
		s.Offered += int(w.Counts.Offered)
		s.Delivered += int(w.Counts.Delivered)
	}
	s.Sent += int(w.InWindow.Sent)
	f.skew += w.Counts.ClockSkew
	if h := w.Hists[ledger.Response]; h != nil {
		s.times.Merge(h)
		f.times.Merge(h)
	}
	if h := w.Hists[ledger.Ack]; h != nil {
		f.acks.Merge(h)
	}
	s.Late = joined(s.Late, w.Hists[ledger.Lateness])
	s.Blocked = joined(s.Blocked, w.Hists[ledger.Blocked])
	if h := w.Hists[ledger.Client]; h != nil && h.Count() > 0 {
		s.Reading, s.ReadAll = joined(s.Reading, h), true
	}
}

// joined adds the waits of a histogram that are worth it.
func joined(w diagnose.Waits, h *hist.Hist) diagnose.Waits {
	if h == nil {
		return w
	}
	for v, n := range h.All() {
		if v >= worthSaying {
			w.Count, w.Sum, w.Max = w.Count+n, w.Sum+v*n, max(w.Max, v)
		}
	}
	return w
}

func (f *fold) into(c *diagnose.Course) {
	for i := range f.stretches {
		s := &f.stretches[i]
		s.Times = bins(s.times)
		c.Stretches = append(c.Stretches, s.Stretch)
	}
	h := f.times
	c.Figures = diagnose.Figures{
		Messages: int(h.Count()), Mean: h.Mean(), Deviation: h.StdDev(), P50: h.Quantile(0.5), P99: h.Quantile(0.99), Max: h.Max(),
	}
	if f.acks.Count() > 0 {
		c.Ack, c.AckLeast = time.Duration(f.acks.Quantile(0.5)), time.Duration(f.acks.Min())
	}
}

// bins joins what differs by less than a tenth.
func bins(h *hist.Hist) (list []diagnose.Bin) {
	begin := int64(-1)
	for v, n := range h.All() {
		if begin < 0 || v > begin+begin/10 {
			list = append(list, diagnose.Bin{})
			begin = v
		}
		b := &list[len(list)-1]
		b.Count, b.Sum = b.Count+n, b.Sum+v*n
	}
	return list
}

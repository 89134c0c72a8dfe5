package summary

import (
	"cmp"
	"hash/fnv"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/stat"
)

// Comparison sets the subjects of one point that make the same promise beside each other, by one metric. Subjects with
// different promises are in different comparisons: they are never ranked together.
type Comparison struct {
	Point int               `json:"point"`
	Set   []plan.Assignment `json:"set,omitempty"` // the matrix values of the point
	Promise
	Metric        string     `json:"metric"`
	Unit          Unit       `json:"unit"`
	Better        string     `json:"better"` // lower, higher
	Subjects      []Standing `json:"subjects"`
	Groups        [][]string `json:"groups"` // ranked subjects, best first; those of a group were not told apart
	Verdicts      []Verdict  `json:"verdicts,omitempty"`
	NotComparable []Unlike   `json:"not_comparable,omitempty"`
}

// Standing is one subject's place in a comparison.
type Standing struct {
	Subject     string     `json:"subject"`
	Median      *float64   `json:"median,omitempty"` // over the repetitions
	CILow       *float64   `json:"ci_low,omitempty"` // bootstrap interval of the median, 95 %
	CIHigh      *float64   `json:"ci_high,omitempty"`
	Repetitions int        `json:"repetitions"` // that are in the median
	Excluded    []Excluded `json:"excluded,omitempty"`
	// Pooled is over how many messages of all repetitions the percentile is taken at once, where each repetition has too few for it;
	// the interval is then one of order statistics, as if messages were independent of each other.
	Pooled   uint64 `json:"pooled_messages,omitempty"`
	Lost     bool   `json:"lost,omitempty"`     // the percentile falls among lost messages
	Unranked string `json:"unranked,omitempty"` // why it is in no group
}

// Excluded is a trial that is not in a comparison.
type Excluded struct {
	Trial int    `json:"trial"`
	Why   string `json:"why"`
}

// Unlike is a subject of the same point that makes another promise.
type Unlike struct {
	Subject string `json:"subject"`
	Promise
}

// Verdict says what the repetitions show about two subjects.
type Verdict struct {
	Better    string   `json:"better"` // of the two, by its median
	Worse     string   `json:"worse"`
	Different bool     `json:"different"`            // intervals and rank test both tell them apart
	Factor    *float64 `json:"factor,omitempty"`     // worse by better, or better by worse where more is better
	Low       *float64 `json:"factor_low,omitempty"` // its bootstrap interval, 95 %
	High      *float64 `json:"factor_high,omitempty"`
	P         *float64 `json:"p,omitempty"`      // of the rank test, adjusted for the number of pairs
	Needed    *int     `json:"needed,omitempty"` // repetitions it would take to show the difference seen; absent if more than 100
	Text      string   `json:"text"`
}

// Why a trial or a subject is not in a ranking.
const (
	whyLost    = "the percentile falls among lost messages"
	whyFew     = "too few messages for this percentile"
	whyPooled  = "each repetition has too few messages for this percentile; it is that of all together"
	whyUnknown = "not known"
	whyNoTrial = "no valid trial"
)

// comparisonsOf compares the subjects of each field by each metric of which there is anything to see.
func comparisonsOf(fields []*field, seed uint64) []Comparison {
	all := []Comparison{}
	var samples [][][]float64
	var metrics []*Metric
	for _, field := range fields {
		for m := range Metrics {
			if field.connections() < Metrics[m].connections {
				continue
			}
			c, values := field.standings(&Metrics[m])
			if slices.ContainsFunc(c.Subjects, func(s Standing) bool { return s.Median != nil || s.Lost }) {
				all, samples, metrics = append(all, c), append(samples, values), append(metrics, &Metrics[m])
			}
		}
	}
	atOnce(len(all), func(i int) {
		c := &all[i]
		c.rank(samples[i], metrics[i], mix(seed, c.Point, c.Promise.String(), c.Metric))
	})
	return all
}

// atOnce calls f for 0 to n-1 on all cores and returns when every call has.
func atOnce(n int, f func(i int)) {
	var wg sync.WaitGroup
	var next atomic.Int64
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wg.Wait()
}

// field is the subjects that may be compared: the cells of one point with one promise.
type field struct {
	point    int
	set      []plan.Assignment
	promise  Promise
	subjects []string
	trials   map[string][]*Trial
	unlike   []Unlike
}

// connections is how many connections the trials of the field have.
func (f *field) connections() (most int) {
	for _, trials := range f.trials {
		p := &trials[0].Params
		most = max(most, p.Publishers+p.Subscribers)
	}
	return most
}

// fieldsOf sorts trials into fields, in the order of points and cells.
func fieldsOf(trials []Trial) []*field {
	sorted := make([]*Trial, len(trials))
	for i := range trials {
		sorted[i] = &trials[i]
	}
	slices.SortStableFunc(sorted, func(a, b *Trial) int {
		if a.Point != b.Point {
			return a.Point - b.Point
		}
		return a.Cell - b.Cell
	})
	var fields []*field
	for _, t := range sorted {
		i := slices.IndexFunc(fields, func(f *field) bool { return f.point == t.Point && f.promise == t.Promise })
		if i < 0 {
			i = len(fields)
			fields = append(fields, &field{point: t.Point, set: t.Params.Set, promise: t.Promise, trials: map[string][]*Trial{}})
		}
		f, name := fields[i], t.Subject.Name
		if f.trials[name] == nil {
			f.subjects = append(f.subjects, name)
		}
		f.trials[name] = append(f.trials[name], t)
	}
	for _, f := range fields {
		for _, other := range fields {
			if other.point != f.point || other == f {
				continue
			}
			for _, name := range other.subjects {
				f.unlike = append(f.unlike, Unlike{name, other.promise})
			}
		}
	}
	return fields
}

// standings makes the comparison by one metric, as yet unranked, and the values to rank by.
func (f *field) standings(m *Metric) (c Comparison, samples [][]float64) {
	c = Comparison{
		Point: f.point, Set: f.set, Promise: f.promise, Metric: m.Name, Unit: m.Unit, Better: "lower",
		Groups: [][]string{}, NotComparable: f.unlike,
	}
	if m.Higher {
		c.Better = "higher"
	}
	for _, name := range f.subjects {
		s, values := standing(name, f.trials[name], m)
		c.Subjects, samples = append(c.Subjects, s), append(samples, values)
	}
	return c, samples
}

// standing is the median of trials of one subject, and the values it is of.
func standing(name string, trials []*Trial, m *Metric) (s Standing, values []float64) {
	s.Subject = name
	for _, t := range trials {
		v, why := m.value(t)
		s.Lost = s.Lost || why == whyLost
		if v == nil {
			s.Excluded = append(s.Excluded, Excluded{t.ID, why})
		} else {
			values = append(values, *v)
		}
	}
	s.Repetitions = len(values)
	switch {
	case s.Lost:
		s.Unranked, values = whyLost, nil
	case len(values) == 0:
		s.Unranked = cmp.Or(s.pool(trials, m), s.whyNone())
	default:
		s.Median = new(stat.Median(values))
	}
	return s, values
}

// value returns the metric of a trial, or why it has none.
func (m *Metric) value(t *Trial) (v *float64, why string) {
	if t.Validity == Invalid {
		return nil, "invalid: " + t.firstInvalid()
	}
	if v = m.Of(t); v != nil {
		return v, ""
	}
	if m.times == nil {
		return nil, whyUnknown
	}
	switch q := m.times(t); {
	case q == nil:
		return nil, whyUnknown
	case slices.Contains(q.TooFew, m.percentile):
		return nil, whyFew
	}
	return nil, whyLost
}

func (t *Trial) firstInvalid() string {
	for _, r := range t.Reasons {
		if r.Level == Invalid {
			return r.Code
		}
	}
	return ""
}

// whyNone is why a subject has no value at all.
func (s *Standing) whyNone() string {
	for _, x := range s.Excluded {
		if x.Why == whyFew || x.Why == whyUnknown {
			return x.Why
		}
	}
	return whyNoTrial
}

// rank fills in intervals, groups and verdicts.
func (c *Comparison) rank(samples [][]float64, m *Metric, seed uint64) {
	for i, values := range samples {
		if ci, ok := stat.BootstrapCI(values); ok {
			c.Subjects[i].CILow, c.Subjects[i].CIHigh = &ci.Low, &ci.High
		}
	}
	r := stat.Groups(samples, seed)
	for _, group := range r.Groups {
		names := make([]string, len(group))
		for i, subject := range group {
			names[i] = c.Subjects[subject].Subject
		}
		c.Groups = append(c.Groups, names)
	}
	if m.Higher {
		slices.Reverse(c.Groups)
		for _, names := range c.Groups {
			slices.Reverse(names)
		}
	}
	for i := range r.Pairs {
		c.Verdicts = append(c.Verdicts, c.verdict(&r.Pairs[i], m))
	}
}

// mix makes a seed of its own for each comparison (FNV-1a).
func mix(seed uint64, point int, promise, metric string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(strconv.FormatUint(seed, 16) + "/" + strconv.Itoa(point) + "/" + promise + "/" + metric))
	return h.Sum64()
}

package search

import (
	"fmt"
	"time"
)

// Bound is a limit on a percentile: at least the part Quantile of the deliveries must come within Within nanoseconds.
type Bound struct {
	Quantile float64
	Within   int64
}

// Early watches a probe and tells when it is certain to fail, so that its rest need not be waited for. It never says so of a probe
// that could still hold, and never that one holds: until the end there may come anything.
//
// Of percentiles the test is exact (a curtailed sampling plan): once more deliveries are late than the limit allows among all
// that the whole probe is to cause, nothing that follows can mend it. Of the part that must arrive in time it assumes that the broker
// never delivers more than spare times what it did in its best second so far.
type Early struct {
	Expected float64       // deliveries that all messages of the measure phase should cause
	Length   time.Duration // of the measure phase
	Bounds   []Bound
	Achieved float64 // least part of Expected to be delivered within the measure phase; 0 = there is no such limit

	best  float64 // deliveries in one second at most
	seen  int     // seconds
	after []Progress
}

// spare is how much faster than in its best second a broker may still become.
const spare = 1.1

// enoughSeconds is how many must have been seen before a rate is believed, those of the warm-up included.
const enoughSeconds = 2

// Progress is how far a probe is at the end of one second.
type Progress struct {
	At       time.Duration // since the measure phase began; not above 0 in the warm-up
	Inside   float64       // deliveries since then, whatever the due time; of a second of the warm-up those within it
	Due      float64       // deliveries that were due since then
	Recorded float64       // deliveries of these that came
	Late     []float64     // of Recorded, those later than each bound
}

// Second takes the progress at the end of the next second and says why the probe must fail; "" while it may still hold.
func (e *Early) Second(p Progress) (why string) {
	inside := p.Inside
	if n := len(e.after); n > 0 {
		inside -= e.after[n-1].Inside
	}
	e.best = max(e.best, inside)
	e.seen++
	if p.At <= 0 {
		return ""
	}
	e.after = append(e.after, p)
	for i, b := range e.Bounds {
		if why = e.late(p, i, b); why != "" {
			return why
		}
	}
	return e.behind(p)
}

// late compares what is late already with what may be late in the end.
func (e *Early) late(p Progress, i int, b Bound) string {
	late := p.Late[i]
	for _, before := range e.after { // what was due longer ago than the bound and has not come is late, too
		if p.At-before.At >= time.Duration(b.Within) {
			late = max(late, p.Late[i]+before.Due-p.Recorded)
		}
	}
	allowed := (1 - b.Quantile) * e.Expected
	if late <= allowed+1 {
		return ""
	}
	return fmt.Sprintf("after %s %.0f deliveries were later than %s; of all %.0f there may be %.0f",
		p.At.Round(time.Millisecond), late, time.Duration(b.Within), e.Expected, allowed)
}

// behind asks whether what is missing could still come in time.
func (e *Early) behind(p Progress) string {
	if e.Achieved == 0 || e.seen < enoughSeconds || p.At >= e.Length {
		return ""
	}
	most := p.Inside + spare*e.best*(e.Length-p.At).Seconds()
	if most >= e.Achieved*e.Expected {
		return ""
	}
	return fmt.Sprintf("after %s %.0f of %.0f deliveries had come; at the pace of its best second the broker would reach %.1f %% in the end",
		p.At.Round(time.Millisecond), p.Inside, p.Due, 100*most/e.Expected)
}

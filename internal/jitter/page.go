package jitter

import (
	"io"
	"math"
	"strings"

	"github.com/mqlab/mqlab/internal/chart"
	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/report"
	"github.com/mqlab/mqlab/internal/summary"
)

// Page writes a report as markdown, or as one page of HTML that needs nothing else, in a language of diagnose.Languages. Its figures are those
// of Text. explain says what a word means, "" = nothing.
func Page(w io.Writer, format string, r *Report, language string, command []string, explain func(word string) string) error {
	in := tongue(language)
	p := report.NewPage("mqlab run jitter (" + r.Run + ")")
	p.Say("%s %s", r.head(in), r.topics(in))
	p.Lead(r.answer(in))
	r.tables(p, in)
	for i := range r.Cases {
		r.casePage(p, in, &r.Cases[i])
	}
	if len(r.Not) > 0 {
		p.Section(in.word("Not measured"))
		var points []string
		for _, s := range r.Not {
			points = append(points, s.Name+": "+s.Why)
		}
		p.Points(points...)
	}
	p.Section(in.word("How to repeat it"))
	p.Command(strings.Join(command, " "))
	return p.Write(w, format, false, explain)
}

// answer is the outcome in one sentence; doubtful: it is hardly one.
func (r *Report) answer(in tongue) (text string, doubtful bool) {
	var best, worst *CaseReport
	invalid := ""
	n := 0
	for i := range r.Cases {
		c := &r.Cases[i]
		if c.Validity == summary.Invalid || c.Service.Arrived == nil {
			n++
			invalid = in.say(" %d of %s gave no valid result.", n, in.plural(len(r.Cases), "case"))
			continue
		}
		if best == nil || c.Service.Arrived.Deviation < best.Service.Arrived.Deviation {
			best = c
		}
		if worst == nil || c.Service.Arrived.Deviation > worst.Service.Arrived.Deviation {
			worst = c
		}
	}
	switch {
	case best == nil:
		return in.word("No case gave a valid result."), true
	case best == worst:
		return in.say("%s: standard deviation %s; cause: %s.", best.Name, Duration(best.Service.Arrived.Deviation), best.causeCell()) + invalid, n > 0
	}
	return in.say("Least jitter: %s, standard deviation %s; most: %s, %s (%s).", best.Name, Duration(best.Service.Arrived.Deviation), worst.Name,
		Duration(worst.Service.Arrived.Deviation), worst.causeCell()) + invalid, n > 0
}

func (r *Report) tables(p *report.Page, in tongue) {
	p.Section(in.word("Round trip"))
	p.Say("%s", in.word("From the call that publishes to the callback. Mean and standard deviation are of the messages that came."))
	p.Table(1, []string{"case", "p50", "p90", "p99", "max", "mean", "sd", "lost"}, r.roundTripRows())
	p.Section(in.word("Response"))
	p.Say("%s", in.word("From when a message was due, which the client itself may miss; late: answered after the next message was due."))
	p.Table(1, []string{"case", "p50", "p99", "late", "result", "cause"}, r.responseRows())
}

func (r *Report) casePage(p *report.Page, in tongue, c *CaseReport) {
	p.Section(c.Name)
	p.Say("%s", c.Title(r.Base()))
	for _, f := range c.Failed {
		p.Warn("%s: %s", in.word("failed"), f)
	}
	o := c.Shown()
	if o == nil {
		return
	}
	for _, reason := range o.Reasons {
		p.Warn("%s: %s (%s)", reason.Level, reason.Text, reason.Code)
	}
	p.Charts(charts(in, c, o)...)
	var facts [][]string
	for _, line := range o.lines(in)[len(o.Reasons):] {
		facts = append(facts, []string{in.word(line[0]), line[1]})
	}
	p.Table(2, []string{"", ""}, facts)
	if len(c.Rounds) > 1 {
		var rows [][]string
		for _, x := range c.Rounds {
			rows = append(rows, []string{thousands(x.Trial), x.inOneLine(in)})
		}
		p.Table(2, []string{"trial", in.word("round trip")}, rows)
	}
	o.findingsPage(p, in)
}

func (o *Round) findingsPage(p *report.Page, in tongue) {
	for i := range o.found.Findings {
		f := &o.found.Findings[i]
		t := f.In(string(in))
		p.Fold(string(f.Cause)+" – "+in.cause(f, t), i == 0, func() {
			p.Points(t.Evidence...)
			if f.Cause != diagnose.None {
				p.Say("%s", in.say("Change: %s", t.Fix))
				p.Say("%s", in.say("Verify: %s", t.Verify))
			}
		})
	}
}

// charts of a round: latency over time with its histogram, modes and when causes were at work; and the rhythm.
func charts(in tongue, c *CaseReport, o *Round) []report.Drawing {
	value := func(ns float64) string { return Duration(ns) }
	j := chart.Jitter{
		Labels: chart.Labels{Title: in.say("Round trip over time: %s", c.Name), Desc: in.word("Least, median and longest round trip over time, their histogram, modes, and when causes were at work.")},
		Y:      chart.Axis{Name: in.word("round trip"), Ticks: chart.Duration, Value: value},
	}
	for _, s := range o.Timeline {
		r := chart.Reach{From: seconds(s.From), To: seconds(s.To), Low: math.NaN(), Mid: math.NaN(), High: math.NaN(), Lost: s.Lost > 0}
		if s.Count > 0 {
			r.Low, r.Mid, r.High = float64(s.Min), float64(s.P50), float64(s.Max)
		}
		j.Reaches = append(j.Reaches, r)
	}
	for _, b := range o.Histogram {
		j.Bins = append(j.Bins, chart.Bin{From: float64(b.From), To: float64(b.To), Count: float64(b.Count)})
	}
	for _, m := range o.Modes {
		j.Levels = append(j.Levels, chart.Level{At: float64(m.At), Name: Duration(float64(m.At)) + " (" + percent(m.Share) + ")"})
	}
	for _, m := range o.Marks {
		j.Marks = append(j.Marks, chart.Mark{Kind: string(m.Cause), From: seconds(m.From), To: seconds(m.To)})
	}
	if b := o.Burst; b != nil {
		j.Marks = append(j.Marks, chart.Mark{Kind: "burst", From: seconds(b.At)})
	}
	drawings := []report.Drawing{{SVG: j.SVG(), Caption: in.word("Round trip over time, and how often")}}
	if y := o.Rhythm; y != nil {
		r := chart.Correlogram{
			Labels: chart.Labels{Title: in.say("Rhythm of %s", c.Name), Desc: in.word("Autocorrelation of round trips; between the dashed lines is chance.")},
			Step:   seconds(int64(c.Interval)), Values: y.Lags, Bound: y.Bound,
		}
		for _, b := range y.Peaks {
			r.Peaks = append(r.Peaks, chart.Level{At: seconds(b.After), Name: Duration(float64(b.After))})
		}
		drawings = append(drawings, report.Drawing{SVG: r.SVG(), Caption: in.word("How alike messages are to those before: between the dashed lines is chance")})
	}
	return drawings
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

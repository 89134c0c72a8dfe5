package report

import (
	"slices"

	"github.com/mqlab/mqlab/internal/chart"
	"github.com/mqlab/mqlab/internal/summary"
)

// openGroups is how many groups of a section are shown unfolded.
const openGroups = 3

// each fills a section with what fill says of every group; several groups can be folded away.
func (p *page) each(heading, intro string, fill func(*section, *group)) {
	sec := p.section(heading)
	for i, g := range p.groups {
		var part section
		if fill(&part, g); len(part.blocks) == 0 {
			continue
		}
		if intro != "" && len(sec.blocks) == 0 {
			sec.say(plain, intro)
		}
		if len(p.groups) == 1 {
			sec.blocks = append(sec.blocks, part.blocks...)
		} else {
			sec.add(folded{g.heading, i < openGroups, part.blocks})
		}
	}
}

// compare shows subjects beside each other: bars with intervals, and the same in figures.
func (p *page) compare() {
	contested := 0
	for _, g := range p.groups {
		if g.contested() {
			contested++
		}
	}
	p.each("Comparison", "", func(sec *section, g *group) {
		sec.say(plain, g.load())
		if len(g.unlike) > 0 {
			sec.say(caution, unlikeWords(g))
		}
		if g.contested() && contested > 1 {
			sec.add(g.sentences())
		}
		if !g.valid() {
			sec.say(bad, "No valid trial.")
			return
		}
		columns, metrics := openColumns, []string{summary.ResponseP50, summary.ResponseP99}
		if !g.openLoop {
			columns, metrics = closedColumns, []string{summary.DeliveredPer, summary.ResponseP99}
		}
		if len(g.rows) > 1 {
			var charts figures
			for _, m := range metrics {
				charts = append(charts, g.bars(m))
			}
			sec.add(charts)
		}
		if g.repeated() {
			sec.say(plain, "Median of the repetitions and 95 % bootstrap interval of the median.")
		}
		sec.add(g.table(columns, true))
		if g.hasUnknown() {
			sec.say(plain, unknown+": not known, or too few messages for this percentile; "+lostWord+": the percentile falls among lost messages.")
		}
	})
}

func unlikeWords(g *group) string {
	text := "Never ranked together with subjects of another guarantee: "
	for i, u := range g.unlike {
		if i > 0 {
			text += ", "
		}
		text += u.Subject
	}
	return text + "."
}

// latencyColumns are the percentiles below their chart.
var latencyColumns = []column{
	{summary.ResponseP50, "response p50", false},
	{"response_p90", "response p90", false},
	{summary.ResponseP99, "response p99", false},
	{"response_p999", "response p99.9", false},
	{"service_p50", "service p50", false},
	{"service_p99", "service p99", false},
	{"ack_p50", "ack p50", false},
	{"ack_p99", "ack p99", false},
}

func (p *page) percentiles() {
	p.each("Latency by percentile", "From due to received, over all messages expected: a lost one is later than every other, so a curve that ends before the edge shows losses. Repetitions are merged message by message; the figures below are medians of the repetitions.",
		func(sec *section, g *group) {
			sec.add(p.percentileCharts(g))
			if g.valid() {
				sec.add(g.table(latencyColumns, false))
			}
		})
	if len(p.s.Trials) == 1 {
		p.oneTrial(&p.s.Trials[0])
	}
}

// oneTrial shows a lone trial at length, as the text does.
func (p *page) oneTrial(t *summary.Trial) {
	before := len(p.sections)
	p.detail(t)
	for _, x := range p.sections[before:] {
		for i, b := range x.blocks {
			if times, ok := b.(*table); ok {
				x.blocks[i] = explained{times}
			}
		}
	}
}

func (p *page) overTime() {
	p.each("Latency over time", "Each cell counts the messages that arrived in a second with a response time in a range; the darker, the more.",
		func(sec *section, g *group) { sec.add(p.heatMaps(g)) })
	p.sayLeftOut()
}

func (p *page) throughput() {
	p.each("Offered, sent, delivered", "Per second, whatever the due time of the messages; a second that was cut short is left out.",
		func(sec *section, g *group) {
			sec.add(p.rateCharts(g))
			if g.valid() {
				sec.add(g.table([]column{{summary.DeliveredPer, "delivered/s", true}, {summary.LostRatio, "lost", false}}, false))
			}
		})
	p.sayLeftOut()
}

func (p *page) resourceUse() {
	p.each("CPU and memory", "Of the broker's processes and of the load generator; 100 % is one core. The generator's CPU includes what it spends on waiting precisely. Memory is PSS.",
		func(sec *section, g *group) {
			sec.add(p.resourceCharts(g))
			if g.valid() {
				sec.add(g.table([]column{{summary.BrokerCPU, "CPU/delivery", true}, {summary.BrokerPSS, "memory", true}}, false))
			}
		})
}

func (p *page) counts() {
	p.each("Counts", "Messages of the valid repetitions, summed. Sent and unsent make up what was offered; delivered, lost and unsent what was expected.",
		func(sec *section, g *group) {
			if g.valid() {
				sec.add(g.counts())
			}
		})
}

// reasons lists what to know before believing a trial, the worst first.
func (p *page) reasons() {
	if len(p.s.Trials) == 0 {
		return
	}
	sec := p.section("Validity and reasons")
	t := &table{head: []string{"reason", "level", "trials", ""}, left: 4}
	for _, level := range []summary.Validity{summary.Invalid, summary.Warning, "note"} {
		for _, r := range reasonsOf(p.s, level) {
			text := r.first
			if r.differ {
				text += " (trial " + summary.Count(uint64(r.trials[0])) + "; the others are alike)"
			}
			t.row(r.code, string(level), trialNumbers(r.trials), text)
		}
	}
	if len(t.rows) == 0 {
		sec.say(good, "Nothing to object to: every trial is valid.")
		return
	}
	sec.add(explained{t})
}

// bars compares the rows of a group by one metric.
func (g *group) bars(metric string) figure {
	b := chart.Bars{Higher: metric == summary.DeliveredPer, Given: !g.contested()}
	b.Title = wordsOf(metric) + ", " + g.heading
	b.X.Name = wordsOf(metric)
	for i := range g.rows {
		r := &g.rows[i]
		median, interval := r.figures(metric)
		bar := chart.Bar{Name: r.label, Value: none, Low: none, High: none, Text: median}
		if interval != unknown {
			bar.Text += " (" + interval + ")"
		}
		if st, unit := r.standing(metric); st != nil {
			b.X.Ticks = ticksOf(unit)
			bar.Value, bar.Low, bar.High = orNone(st.Median), orNone(st.CILow), orNone(st.CIHigh)
		}
		b.Bars = append(b.Bars, bar)
	}
	words := slices.Collect(func(yield func(string) bool) {
		for _, x := range b.Bars {
			if !yield(x.Name + " " + x.Text) {
				return
			}
		}
	})
	b.Desc = "Median and 95 % interval. " + sentence(words)
	return figure{b.SVG(), capital(b.X.Name) + ": median, and 95 % interval as a whisker"}
}

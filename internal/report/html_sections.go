package report

import (
	"fmt"
	"slices"
	"strings"

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
		if killed := g.killed(); len(killed) > 0 {
			sec.add(killed)
		}
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
		if thin := g.thin(); thin != "" {
			sec.say(caution, thin)
		}
		sec.add(g.table(columns, true))
		if g.hasUnknown() {
			sec.say(plain, unknown+": not known, or too few messages for this percentile; "+lostWord+": the percentile falls among lost messages.")
		}
	})
}

func unlikeWords(g *group) string {
	text := "Never ranked together with subjects of another promise (guarantee, durability): "
	for i, u := range g.unlike {
		if i > 0 {
			text += ", "
		}
		text += u.Subject + " (" + u.Promise.String() + ")"
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
	p.each("Latency by percentile", "From due to received, over all messages expected: a lost one is later than every other. A curve that ends with a cross ends where losses begin; any other ends at its slowest message. Repetitions are merged message by message; figures are medians of the repetitions.",
		func(sec *section, g *group) {
			switch {
			case len(p.s.Trials) == 1:
				sec.add(beside{p.partCharts(&g.rows[0]), p.times()})
			case g.valid():
				sec.together(p.percentileCharts(g), g.table(latencyColumns, false))
			default:
				sec.add(p.percentileCharts(g))
			}
		})
}

// together puts a lone chart beside its figures, several above them.
func (sec *section) together(charts figures, t *table) {
	if len(charts) == 1 {
		sec.add(beside{charts, t})
	} else {
		sec.add(charts)
		sec.add(t)
	}
}

// times shows where the time of a lone trial went, as the text does.
func (p *page) times() block {
	var d document
	d.detail(&p.s.Trials[0])
	for _, b := range d.sections[0].blocks {
		if t, ok := b.(*table); ok {
			return explained{t}
		}
	}
	return nil
}

func (p *page) overTime() {
	p.each("Latency over time", "Each cell counts the messages that arrived in a second with a response time in a range; the darker, the more.",
		func(sec *section, g *group) {
			charts := p.heatMaps(g)
			if events := p.events(); len(charts) == 1 && events != nil {
				sec.add(beside{charts, events})
			} else {
				sec.add(charts)
			}
		})
	p.sayLeftOut()
}

// events is the table of what happened in a lone trial; nil if there is nothing to tell.
func (p *page) events() block {
	var d document
	if len(p.s.Trials) == 1 {
		d.timeline(&p.s.Trials[0])
	}
	if len(d.sections) == 0 {
		return nil
	}
	return d.sections[0].blocks[0]
}

func (p *page) throughput() {
	p.each("Offered, sent, delivered", "Per second, whatever the due time of the messages; a second that was cut short is left out.",
		func(sec *section, g *group) {
			charts := p.rateCharts(g)
			if g.valid() {
				sec.together(charts, g.table([]column{{summary.DeliveredPer, "delivered/s", true}, {summary.LostRatio, "lost", false}}, false))
			} else {
				sec.add(charts)
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
			if len(p.s.Trials) == 1 {
				var d document
				d.resources(&p.s.Trials[0])
				sec.blocks = append(sec.blocks, d.sections[0].blocks...)
			}
		})
}

func (p *page) counts() {
	p.each("Counts", "Messages of the valid repetitions, summed. Sent and unsent make up what was offered; delivered, lost and unsent what was expected.",
		func(sec *section, g *group) {
			switch {
			case g.valid():
				sec.add(g.counts())
			case len(p.s.Trials) == 1:
				t := countTable()
				t.row(countCells(g.rows[0].cell.Subject.Name+" (invalid)", &p.s.Trials[0].Counts)...)
				t.dropEmpty()
				sec.add(t)
			}
		})
}

// reasons lists what to know before believing a trial, the worst first.
func (p *page) reasons() {
	if len(p.s.Trials) == 0 {
		return
	}
	sec := p.section("Validity and reasons")
	var all objections
	for _, level := range []summary.Validity{summary.Invalid, summary.Warning, "note"} {
		for _, r := range reasonsOf(p.s, level) {
			text := r.first
			if r.differ {
				text += fmt.Sprintf(" (trial %d; the others are alike)", r.trials[0])
			}
			all = append(all, objection{string(level), r.code, trialNumbers(r.trials), text})
		}
	}
	if len(all) == 0 {
		sec.say(good, "Nothing to object to: every trial is valid.")
		return
	}
	sec.add(all)
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
			if st.Median == nil && !st.Lost {
				bar.Text = strings.TrimSuffix(st.Unranked, " for this percentile") // the heading names it, and a bar is short
			}
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

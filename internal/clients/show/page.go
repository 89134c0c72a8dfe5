package show

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mqlab/mqlab/internal/clients"
	"github.com/mqlab/mqlab/internal/report"
)

// page builds the report.
type page struct {
	*report.Page
	r      *clients.Result
	o      *Options
	d      *clients.Decision
	points []clients.Point
	html   bool

	invalid [][]string // experiments that are no result: who, what, invalid, why
}

func build(r *clients.Result, o *Options, html bool) *report.Page {
	p := &page{Page: report.NewPage(o.Title), r: r, o: o, d: clients.Decide(r), points: r.Points(), html: html}
	p.head()
	if len(r.Cells) > 0 || !p.tried() {
		p.which()
		p.byPayload()
		p.matrix()
		p.ranks()
		p.whereTimeGoes()
		p.costs()
		p.flows()
	}
	p.experiments()
	p.effort()
	p.validity()
	p.again()
	return p.Page
}

// tried: there are results of experiments.
func (p *page) tried() bool {
	return len(p.r.Scaled)+len(p.r.Leaks)+len(p.r.Reconnects)+len(p.r.KeepAlives) > 0
}

// head says what was compared, how, and whether it can be trusted.
func (p *page) head() {
	floors, valid := 0, 0
	for _, k := range p.r.Clients {
		if k.Floor {
			floors++
		}
	}
	for i := range p.r.Cells {
		if p.r.Cells[i].Invalid == "" {
			valid++
		}
	}
	var payloads, qos []string
	for _, x := range p.points {
		if s := clients.Size(x.Payload); !slices.Contains(payloads, s) {
			payloads = append(payloads, s)
		}
		if s := fmt.Sprint(x.QoS); !slices.Contains(qos, s) {
			qos = append(qos, s)
		}
	}
	what := countWords(len(p.r.Clients)-floors, "library") + " and " + countWords(floors, "floor") + " (a socket and no library)"
	if len(p.points) > 0 {
		what += "; payload " + strings.Join(payloads, ", ") + "; QoS " + strings.Join(qos, ", ")
	}
	if n := p.rounds(); n > 0 {
		what += "; " + countWords(n, "round") + " of each mode"
	}
	p.Say("%s. %s", what, isolation(&p.r.Host))
	switch cells := len(p.r.Cells); {
	case cells == 0 && p.tried():
		p.Say("Experiments only: nothing is ranked.")
	case cells == 0:
		p.Warn("Nothing was measured.")
	case valid < cells:
		p.Warn("%d of %s not valid: see below.", cells-valid, countWords(cells, "cell"))
	default:
		p.Say("All %s (client × payload × QoS) are valid.", countWords(cells, "cell"))
	}
	if n := len(p.r.Skipped); n > 0 {
		p.Say("%s not compared: see below.", countWords(n, "client"))
	}
}

// rounds is how often each mode was repeated.
func (p *page) rounds() (n int) {
	for i := range p.r.Cells {
		n = max(n, len(p.r.Cells[i].Drain), len(p.r.Cells[i].Excess))
	}
	return n
}

// which is the answer: the best for each use.
func (p *page) which() {
	p.Section("Which to take")
	if len(p.d.Efforts) == 0 || len(p.r.Rank) == 0 {
		p.Warn("Nothing can be recommended: no library has a valid result.")
		return
	}
	if p.html {
		p.Lead(choices(p.d, clients.ForLatency, p.points), !p.decided(clients.ForLatency))
	}
	var texts []string
	for _, use := range clients.Uses {
		if !p.html || use != clients.ForLatency {
			texts = append(texts, choices(p.d, use, p.points))
		}
	}
	p.Points(texts...)
}

func (p *page) decided(use clients.Use) bool {
	return !slices.ContainsFunc(p.d.Choices, func(c clients.Choice) bool { return c.Use == use && !c.Decided })
}

// few are the points that text shows in full: all if they are few or asked for, else that of 256 bytes, or the first, of each QoS.
func (p *page) few() []clients.Point {
	if p.html || p.o.All || len(p.points) <= 2 {
		return p.points
	}
	var few []clients.Point
	for _, x := range p.points {
		i := slices.IndexFunc(few, func(f clients.Point) bool { return f.QoS == x.QoS })
		switch {
		case i < 0:
			few = append(few, x)
		case x.Payload == 256:
			few[i] = x
		}
	}
	return few
}

// openPoints is how many points HTML shows unfolded.
const openPoints = 1

// each fills a section with what fill adds for every point.
func (p *page) each(heading string, intro []string, fill func(clients.Point)) {
	few := p.few()
	p.Section(heading)
	for _, text := range intro {
		p.Say("%s", text)
	}
	for i, x := range few {
		if len(p.points) == 1 {
			fill(x)
			continue
		}
		p.Fold(x.String(), i < openPoints, func() { fill(x) })
	}
	if len(few) < len(p.points) {
		p.Say("Other payloads: mqlab report --trials, or --format html, csv or json.")
	}
}

// validity lists what is no result.
func (p *page) validity() {
	var rows [][]string
	for i := range p.r.Cells {
		if c := &p.r.Cells[i]; c.Invalid != "" {
			rows = append(rows, []string{c.Client, (clients.Point{Payload: c.Payload, QoS: c.QoS}).String(), "invalid", c.Invalid})
		}
	}
	rows = append(rows, p.invalid...)
	for _, s := range p.r.Skipped {
		rows = append(rows, []string{s.Name, "all", "not compared", s.Why})
	}
	p.Section("Validity")
	if len(rows) == 0 {
		p.Say("Every client received every message, each once, and none before it was written.")
		return
	}
	if p.html {
		p.Table(4, []string{"client", "payload", "validity", "why"}, rows)
		return
	}
	var texts []string
	for _, r := range rows {
		texts = append(texts, fmt.Sprintf("%s (%s): %s: %s", r[0], r[1], r[2], r[3]))
	}
	p.Points(texts...)
}

// again says how to repeat it.
func (p *page) again() {
	p.Section("How to repeat it")
	if len(p.o.Command) > 0 {
		p.Command(strings.Join(p.o.Command, " "))
	}
	p.Say("Seed %d.", p.r.Seed)
	if p.o.Dir != "" {
		p.Say("Run folder: %s", p.o.Dir)
	}
}

package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mqlab/mqlab/internal/summary"
)

// column is a metric in a table of a group.
type column struct {
	metric   string
	head     string
	interval bool
}

var (
	openColumns   = []column{{summary.ResponseP50, "p50", true}, {summary.ResponseP99, "p99", true}}
	closedColumns = []column{{summary.DeliveredPer, "delivered/s", true}, {summary.ResponseP50, "p50", false}, {summary.ResponseP99, "p99", false}}
	openCost      = []column{{summary.DeliveredPer, "delivered/s", false}, {summary.LostRatio, "lost", false}, {summary.Imbalance, "imbalance", false}, {summary.BrokerCPU, "CPU/delivery", true}, {summary.BrokerPSS, "memory", false}}
	closedCost    = []column{{summary.LostRatio, "lost", false}, {summary.Imbalance, "imbalance", false}, {summary.BrokerCPU, "CPU/delivery", true}, {summary.BrokerPSS, "memory", false}}

	connectColumns = []column{
		{summary.ConnectPer, "opened/s", false},
		{summary.ConnectP50, "p50", false},
		{summary.ConnectP99, "p99", false},
		{summary.ConnectTCP, "TCP p50", false},
		{summary.ConnectTLS, "TLS p50", false},
		{summary.ConnectProtocol, "protocol p50", false},
		{summary.MemoryConnection, "memory each", false},
	}
	handshakeColumns = []column{
		{summary.HandshakeUp, "bytes up", false},
		{summary.HandshakeDown, "bytes down", false},
		{summary.ConnectTLS, "TLS p50", false},
		{summary.HandshakeResumed, "resumed", false},
	}
	churnColumns = []column{
		{summary.VisitsPer, "visits/s", false},
		{summary.VisitP50, "visit p50", false},
		{summary.VisitP99, "visit p99", false},
		{summary.MemoryKept, "memory kept", false},
	}
	outageColumns = []column{{summary.OutageP50, "outage p50", false}, {summary.OutageMax, "outage max", false}}
	linkColumns   = []column{
		{summary.BytesPerMessage, "bytes/message", true},
		{summary.Retransmitted, "sent again", true},
	}
	energyColumns = []column{
		{summary.BytesPerMinute, "bytes/min", true},
		{summary.BytesPerMonth, "a month", false},
		{summary.CPUPerMinute, "CPU/min", false},
		{summary.WakeupsPerMinute, "wake-ups/min", false},
	}
	recoveryColumns = []column{
		{summary.NoticeMax, "noticed in", false},
		{summary.ReconnectMax, "reconnected in", false},
		{summary.FirstMessageMax, "first message", false},
		{summary.DrainMax, "drained in", false},
		{summary.KeptRatio, "kept", false},
		{summary.BusiestSecond, "busiest second", false},
	}
)

// parts are the tables of a group that stand where any of its rows has the metric.
var parts = []struct {
	metric, says string
	columns      []column
}{
	{summary.ConnectPer, "Connecting: how many became ready per second, from the first attempt to the last; the time of one, and its parts; the broker's memory for each.", connectColumns},
	{summary.HandshakeUp, "Handshakes of TLS, of one: bytes that its client sent and got, records of TLS included, TCP and IP not; its time; the part of all that resumed an earlier session:", handshakeColumns},
	{summary.VisitsPer, "Churn, clients that came and left: how many the broker accepted per second; the time of one, from due to accepted; the memory it kept when all had left.", churnColumns},
	{summary.OutageMax, "How long lost connections were away, until they were ready again:", outageColumns},
	{summary.BytesPerMessage, "On the link: bytes offered in both directions per message delivered in the measure window, headers of IP and TCP included; the part of the segments that were sent again, of both ends where the link shows packets:", linkColumns},
	{summary.BytesPerMonth, "Per device, which is a connection: bytes on the link and what they come to in 30 days; CPU time and wake-ups of its client. Bytes compare protocols, CPU compares libraries:", energyColumns},
	{summary.NoticeMax, "Outages: the longest time until one was noticed; from its end until connections were ready; from when a subscriber's connection stood until the first message, and the last that was sent before, had come; the part of the messages that was kept for subscribers that were away; which part of all clients came back in the same second:", recoveryColumns},
}

// group writes the tables of one group; where several are compared, its verdict stands here.
func (d *document) group(g *group, several bool) {
	sec := d.section(g.heading)
	sec.say(plain, g.load())
	if killed := g.killed(); len(killed) > 0 {
		sec.add(killed)
	}
	if len(g.unlike) > 0 {
		var words []string
		for _, u := range g.unlike {
			words = append(words, u.Subject+" ("+u.Promise.String()+")")
		}
		sec.say(caution, "Never ranked together, because the promise (guarantee, durability) is another: "+strings.Join(words, ", ")+".")
	}
	if g.contested() && several {
		sec.add(g.sentences())
	}
	if !g.valid() {
		sec.say(bad, "No valid trial.")
		return
	}
	medians := ""
	if g.repeated() {
		medians = "; median of the repetitions, and 95 % bootstrap interval of the median"
	}
	if g.openLoop {
		sec.say(plain, "Response time, from due to received"+medians+":")
		sec.add(g.table(openColumns, true))
		sec.say(plain, "Rate inside the measure window, and what the broker used:")
		sec.add(g.table(openCost, false))
	} else {
		sec.say(plain, "Deliveries inside the measure window, and response time"+medians+":")
		sec.add(g.table(closedColumns, true))
		sec.say(plain, "What was lost, and what the broker used:")
		sec.add(g.table(closedCost, false))
	}
	for _, p := range parts {
		if g.has(p.metric) {
			sec.say(plain, p.says)
			sec.add(g.table(p.columns, false))
		}
	}
	if thin := g.thin(); thin != "" {
		sec.say(caution, thin)
	}
	if g.hasUnknown() {
		sec.say(plain, fmt.Sprintf("%s not known, or too few messages for this percentile; %s: the percentile falls among lost messages.", unknown, lostWord))
	}
}

// has reports whether any row has the metric.
func (g *group) has(metric string) bool {
	return slices.ContainsFunc(g.rows, func(r row) bool { return r.comparisons[metric] != nil })
}

// messages counts those of every group that has a valid trial, and those of a lone trial whatever it is worth.
func (d *document) messages(s *summary.Summary, groups []*group) {
	sec := d.section("Messages")
	if slices.ContainsFunc(groups, (*group).repeated) {
		sec.say(plain, "Sum of the valid repetitions.")
	}
	for _, g := range groups {
		switch {
		case g.valid():
			if len(groups) > 1 {
				sec.say(plain, g.heading+":")
			}
			sec.add(g.counts())
		case len(s.Trials) == 1:
			counts := countTable()
			counts.row(countCells("messages", &s.Trials[0].Counts)...)
			counts.dropEmpty()
			sec.add(counts)
		}
	}
}

// table shows metrics, and how many trials they are of.
func (g *group) table(columns []column, trials bool) *table {
	t := &table{head: []string{""}, left: 1}
	for _, c := range columns {
		t.head = append(t.head, c.head)
		if c.interval {
			t.head = append(t.head, "95 %")
		}
	}
	if trials {
		t.head = append(t.head, "trials")
	}
	for _, r := range g.rows {
		cells := []string{r.label}
		for _, c := range columns {
			median, interval := r.figures(c.metric)
			cells = append(cells, median)
			if c.interval {
				cells = append(cells, interval)
			}
		}
		if trials {
			cells = append(cells, fmt.Sprintf("%d of %d", r.cell.Valid, len(r.cell.Trials)))
		}
		t.row(cells...)
	}
	t.dropEmpty()
	return t
}

// standing is the row's place by a metric; nil if there is none.
func (r *row) standing(metric string) (*summary.Standing, summary.Unit) {
	c := r.comparisons[metric]
	if c == nil {
		return nil, ""
	}
	i := slices.IndexFunc(c.Subjects, func(s summary.Standing) bool { return s.Subject == r.cell.Subject.Name })
	if i < 0 {
		return nil, ""
	}
	return &c.Subjects[i], c.Unit
}

// figures are the median and its interval. Of losses it is the part of all expected messages: a median would hide those of
// a single repetition.
func (r *row) figures(metric string) (median, interval string) {
	if metric == summary.LostRatio {
		return ratio(r.cell.LostRatio), unknown
	}
	s, unit := r.standing(metric)
	switch {
	case s == nil:
		return unknown, unknown
	case s.Lost:
		return lostWord, unknown
	case s.Median == nil:
		return unknown, unknown
	}
	median, interval = unit.Format(*s.Median), unknown
	if s.CILow != nil {
		interval = summary.Range(unit.Format(*s.CILow), unit.Format(*s.CIHigh))
	}
	return median, interval
}

func (g *group) hasUnknown() bool {
	for _, r := range g.rows {
		for _, m := range []string{summary.ResponseP50, summary.ResponseP99} {
			if v, _ := r.figures(m); v == unknown || v == lostWord {
				return true
			}
		}
	}
	return false
}

// counted are the columns of the table of messages; ledger fields under short names.
var counted = []struct{ head, field string }{
	{"offered", "offered"},
	{"sent", "sent"},
	{"acked", "acked"},
	{"expected", "expected"},
	{"delivered", "delivered"},
	{"lost", "lost"},
	{"unsent", "undelivered_unsent"},
	{"dup", "duplicates"},
	{"reord", "reordered"},
}

func (g *group) counts() *table {
	t := countTable()
	for _, r := range g.rows {
		t.row(countCells(r.label, &r.cell.Counts)...)
	}
	t.dropEmpty()
	t.dropTwin("expected", "offered")
	return t
}

func countTable() *table {
	t := &table{head: []string{""}, left: 1}
	for _, c := range counted {
		t.head = append(t.head, c.head)
	}
	return t
}

func countCells(label string, c *summary.Counts) []string {
	cells := []string{label}
	for _, x := range counted {
		cells = append(cells, countOf(c, x.field))
	}
	return cells
}

func ratio(v *float64) string {
	if v == nil {
		return unknown
	}
	return summary.Ratio(*v)
}

func countOf(c *summary.Counts, field string) string {
	for _, f := range summary.CountFields {
		if v := *f.Of(c); f.Name == field && v != nil {
			return summary.Count(*v)
		}
	}
	return unknown
}

// trials shows every trial on one row.
func (d *document) trials(s *summary.Summary) {
	sec := d.section("Trials")
	t := &table{head: []string{"trial", "point", "rep", "p50", "p99", "delivered/s", "lost", "validity"}, left: 1}
	for i := range s.Trials {
		x := &s.Trials[i]
		p50, p99 := unknown, unknown
		if q := x.Latency.Response; q != nil {
			p50, p99 = percentile(q, 0), percentile(q, 3)
		}
		delivered := unknown
		if r := x.Rates.Delivered; r != nil {
			delivered = summary.Number(*r)
		}
		t.row(fmt.Sprintf("%d %s", x.ID, x.Subject.Name), fmt.Sprint(x.Point), fmt.Sprint(x.Repetition), p50, p99, delivered, countOf(&x.Counts, "lost"), stateWords(x))
	}
	sec.add(t)
}

// percentile writes the i-th of summary.Percentiles.
func percentile(q *summary.Quantiles, i int) string {
	p := summary.Percentiles[i]
	switch v := *p.Of(q); {
	case v != nil:
		return summary.Duration(*v)
	case slices.Contains(q.TooFew, p.Name):
		return unknown
	}
	return lostWord
}

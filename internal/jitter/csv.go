package jitter

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"github.com/mqlab/mqlab/internal/summary"
)

// row is a line of CSV: names and values.
type row struct{ names, values []string }

func (r *row) add(name, value string) {
	r.names, r.values = append(r.names, name), append(r.values, value)
}

func (r *row) whole(name string, n int) { r.add(name, strconv.Itoa(n)) }

// perhaps adds a number that may not be known: an empty cell.
func (r *row) perhaps(name string, v *int64) {
	value := ""
	if v != nil {
		value = strconv.FormatInt(*v, 10)
	}
	r.add(name, value)
}

// CSV writes a line for each case: its settings, its verdict, and the figures that JSON has; columns are called as fields of JSON are, with _
// for the dots. An empty cell is not known.
func CSV(w io.Writer, r *Report) error {
	out := csv.NewWriter(w)
	_ = out.Write(r.row(&CaseReport{}).names) // the writer keeps the error
	for i := range r.Cases {
		_ = out.Write(r.row(&r.Cases[i]).values)
	}
	out.Flush()
	return out.Error()
}

func (r *Report) row(c *CaseReport) *row {
	x := &row{}
	x.add("run", r.Run)
	x.add("name", c.Name)
	x.add("client", c.Client)
	x.add("library", c.Library)
	x.add("version", c.Version)
	x.add("broker", c.Broker)
	x.add("broker_version", c.BrokerVersion)
	x.settings(&c.Case)
	x.add("validity", string(c.Validity))
	x.add("why", c.Why)
	x.add("cause", c.Cause)
	x.add("cause_ratio", "")
	if c.Share > 0 {
		x.values[len(x.values)-1] = strconv.FormatFloat(c.Share, 'g', -1, 64)
	}
	x.counts(c)
	x.figures("service", &c.Service)
	x.figures("response", &c.Response)
	x.whole("modes", len(c.Modes))
	return x
}

func (r *row) settings(c *Case) {
	r.whole("count", c.Count)
	r.whole("interval_ns", int(c.Interval))
	r.whole("payload_bytes", c.Payload)
	r.whole("qos", c.QoS)
	r.add("loop", c.Loop)
	r.whole("connections", c.Connections)
	r.add("nodelay", strings.Join(c.NoDelay, "+"))
	r.whole("keepalive_ns", int(c.KeepAlive))
	r.whole("pin", c.Pin)
	for _, s := range []struct {
		name string
		on   bool
	}{{"mix", c.Mix}, {"oneway", c.OneWay}, {"malloc", c.Malloc}, {"log", c.Log}, {"tls", c.TLS}} {
		r.add(s.name, strconv.FormatBool(s.on))
	}
	r.add("callback", c.Callback)
	r.whole("work_ns", int(c.Work))
	r.whole("work_every", c.WorkEvery)
	r.add("gc", c.GC)
	r.whole("retain", c.Retain)
	r.whole("churn", c.Churn)
	r.whole("burst", c.Burst)
}

// counts are those of all rounds together, of valid ones and others.
func (r *row) counts(c *CaseReport) {
	var n Counts
	for _, o := range c.Rounds {
		n.Planned, n.Published, n.Answered = n.Planned+o.Counts.Planned, n.Published+o.Counts.Published, n.Answered+o.Counts.Answered
		n.Lost, n.Late = n.Lost+o.Counts.Lost, n.Late+o.Counts.Late
	}
	r.whole("rounds", len(c.Rounds))
	r.whole("planned", n.Planned)
	r.whole("published", n.Published)
	r.whole("answered", n.Answered)
	r.whole("lost", n.Lost)
	r.whole("late", n.Late)
}

func (r *row) figures(name string, f *Figures) {
	r.whole(name+"_count", int(f.Count))
	r.whole(name+"_expected", int(f.Expected))
	r.perhaps(name+"_min_ns", f.Min)
	for i := range summary.Percentiles {
		p := &summary.Percentiles[i]
		r.perhaps(name+"_"+p.Name+"_ns", *p.Of(&f.Quantiles))
	}
	r.perhaps(name+"_max_ns", f.Max)
	mean, deviation := "", ""
	var most *int64
	if a := f.Arrived; a != nil {
		mean, deviation, most = strconv.FormatFloat(a.Mean, 'f', -1, 64), strconv.FormatFloat(a.Deviation, 'f', -1, 64), &a.Max
	}
	r.add(name+"_arrived_mean_ns", mean)
	r.add(name+"_arrived_stddev_ns", deviation)
	r.perhaps(name+"_arrived_max_ns", most)
}

package jitter

import (
	"io"
	"strings"

	"github.com/mqlab/mqlab/internal/report"
	"github.com/mqlab/mqlab/internal/summary"
)

// CSV writes a line for each case: its settings, its verdict, and the figures that JSON has; columns are called as fields of JSON are, with _
// for the dots. An empty cell is not known.
func CSV(w io.Writer, r *Report) error {
	return report.WriteRows(w, r.row(&CaseReport{}), len(r.Cases), func(i int) *report.Row { return r.row(&r.Cases[i]) })
}

// row is a line of CSV, one of a case.
type row struct{ report.Row }

func (r *Report) row(c *CaseReport) *report.Row {
	x := new(row)
	x.Add("run", r.Run)
	x.Add("name", c.Name)
	x.Add("client", c.Client)
	x.Add("library", c.Library)
	x.Add("version", c.Version)
	x.Add("broker", c.Broker)
	x.Add("broker_version", c.BrokerVersion)
	x.settings(&c.Case)
	x.Add("validity", c.Validity)
	x.Add("why", c.Why)
	x.Add("cause", c.Cause)
	var share *float64
	if c.Share > 0 {
		share = &c.Share
	}
	x.Add("cause_ratio", share)
	x.counts(c)
	x.figures("service", &c.Service)
	x.figures("response", &c.Response)
	x.Add("modes", len(c.Modes))
	return &x.Row
}

func (r *row) settings(c *Case) {
	r.Add("count", c.Count)
	r.Add("interval_ns", int64(c.Interval))
	r.Add("payload_bytes", c.Payload)
	r.Add("qos", c.QoS)
	r.Add("loop", c.Loop)
	r.Add("connections", c.Connections)
	r.Add("nodelay", strings.Join(c.NoDelay, "+"))
	r.Add("keepalive_ns", int64(c.KeepAlive))
	r.Add("pin", c.Pin)
	for _, s := range []struct {
		name string
		on   bool
	}{{"mix", c.Mix}, {"oneway", c.OneWay}, {"malloc", c.Malloc}, {"log", c.Log}, {"tls", c.TLS}} {
		r.Add(s.name, s.on)
	}
	r.Add("callback", c.Callback)
	r.Add("work_ns", int64(c.Work))
	r.Add("work_every", c.WorkEvery)
	r.Add("gc", c.GC)
	r.Add("retain", c.Retain)
	r.Add("churn", c.Churn)
	r.Add("burst", c.Burst)
}

// counts are those of all rounds together, of valid ones and others.
func (r *row) counts(c *CaseReport) {
	var n Counts
	for _, o := range c.Rounds {
		n.Planned, n.Published, n.Answered = n.Planned+o.Counts.Planned, n.Published+o.Counts.Published, n.Answered+o.Counts.Answered
		n.Lost, n.Late = n.Lost+o.Counts.Lost, n.Late+o.Counts.Late
	}
	r.Add("rounds", len(c.Rounds))
	r.Add("planned", n.Planned)
	r.Add("published", n.Published)
	r.Add("answered", n.Answered)
	r.Add("lost", n.Lost)
	r.Add("late", n.Late)
}

func (r *row) figures(name string, f *Figures) {
	r.Add(name+"_count", f.Count)
	r.Add(name+"_expected", f.Expected)
	r.Add(name+"_min_ns", f.Min)
	for i := range summary.Percentiles {
		p := &summary.Percentiles[i]
		r.Add(name+"_"+p.Name+"_ns", *p.Of(&f.Quantiles))
	}
	r.Add(name+"_max_ns", f.Max)
	var mean, deviation *float64
	var most *int64
	if a := f.Arrived; a != nil {
		mean, deviation, most = &a.Mean, &a.Deviation, &a.Max
	}
	r.Add(name+"_arrived_mean_ns", mean)
	r.Add(name+"_arrived_stddev_ns", deviation)
	r.Add(name+"_arrived_max_ns", most)
}

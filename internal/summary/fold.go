package summary

import (
	"slices"
	"time"

	"github.com/mqlab/mqlab/internal/findings"
	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
)

// Of folds a run into its summary.
func Of(r *run.Run) *Summary {
	m := &r.Manifest
	s := &Summary{
		Schema: Schema,
		Run: Run{
			ID: m.ID, Scenario: m.Scenario, Description: m.Plan.Description, Seed: m.Seed, Started: m.Started, Command: m.Command,
			Host: m.Host, TrialsPlanned: len(m.Plan.Trials), Complete: complete(r), Needs: m.Plan.Needs,
		},
		Trials: []Trial{},
	}
	if m.Plan.Search != nil {
		s.Run.TrialsPlanned = len(r.Trials) // each follows from those before
	}
	for i := range r.Trials {
		s.Trials = append(s.Trials, trialOf(&r.Trials[i]))
		s.Trials[i].Energy.price(m.Plan.Tariffs)
	}
	s.Cells = cellsOf(s.Trials)
	s.Comparisons = comparisonsOf(fieldsOf(s.Trials), m.Seed)
	return s
}

// complete reports whether every planned trial was begun and none was stopped.
func complete(r *run.Run) bool {
	begun := map[int]bool{}
	for i := range r.Trials {
		t := &r.Trials[i]
		if t.State == run.Cut || t.Checks.Interrupted {
			return false
		}
		begun[t.Trial.ID] = true
	}
	if r.Manifest.Plan.Search != nil {
		return true // that a search has more to try is known to who replays it
	}
	return !slices.ContainsFunc(r.Manifest.Plan.Trials, func(t plan.Trial) bool { return !begun[t.ID] })
}

// folded is what the windows of a trial add up to.
type folded struct {
	rec    *run.Trial
	counts ledger.Counts
	final  bool // the fate of every message is known
	hists  [ledger.NumMetrics]*hist.Hist
	in     ledger.InWindow // what happened inside the measure window
	span   int64           // ns of the measure window that in covers
}

// fold adds up windows. The final counts are those of the record where there is one.
func fold(rec *run.Trial) *folded {
	f := &folded{rec: rec, final: rec.State == run.Finished || len(rec.Totals) > 0}
	measure := f.measured()
	var all ledger.Window
	for i := range rec.Windows {
		w := rec.Windows[i]
		if w.Start < 0 { // before the measure window only connecting counts
			w.Counts = ledger.Counts{}
			w.Hists = [ledger.NumMetrics]*hist.Hist{
				ledger.Connect: w.Hists[ledger.Connect], ledger.ConnectTCP: w.Hists[ledger.ConnectTCP],
				ledger.ConnectTLS: w.Hists[ledger.ConnectTLS], ledger.ConnectProtocol: w.Hists[ledger.ConnectProtocol],
			}
		}
		if w.Start < 0 || w.Start >= measure {
			w.InWindow = ledger.InWindow{}
		} else {
			f.span = max(f.span, w.End)
		}
		all.Merge(&w)
	}
	f.counts, f.hists, f.in = all.Counts, all.Hists, all.InWindow
	if len(rec.Totals) > 0 {
		f.counts = ledger.Counts{}
		for i := range rec.Totals {
			f.counts.Add(&rec.Totals[i].Counts)
		}
	}
	return f
}

// due are the counts that percentiles are over.
func (f *folded) due() ledger.Counts {
	c := f.counts
	if !f.final { // an acknowledgement that is not known to have come is as late as one that never did
		c.Unconfirmed = c.Sent - min(c.Sent, c.Acked+c.Refused)
	}
	return c
}

// measured is the length of the measure window: as it was, or as planned where the trial did not get to tell.
func (f *folded) measured() int64 {
	if f.rec.Checks.Measured > 0 {
		return f.rec.Checks.Measured
	}
	return int64(f.rec.Trial.Params.Phases.Measure)
}

// stopped reports whether the end was not waited for: what was under way then is neither delivered nor lost.
func (f *folded) stopped() bool { return f.rec.Checks.Stopped != "" }

// guaranteed reports whether the broker answers each message.
func (f *folded) guaranteed() bool { return f.rec.Trial.Params.QoS > 0 }

// trialOf makes the report of one trial.
func trialOf(rec *run.Trial) Trial {
	f := fold(rec)
	t := Trial{
		ID: rec.Trial.ID, Cell: rec.Trial.Cell, Point: rec.Trial.Point, Repetition: rec.Trial.Repetition,
		Started: rec.Started, State: rec.State, Failure: rec.Failure, Subject: subjectOf(rec), Params: rec.Trial.Params,
		Promise: promiseOf(rec), Counts: f.countsOf(), Rates: f.ratesOf(), Placement: rec.Placement, Client: rec.Client, Wire: rec.Wire, Link: linkOf(rec), Events: rec.Events,
	}
	if rec.Checks.Measured > 0 {
		t.Measured = new(rec.Checks.Measured)
	}
	due := f.due()
	t.Latency = latencyOf(&f.hists, &due, f.guaranteed())
	t.Generator = f.generatorOf()
	t.Broker, t.Host = f.resourcesOf()
	if c := rec.Connections; c.Attempted > 0 {
		t.Connections = &Connections{
			Connections: c, Connect: recorded(f.hists[ledger.Connect]), TCP: recorded(f.hists[ledger.ConnectTCP]), TLS: recorded(f.hists[ledger.ConnectTLS]),
			Protocol: recorded(f.hists[ledger.ConnectProtocol]), Outage: recorded(f.hists[ledger.Outage]),
		}
	}
	t.fillConnecting(rec)
	t.Churn = churnOf(f)
	t.Sharing = sharingOf(rec.Members)
	t.Recovery, t.Energy = f.recoveryOf(), f.energyOf()
	t.Idle = rec.Idle
	t.delivered, t.Stages = f.in.Delivered, f.stagesOf()
	t.judge(f)
	t.Bottleneck = t.bottleneck(f)
	t.diagnosis = findings.Of(rec)
	t.Findings = t.FindingsIn("en")
	return t
}

func subjectOf(rec *run.Trial) Subject {
	s := rec.Trial.Subject
	end := Endpoint{Protocol: s.Protocol, Client: rec.Client.Name}
	if end.Client == "" {
		end.Client = "mqlab"
	}
	hears := Endpoint{Protocol: s.SubscribeProtocol(), Client: end.Client}
	return Subject{
		Name: s.Name, Broker: s.Broker, Version: rec.Broker.Version, Runtime: s.Runtime, Variant: s.Variant, URL: s.URL,
		Publish: end, Subscribe: hears,
	}
}

func (f *folded) countsOf() Counts {
	c := f.counts
	counts := Counts{
		Offered: &c.Offered, Sent: &c.Sent, Received: &c.Received, Delivered: &c.Delivered,
		Drained: &c.Drained, Duplicates: &c.Duplicates, Reordered: &c.Reordered, MaxReorder: &c.MaxReorder,
		Corrupt: &c.Corrupt, Foreign: &c.Foreign, ClockSkew: &c.ClockSkew, Resent: &c.Resent,
	}
	if f.guaranteed() {
		counts.Acked, counts.Refused = &c.Acked, &c.Refused
	}
	if !f.final || f.stopped() {
		return counts
	}
	counts.Unsent, counts.Expected, counts.Lost, counts.UndeliveredUnsent, counts.Late = &c.Unsent, &c.Expected, &c.Lost, &c.UndeliveredUnsent, &c.Late
	if f.guaranteed() {
		counts.Unconfirmed = &c.Unconfirmed
	}
	return counts
}

func (f *folded) ratesOf() (r Rates) {
	if m := f.rec.Checks.Measured; m > 0 {
		r.Offered, r.Expected = perSecond(f.counts.Offered, m), perSecond(f.counts.Expected, m)
	}
	if f.span > 0 {
		r.Sent, r.Delivered = perSecond(f.in.Sent, f.span), perSecond(f.in.Delivered, f.span)
	}
	if r.Delivered != nil && r.Expected != nil && *r.Expected > 0 {
		r.Achieved = new(*r.Delivered / *r.Expected)
	}
	return r
}

func perSecond(n uint64, ns int64) *float64 {
	return new(float64(n) / time.Duration(ns).Seconds())
}

func (f *folded) generatorOf() Generator {
	r := f.rec.Generator
	g := Generator{
		Lateness: recorded(f.hists[ledger.Lateness]), Processes: r.Processes, SpinSeconds: r.SpinSeconds, RSSBytes: r.RSSBytes,
		GCPauseTotal: r.GCPauseTotal, GCPauseMax: r.GCPauseMax,
	}
	if f.final {
		g.SkippedSends = new(r.SkippedSends)
	}
	if r.Cores > 0 {
		g.Cores = new(r.Cores)
	}
	if x := r.Throttling; x != nil && x.Periods > 0 {
		g.Throttled = new(float64(x.Throttled) / float64(x.Periods))
	}
	if r.CPUSeconds == nil {
		return g
	}
	work := *r.CPUSeconds
	if r.SpinSeconds != nil {
		work -= *r.SpinSeconds
	}
	if work < 0 { // spinning is measured by another clock: what is left is not known
		return g
	}
	g.CPUSeconds = &work
	if n := f.in.Sent + f.in.Received; n > 0 {
		g.CPUPerMessage = new(work * 1e9 / float64(n))
	}
	return g
}

// Single is the summary of one trial that is not, or not yet, part of an opened run.
func Single(rec *run.Trial) *Summary {
	s := &Summary{Schema: Schema, Run: Run{TrialsPlanned: 1, Complete: rec.State == run.Finished}, Trials: []Trial{trialOf(rec)}}
	s.Cells = cellsOf(s.Trials)
	return s
}

// Only is the summary of a single trial of s: its figures and nothing to compare them with. It is nil if there is no such trial.
func (s *Summary) Only(trial int) *Summary {
	i := slices.IndexFunc(s.Trials, func(t Trial) bool { return t.ID == trial })
	if i < 0 {
		return nil
	}
	one := *s
	one.Trials = []Trial{s.Trials[i]}
	one.Run.TrialsPlanned = 1
	one.Run.Complete = one.Trials[0].State == run.Finished
	one.Cells = cellsOf(one.Trials)
	one.Comparisons = comparisonsOf(fieldsOf(one.Trials), s.Run.Seed)
	return &one
}

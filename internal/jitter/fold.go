package jitter

import (
	"maps"
	"slices"

	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/diagnose"
)

// fold joins what was sent with what came back, by number, and adds what was seen beside it.
func (r *Result) fold(o *Options, samples *agent.Samples, w *watcher, e *echo) {
	in := &diagnose.Input{
		KeepAlive: o.KeepAlive,
		Sources:   []diagnose.Source{diagnose.Times, diagnose.Schedule, diagnose.Events},
	}
	if !o.OneWay {
		in.Sources = append(in.Sources, diagnose.Callbacks)
	}
	back, pauses := r.answers(samples)
	r.Strays.Dropped = samples.Dropped
	published := map[uint32]diagnose.Message{}
	for _, s := range samples.Records {
		if s.Kind != agent.Sent {
			continue
		}
		r.Sent++
		m := diagnose.Message{Due: int64(s.A), Sent: int64(s.B), Lost: true}
		if at, ok := e.came[s.Seq]; ok {
			m.Recv, m.Lost = at, false
			r.Answered++
		} else if b, ok := back[s.Seq]; ok {
			m.Recv, m.Done, m.Lost = int64(b.A), int64(b.B), false
			r.Answered++
		}
		published[s.Seq] = m
	}
	for _, seq := range slices.Sorted(maps.Keys(published)) {
		in.Messages = append(in.Messages, published[seq])
	}
	for seq := range back {
		if _, ours := published[seq]; !ours {
			r.Strays.Foreign++
		}
	}
	r.Strays.Duplicates, r.Strays.Reordered, r.Strays.Foreign = r.Strays.Duplicates+e.again, r.Strays.Reordered+e.reordered, r.Strays.Foreign+e.foreign
	if len(pauses) > 0 {
		in.Signals = append(in.Signals, diagnose.Signal{Cause: diagnose.GCPause, Side: "client", Spans: pauses})
	}
	if l := o.Client.Language; l == agent.Python || l == agent.Node || l == agent.C || l == agent.CPP {
		in.Sources = append(in.Sources, diagnose.Pauses) // these tell of every pause, or have none
	}
	if w.process != nil {
		in.Facts = w.process.Facts
		in.Signals = append(in.Signals, w.process.Signals...)
		in.Sources = append(in.Sources, w.process.Sources...)
	}
	if b := w.broker; b != nil {
		in.Facts.BrokerNoDelay = b.Facts.ClientNoDelay
		in.Signals = append(in.Signals, b.Signals...)
		in.Sources = append(in.Sources, diagnose.Broker)
	}
	if w.control != nil {
		r.Control = Control{Probes: len(w.control.all), Slow: len(w.control.slow)}
		if sorted := slices.Sorted(slices.Values(w.control.all)); len(sorted) > 0 {
			r.Control.P50, r.Control.P99, r.Control.Max = rank(sorted, 0.5), rank(sorted, 0.99), sorted[len(sorted)-1]
		}
		w.control.add(in)
	}
	r.Input = in
}

// answers are the first of each message, and the pauses of the client's runtime.
func (r *Result) answers(samples *agent.Samples) (first map[uint32]agent.Record, pauses []diagnose.Span) {
	first = map[uint32]agent.Record{}
	latest, any := uint32(0), false
	for _, s := range samples.Records {
		switch s.Kind {
		case agent.Received:
			if _, again := first[s.Seq]; again {
				r.Strays.Duplicates++
				continue
			}
			if first[s.Seq] = s; any && s.Seq < latest {
				r.Strays.Reordered++
			}
			latest, any = max(latest, s.Seq), true
		case agent.Pause:
			pauses = append(pauses, diagnose.Span{From: int64(s.A), To: int64(s.B)})
		}
	}
	return first, pauses
}

package findings

import (
	"slices"
	"strings"

	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/run"
)

// ends are the events that begin something, with those that end it, and what it is called.
var ends = []struct {
	begin, end string
	cause      diagnose.Cause
	side       string
}{
	{"pause", "resume", diagnose.BrokerStall, "broker"},
	{"stop", "start", diagnose.Outage, "broker"},
	{"kill", "start", diagnose.Outage, "broker"},
	{"outage", "mended", diagnose.Outage, "network"},
}

// signals are when something was done to the trial, and when its connections were gone.
func signals(rec *run.Trial) (list []diagnose.Signal) {
	end := last(rec)
	var away []diagnose.Span
	for _, x := range ends {
		spans := between(rec.Events, x.begin, x.end, end)
		if len(spans) == 0 {
			continue
		}
		away = append(away, spans...)
		list = appendSpans(list, x.cause, x.side, spans)
	}
	list = appendSpans(list, diagnose.DeadPeer, "network", unnoticed(rec.Events, away))
	return appendSpans(list, diagnose.Handshake, "client", reconnecting(rec.Events, away, end))
}

func appendSpans(list []diagnose.Signal, cause diagnose.Cause, side string, spans []diagnose.Span) []diagnose.Signal {
	if len(spans) == 0 {
		return list
	}
	i := slices.IndexFunc(list, func(s diagnose.Signal) bool { return s.Cause == cause && s.Side == side })
	if i < 0 {
		return append(list, diagnose.Signal{Cause: cause, Side: side, Spans: spans, Certain: true})
	}
	list[i].Spans = append(list[i].Spans, spans...)
	return list
}

// last is when the last window ended.
func last(rec *run.Trial) (end int64) {
	for i := range rec.Windows {
		end = max(end, rec.Windows[i].End)
	}
	return end
}

// between are the times from an event to the next one of another kind; what does not end lasts until the end.
func between(events []run.Event, begin, end string, until int64) (spans []diagnose.Span) {
	from, open := int64(0), false
	for _, e := range events {
		switch {
		case e.Kind == begin && !open:
			from, open = e.T, true
		case e.Kind == end && open:
			spans, open = append(spans, diagnose.Span{From: from, To: e.T}), false
		}
	}
	if open && from < until {
		spans = append(spans, diagnose.Span{From: from, To: until})
	}
	return spans
}

// client is whose an event is: its text begins with the name.
func client(e *run.Event) string {
	name, _, _ := strings.Cut(e.Text, ": ")
	return name
}

// unnoticed are the times from the end of an outage until the connections that it had broken were found lost.
func unnoticed(events []run.Event, away []diagnose.Span) (spans []diagnose.Span) {
	for _, a := range away {
		until := a.To
		for _, e := range events {
			if e.Kind == "lost" && e.T > a.To && !slices.ContainsFunc(away, func(o diagnose.Span) bool { return o.From > a.To && o.From <= e.T }) {
				until = max(until, e.T)
			}
		}
		if until > a.To {
			spans = append(spans, diagnose.Span{From: a.To, To: until})
		}
	}
	return spans
}

// reconnecting are the times from the loss of a connection, or the end of an outage where that came later, until it was ready again.
func reconnecting(events []run.Event, away []diagnose.Span, end int64) (spans []diagnose.Span) {
	gone := map[string]int64{}
	close := func(name string, at int64) {
		from := gone[name]
		delete(gone, name)
		for _, a := range away {
			if from >= a.From && from < a.To {
				from = a.To
			}
		}
		if from < at {
			spans = append(spans, diagnose.Span{From: from, To: at})
		}
	}
	for i := range events {
		e := &events[i]
		name := client(e)
		_, lost := gone[name]
		switch {
		case e.Kind == "lost" && !lost:
			gone[name] = e.T
		case e.Kind == "reconnected" && lost:
			close(name, e.T)
		}
	}
	for name := range gone {
		close(name, end)
	}
	return spans
}

// alarm is in the reason of a broker that takes no messages for want of memory or disk (connection.blocked of AMQP 0-9-1).
const alarm = "resource alarm"

// alarms are the times in which the broker took no messages: from its word until the message that had waited longest was sent.
func alarms(rec *run.Trial, c *diagnose.Course) []diagnose.Signal {
	var spans []diagnose.Span
	end := last(rec)
	for _, e := range rec.Events {
		if e.Kind != "refused" || !strings.Contains(e.Text, alarm) || len(spans) > 0 && e.T < spans[len(spans)-1].To {
			continue
		}
		s := diagnose.Span{From: e.T, To: end}
		i := slices.IndexFunc(c.Stretches, func(x diagnose.Stretch) bool { return x.To > e.T && x.Blocked.Count > 0 })
		if i >= 0 {
			s.To = min(end, e.T+c.Stretches[i].Blocked.Max)
		}
		spans = append(spans, s)
	}
	return appendSpans(nil, diagnose.ResourceAlarm, "broker", spans)
}

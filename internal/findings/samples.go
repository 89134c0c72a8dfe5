package findings

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/run"
)

// mostMessages bounds what is diagnosed of a trial's samples: of more, those of some streams, or the first ones.
const mostMessages = 500_000

// messages are the times of a trial's messages, from its samples of so many bytes, with what was seen beside them. Times count from the
// begin of the measure window. note says what was left out.
func messages(rec *run.Trial, c *diagnose.Course, samples io.Reader, bytes int64) (in *diagnose.Input, note string, err error) {
	list, note, err := read(rec, samples, bytes)
	if err != nil {
		return nil, "", err
	}
	in = &diagnose.Input{
		Lost: c.Lost, Negative: c.Negative, KeepAlive: c.KeepAlive, FromDue: true, Floor: c.Floor, Slack: c.Slack, Signals: c.Signals, Facts: c.Facts,
		Sources: append(c.Sources, diagnose.Times),
	}
	in.Facts.SocketWait = new(1.0) // the generator's own loop waits for nothing else
	for _, m := range list {
		in.Messages = append(in.Messages, m.Message)
	}
	if spans := silences(c, list); len(spans) > 0 {
		in.Signals = append(in.Signals, diagnose.Signal{Cause: diagnose.BrokerStall, Side: "broker", Spans: spans, Certain: true})
	}
	in.Signals = append(in.Signals, blocked(c, list, in.Signals)...)
	return in, note, nil
}

// message is one that was received, and when the kernel had it; 0 = not known.
type message struct {
	diagnose.Message
	kernel int64
}

// read takes the messages due in the measure window.
func read(rec *run.Trial, samples io.Reader, bytes int64) (list []message, note string, err error) {
	if rec.MeasureStart == 0 {
		return nil, "", errors.New("the trial was cut: when its measure window opened is not known")
	}
	r, err := run.NewSampleReader(samples)
	if err != nil {
		return nil, "", err
	}
	every := uint32((bytes/run.SampleSize + mostMessages - 1) / mostMessages)
	streams := uint32(rec.Trial.Params.Publishers)
	if every = max(1, min(every, streams)); every > 1 {
		note = fmt.Sprintf("of %d streams one in %d is looked at", streams, every)
	}
	start, end := rec.MeasureStart, rec.MeasureStart+rec.Checks.Measured
	var s run.Sample
	for {
		switch err := r.Next(&s); {
		case errors.Is(err, io.EOF):
			return list, note, nil
		case err != nil:
			return nil, "", err
		case s.Kind != run.SampleReceived || s.Due < start || s.Due >= end || s.Stream%every != 0 || s.Received < s.Sent:
			continue
		}
		if len(list) == mostMessages {
			return list, fmt.Sprintf("only the first %d messages are looked at", mostMessages), nil
		}
		m := message{Message: diagnose.Message{Due: s.Due - start, Sent: s.Sent - start, Recv: s.Received - start}}
		if s.Kernel > 0 {
			m.kernel = s.Kernel - start
		}
		if m.Due == 0 { // 0 means that there is no schedule
			m.Due = 1
		}
		list = append(list, m)
	}
}

// blocked are the times that messages waited between due and sent in seconds in which more waited for room than for the generator, without
// those for which another reason is known: a window also fills because the broker stands still.
func blocked(c *diagnose.Course, list []message, known []diagnose.Signal) []diagnose.Signal {
	g := diagnose.Signal{Cause: diagnose.WindowFull, Side: "client", Certain: true}
	if c.Window == 0 {
		g.Cause, g.Side = diagnose.NotReading, "broker"
	}
	for _, m := range list {
		if m.Sent-m.Due < worthSaying {
			continue
		}
		if s := stretchAt(c, m.Sent); s != nil && s.Blocked.Sum > s.Late.Sum {
			g.Spans = append(g.Spans, without(diagnose.Span{From: m.Due, To: m.Sent}, known)...)
			g.Count++
		}
	}
	if len(g.Spans) == 0 {
		return nil
	}
	return []diagnose.Signal{g}
}

// without is what of a span lies in none of the signals.
func without(s diagnose.Span, known []diagnose.Signal) []diagnose.Span {
	left := []diagnose.Span{s}
	for i := range known {
		for _, k := range known[i].Spans {
			var rest []diagnose.Span
			for _, x := range left {
				for _, y := range []diagnose.Span{{From: x.From, To: min(x.To, k.From)}, {From: max(x.From, k.To), To: x.To}} {
					if y.From < y.To {
						rest = append(rest, y)
					}
				}
			}
			left = rest
		}
	}
	return left
}

// stretchAt is the stretch at a time; nil if there is none.
func stretchAt(c *diagnose.Course, t int64) *diagnose.Stretch {
	i, ok := slices.BinarySearchFunc(c.Stretches, t, func(s diagnose.Stretch, t int64) int {
		switch {
		case s.To <= t:
			return -1
		case s.From > t:
			return 1
		}
		return 0
	})
	if !ok {
		return nil
	}
	return &c.Stretches[i]
}

// A silence is at least so long, and so many messages are due in it.
const (
	leastSilence = int64(15 * time.Millisecond)
	leastDue     = 5
)

// silences are the times in which nothing arrived although much was due, and all of it came then: the broker stood still. Where the
// generator sent or read late, where others may have lost packets, or where the scenario itself was the reason, it is none of these.
func silences(c *diagnose.Course, list []message) (spans []diagnose.Span) {
	if !c.Local && (c.Retransmitted == nil || *c.Retransmitted > 0) {
		return nil
	}
	arrived := make([]int64, 0, len(list))
	due := make([]int64, 0, len(list))
	for _, m := range list {
		arrived, due = append(arrived, cmp.Or(m.kernel, m.Recv)), append(due, m.Due)
	}
	slices.Sort(arrived)
	slices.Sort(due)
	for i := 1; i < len(arrived); i++ {
		s := diagnose.Span{From: arrived[i-1], To: arrived[i]}
		if s.To-s.From < leastSilence || told(c, s) || !onTime(c, s) {
			continue
		}
		first, _ := slices.BinarySearch(due, s.From)
		end, _ := slices.BinarySearch(due, s.To)
		if end-first >= leastDue {
			spans = append(spans, s)
		}
	}
	return spans
}

// told reports whether the scenario itself, or the lack of a core, is the reason of a silence.
func told(c *diagnose.Course, s diagnose.Span) bool {
	for i := range c.Signals {
		for _, x := range c.Signals[i].Spans {
			if min(x.To, s.To) > max(x.From, s.From) {
				return true
			}
		}
	}
	if x := stretchAt(c, s.To-1); x != nil {
		return slices.ContainsFunc(x.Holds, func(h diagnose.Hold) bool { return 2*h.Time > s.To-s.From })
	}
	return true
}

// onTime reports whether the generator sent and read on time around a silence.
func onTime(c *diagnose.Course, s diagnose.Span) bool {
	for _, t := range []int64{s.From, s.To} {
		x := stretchAt(c, t)
		if x == nil || 2*max(x.Late.Max, x.Reading.Max) > s.To-s.From {
			return false
		}
	}
	return true
}

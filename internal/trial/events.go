package trial

import (
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/run"
)

// begin fixes the zero of the timeline and writes what happened before.
func (j *job) begin(measure int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.measure = measure
	j.record.MeasureStart = measure
	j.out.Origin(time.Now().Add(time.Duration(measure - clock.Now())))
	for _, e := range j.events {
		j.write(e)
	}
	j.events = nil
}

// connectionEvent takes an event of a worker.
func (j *job) connectionEvent(e engine.Event) { j.add(e) }

// note adds an event of the lab itself, now.
func (j *job) note(kind, text string) {
	j.add(engine.Event{At: clock.Now(), Kind: kind, Text: text})
}

// maxEvents bounds the timeline of one trial.
const maxEvents = 10_000

func (j *job) add(e engine.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.measure == 0 {
		if len(j.events) < maxEvents {
			j.events = append(j.events, e)
		}
		return
	}
	j.write(e)
}

func (j *job) write(e engine.Event) {
	if j.written++; j.written > maxEvents {
		return
	}
	text := e.Text
	if e.Client != "" {
		text = strings.TrimSuffix(e.Client+": "+e.Text, ": ")
	}
	_ = j.out.Event(run.Event{T: e.At - j.measure, Kind: e.Kind, Text: text}) // the writer keeps its first error for Finish
}

package report

import (
	"fmt"
	"time"

	"github.com/mqlab/mqlab/internal/summary"
)

// energy says what a device of one trial spends.
func (d *document) energy(t *summary.Trial) {
	e := t.Energy
	if e == nil {
		return
	}
	sec := d.section("What a device spends")
	sec.facts("data", fact("up a minute", summary.Number(e.BytesUp)+" B"), fact("down a minute", summary.Number(e.BytesDown)+" B"),
		fact("packets a minute", summary.Number(e.Packets)), fact("a month", summary.Bytes(uint64(e.Month+0.5))))
	sec.facts("client", fact("CPU a minute", nanoseconds(e.CPU)), fact("wake-ups a minute", numberOrNone(e.Wakeups)))
	if len(e.Radios) > 0 {
		radios := &table{head: []string{"radio", "on an hour", "bursts an hour", "set-up", "tail"}, left: 1}
		for _, r := range e.Radios {
			radios.row(r.Name, nanoseconds(&r.On), summary.Number(r.Bursts), summary.Duration(int64(r.SetUp)), summary.Duration(int64(r.Tail)))
		}
		sec.add(radios)
		for _, r := range e.Radios {
			sec.say(plain, r.Name+": "+r.Source+".")
		}
	}
	for _, c := range e.Costs {
		sec.say(plain, fmt.Sprintf("tariff %s: %.2f %s a month and device.", c.Name, c.Month, c.Currency))
	}
	sec.say(plain, fmt.Sprintf("A device is a connection, here one of %d over %v. Bytes and radio time compare protocols and their timers; CPU time and wake-ups are those of the client library, here mqlab's own.",
		e.Devices, time.Duration(measured(t)).Round(time.Second)))
}

func measured(t *summary.Trial) int64 {
	if t.Measured == nil {
		return int64(t.Params.Phases.Measure)
	}
	return *t.Measured
}

func numberOrNone(v *float64) string {
	if v == nil {
		return ""
	}
	return summary.Number(*v)
}

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
	if k := e.KeepAlives; k != nil {
		sec.facts("keep-alive", k.What, fact("exchanges", summary.Count(k.Exchanges)), fact("by the timers", numberOrNone(k.Due)),
			fact("bytes each", summary.Number(k.Bytes)), fact("by protocol and TCP", summary.Number(k.Protocol)), fact("difference", fmt.Sprintf("%.2f %%", k.Difference*100)),
			fact("acknowledged by other data", summary.Count(k.Carried)))
	}
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
	sec.say(plain, fmt.Sprintf("A device is a connection, here one of %d over %v. %s", e.Devices, time.Duration(measured(t)).Round(time.Second), cpuOrBytes))
}

// cpuOrBytes says what each figure of a device's energy is a figure of.
const cpuOrBytes = "Bytes and radio time compare protocols and their timers; CPU time and wake-ups compare libraries, here mqlab's own with itself: mqlab run clients compares others."

// energies says what a device spends in each of several trials.
func (d *document) energies(s *summary.Summary) {
	sec := d.section("What a device spends")
	alive := &table{head: []string{"keep-alives", "exchanges", "by timers", "bytes each", "by protocol", "off"}, left: 1}
	radios := &table{head: []string{"radio", "model", "on an hour", "bursts an hour"}, left: 2}
	costs := &table{head: []string{"tariff", "", "a month"}, left: 2}
	for i := range s.Trials {
		t := &s.Trials[i]
		if t.Energy == nil || t.Energy.KeepAlives == nil {
			continue
		}
		e, k := t.Energy, t.Energy.KeepAlives
		name := fmt.Sprintf("%d %s", t.ID, t.Subject.Name)
		alive.row(name, summary.Count(k.Exchanges), orUnknown(numberOrNone(k.Due)), summary.Number(k.Bytes), summary.Number(k.Protocol), fmt.Sprintf("%.2f %%", k.Difference*100))
		for _, r := range e.Radios {
			radios.row(name, r.Name, nanoseconds(&r.On), summary.Number(r.Bursts))
		}
		for _, c := range e.Costs {
			costs.row(name, c.Name, fmt.Sprintf("%.2f %s", c.Month, c.Currency))
		}
	}
	if len(alive.rows) == 0 {
		return
	}
	sec.add(alive)
	sec.say(plain, "An exchange is PINGREQ and PINGRESP, or PING and PONG, or one heartbeat of AMQP, with what acknowledges it; by protocol: the bytes of its frames, of TLS, TCP and IP, and of the acknowledgements that did not travel with other data.")
	for _, more := range []*table{radios, costs} {
		if len(more.rows) > 0 {
			sec.add(more)
		}
	}
	sec.say(plain, "A device is a connection. "+cpuOrBytes)
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

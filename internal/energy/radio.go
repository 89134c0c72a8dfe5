// Package energy tells from the times of packets what a device's radio and its data tariff have to bear. It is pure: it is told the
// packets, and knows neither link nor clock.
//
// It never says joules: what a state costs depends on the modem. How long the radio is on, and how often it has to be switched on, is
// what a protocol can be blamed for.
package energy

import (
	"errors"
	"fmt"
	"time"
)

// Radio is a model of a device's radio with three states. It is off, that is to say idle, listening for pages at most, until there is
// a packet, either way. Then it sets up a connection with the network, which takes SetUp, carries packets, and stays connected for
// Tail after the last one, until the network releases it (the RRC inactivity timer). Connection set-up, traffic and tail are its time
// on.
type Radio struct {
	Name   string        `json:"name"`
	SetUp  time.Duration `json:"set_up_ns"` // on before the first packet of a burst
	Tail   time.Duration `json:"tail_ns"`   // on after the last
	Source string        `json:"source"`    // where the figures come from
}

// Radios are the built-in models.
func Radios() []Radio {
	const operator = "; inactivity timers are the network operator's: 5 to 30 s are usual, and release assistance can cut them"
	return []Radio{
		{
			"lte-m", 260 * time.Millisecond, 10 * time.Second,
			"set-up as measured for LTE (Huang et al., A Close Examination of Performance and Power Characteristics of 4G LTE Networks, MobiSys 2012); the tail is chosen" + operator,
		},
		{
			"nb-iot", 2 * time.Second, 20 * time.Second,
			"chosen: some repetitions of random access and signalling at 25 kbit/s" + operator,
		},
		{
			"lte", 260 * time.Millisecond, 11600 * time.Millisecond,
			"promotion and tail as measured by Huang et al., A Close Examination of Performance and Power Characteristics of 4G LTE Networks, MobiSys 2012",
		},
	}
}

// errOrder is a packet whose time is before that of the one before.
var errOrder = errors.New("energy: packets are not in order of time")

// Meter follows the radio of one device. The zero value, with a Radio, is off.
type Meter struct {
	Radio
	from, last int64 // of the present burst
	burst      bool
	on         int64
	bursts     int
}

// Packet notes a packet at a time, whichever way it goes.
func (m *Meter) Packet(at int64) error {
	switch {
	case m.burst && at < m.last:
		return fmt.Errorf("%w: %d after %d", errOrder, at, m.last)
	case m.burst && at-m.last <= int64(m.Tail):
		m.last = at
		return nil
	}
	m.end(at - int64(m.SetUp))
	m.burst, m.from, m.last = true, at-int64(m.SetUp), at
	m.bursts++
	return nil
}

// end sums up the present burst; what comes next begins at a time.
func (m *Meter) end(next int64) {
	if m.burst {
		m.on += min(m.last+int64(m.Tail), max(next, m.last)) - m.from
	}
}

// On returns how long the radio was on until a time, set-up and tails included, and how often it was switched on.
func (m *Meter) On(until int64) (on time.Duration, bursts int) {
	whole := *m
	whole.end(until)
	return time.Duration(whole.on), whole.bursts
}

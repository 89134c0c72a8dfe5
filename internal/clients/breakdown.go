package clients

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/ktrace"
)

// part is where the time of one message went; ns, all of it known.
type part struct{ total, network, send, wake, dispatch, callback float64 }

// How a breakdown was made.
const (
	byEvents = "the kernel's wake-ups and returns of system calls"
	byStamps = "the kernel's stamp of the packet that left"
)

// breakdown is where the time of single messages goes: by the kernel's events, or without them by what its stamps tell.
func (k *taken) breakdown(records map[uint32]agent.Record) *Breakdown {
	b := &Breakdown{Method: byEvents, Why: k.untraced}
	if b.Why == "" && k.eventsLost > 0 {
		b.Why = fmt.Sprintf("%d of the kernel's events were lost", k.eventsLost)
	}
	parts, stamped := k.parts(records, b)
	if b.Why == "" && len(parts) < least {
		b.Why = "hardly any message had to wake a thread"
		parts, stamped = k.parts(records, b)
	}
	b.sum(middle(parts), stamped)
	return b
}

// least messages make a breakdown by events.
const least = 10

// parts are those of each message, and whether the kernel stamped all of them. With events, messages that woke nobody are left out.
func (k *taken) parts(records map[uint32]agent.Record, b *Breakdown) (parts []part, stamped bool) {
	stamped = true
	for i, at := range k.traced.sent {
		r := records[k.traced.first+uint32(i)]
		p := part{total: float64(int64(r.B) - at), callback: float64(r.B - r.A)}
		if b.Why == "" && !p.trace(k.events, at, int64(r.A)) {
			b.Awake++
			continue
		}
		if left := k.left[i]; left >= at && left <= int64(r.A) {
			p.send = float64(left - at)
		} else {
			stamped = false
		}
		parts = append(parts, p)
	}
	return parts, stamped
}

// trace finds the first wake-up of a thread after a message was written at, and when that thread came back from the kernel, before the
// callback began.
func (p *part) trace(events []ktrace.Event, at, callback int64) bool {
	i, _ := slices.BinarySearchFunc(events, at, func(e ktrace.Event, at int64) int { return cmp.Compare(e.At, at) })
	woken := slices.IndexFunc(events[i:], func(e ktrace.Event) bool { return e.Kind == ktrace.Woken })
	if woken < 0 {
		return false
	}
	first := events[i+woken]
	for _, e := range events[i+woken:] {
		if e.At >= callback {
			break
		}
		if e.Kind == ktrace.Return && e.Thread == first.Thread {
			p.network, p.wake, p.dispatch = float64(first.At-at), float64(e.At-first.At), float64(callback-e.At)
			return true
		}
	}
	return false
}

// middle are the middle half of the messages by their total.
func middle(parts []part) []part {
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.total, b.total) })
	n := len(parts)
	return parts[n/4 : n-n/4]
}

// sum makes the means.
func (b *Breakdown) sum(parts []part, stamped bool) {
	var m part
	for _, p := range parts {
		m.total += p.total
		m.network += p.network
		m.send += p.send
		m.wake += p.wake
		m.dispatch += p.dispatch
		m.callback += p.callback
	}
	n := float64(len(parts))
	if b.Count = len(parts); n == 0 {
		return
	}
	b.Total, b.Callback = m.total/n, m.callback/n
	if stamped {
		b.Send = new(m.send / n)
	}
	switch {
	case b.Why == "":
		b.Network, b.Wake, b.Dispatch = new(m.network/n), new(m.wake/n), new(m.dispatch/n)
	case stamped:
		b.Method = byStamps
		b.Rest = new(b.Total - b.Callback - m.send/n)
	default:
		b.Method = ""
		b.Rest = new(b.Total - b.Callback)
	}
}

package summary

import (
	"fmt"
	"strconv"
	"time"

	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
)

// Recovery is what outages did to connections and to the messages that waited meanwhile.
type Recovery struct {
	run.Recovery
	Schedule []plan.Outage `json:"schedule,omitempty"` // as it was drawn; faults are with the parameters

	Notice       *Quantiles `json:"notice,omitempty"`        // from the beginning of an outage until a connection was found lost
	Reconnect    *Quantiles `json:"reconnect,omitempty"`     // from its end, or the loss where that came later, until ready again
	FirstMessage *Quantiles `json:"first_message,omitempty"` // of subscribers whose connection stands again: until a message came
	Drain        *Quantiles `json:"drain,omitempty"`         // likewise: until the last message came that was sent before
	// ExpectedDrain is how long the largest backlog takes at one window of messages per round trip, where the window is known: the
	// round trip is that of the TCP handshake.
	ExpectedDrain *int64 `json:"expected_drain_ns,omitempty"`
	// BusiestSecond is which part of all returns fell into one second: 1 where all clients came back together.
	BusiestSecond *float64 `json:"busiest_second_ratio,omitempty"`
}

// recoveryOf is nil where there were no outages.
func (f *folded) recoveryOf() *Recovery {
	if f.rec.Recovery == nil {
		return nil
	}
	return &Recovery{
		Recovery: *f.rec.Recovery, Schedule: f.rec.Trial.Outages,
		Notice: recorded(f.hists[ledger.Notice]), Reconnect: recorded(f.hists[ledger.Reconnect]),
		FirstMessage: recorded(f.hists[ledger.FirstMessage]), Drain: recorded(f.hists[ledger.Drain]),
		ExpectedDrain: f.expectedDrain(), BusiestSecond: f.busiestSecond(),
	}
}

// expectedDrain is round trips × backlog / window.
func (f *folded) expectedDrain() *int64 {
	trip, window := f.hists[ledger.ConnectTCP], f.inFlight()
	if trip == nil || trip.Count() == 0 || window == 0 || f.rec.Recovery.Largest == 0 {
		return nil
	}
	trips := (f.rec.Recovery.Largest + uint64(window) - 1) / uint64(window)
	return new(int64(trips) * trip.Quantile(0.5))
}

// mosquittoInFlight is how many unacknowledged messages Mosquitto has on their way to a client as it is shipped
// (https://mosquitto.org/man/mosquitto-conf-5.html, max_inflight_messages).
const mosquittoInFlight = 20

// inFlight is how many messages the broker has on their way to one subscriber before it waits for acknowledgements; 0 = any
// number, or not known.
func (f *folded) inFlight() int {
	t := &f.rec.Trial
	granted := t.Params.Connect.ReceiveMaximum
	if t.Subject.Broker != "mosquitto" || t.Params.QoS == 0 {
		return granted
	}
	own := mosquittoInFlight
	for _, s := range f.rec.Broker.Config {
		if n, err := strconv.Atoi(s.Value); s.Key == "max_inflight_messages" && err == nil {
			own = n
		}
	}
	if own == 0 || granted > 0 && granted < own {
		return granted
	}
	return own
}

// busiestSecond is the largest part of all returns in one window of a second; nil where nobody came back.
func (f *folded) busiestSecond() *float64 {
	var all, most uint64
	in := map[int64]uint64{}
	for i := range f.rec.Windows {
		w := &f.rec.Windows[i]
		all += w.InWindow.Reconnected
		in[w.Start/int64(time.Second)] += w.InWindow.Reconnected
		most = max(most, in[w.Start/int64(time.Second)])
	}
	if all == 0 {
		return nil
	}
	return new(float64(most) / float64(all))
}

// checkIdle: for how long may connections be silent?
func (t *Trial) checkIdle(*folded) {
	i := t.Idle
	switch {
	case i == nil:
	case i.Failed == nil && i.Survived != nil:
		t.add(note, "idle_limit", "connections that were silent for %s went on; none was silent for longer", Duration(*i.Survived))
	case i.Failed != nil && i.Survived != nil:
		t.add(note, "idle_limit", "connections that were silent for %s went on, after %s they did not: keep-alives must be shorter", Duration(*i.Survived), Duration(*i.Failed))
	case i.Failed != nil:
		t.add(note, "idle_limit", "connections that were silent for %s, the shortest time tried, did not go on", Duration(*i.Failed))
	}
}

// checkRecovery: what did outages do?
func (t *Trial) checkRecovery(*folded) {
	r := t.Recovery
	if r == nil {
		return
	}
	if r.Noticed == 0 {
		t.add(note, "outage_unnoticed", "%s, and no connection was lost: %s shorter than it takes to notice them", Plural(r.Outages, "outage"), wereOrWas(r.Outages))
	}
	if r.Missed == 0 {
		return
	}
	waiting := r.Backlog + r.Missed
	end := ""
	switch {
	case r.Backlog == 0:
		end = "none was kept"
	case r.Newest == r.Missed:
		end = "the newest were dropped"
	case r.Oldest == r.Missed:
		end = "the oldest were dropped"
	default:
		end = fmt.Sprintf("%s of the oldest and %s of the newest were dropped, and others in between", Count(r.Oldest), Count(r.Newest))
	}
	t.add(note, "not_kept", "%s of %s that were sent while their subscribers were away were kept: %s", Count(r.Backlog), Plural(waiting, "message"), end)
}

func wereOrWas(n uint64) string {
	if n == 1 {
		return "it was"
	}
	return "they were"
}

// Plural is a number of things, the thing with an s unless there is one.
func Plural(n uint64, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return Count(n) + " " + thing
}

// Kept is the part of the messages sent while their subscribers were away that the broker kept; nil where none was due.
func (r *Recovery) Kept() *float64 {
	if r == nil || r.Backlog+r.Missed == 0 {
		return nil
	}
	return new(float64(r.Backlog) / float64(r.Backlog+r.Missed))
}

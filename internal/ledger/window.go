package ledger

import "github.com/mqlab/mqlab/internal/hist"

// Metric names a span of time that is recorded for each message or connection.
type Metric uint8

// The metrics. Each is measured in nanoseconds.
const (
	Response        Metric = iota // from due to received
	Service                       // from sent to received
	Ack                           // from sent to acknowledged
	Kernel                        // from sent to the receiving kernel's timestamp
	Client                        // from the receiving kernel's timestamp to received
	Lateness                      // from due to handed to the connection, blocked time excluded
	Blocked                       // waiting for a full socket or window
	Connect                       // from the start of a connection to ready, subscriptions confirmed
	ConnectTCP                    // the part of it until TCP was established
	ConnectTLS                    // the part of it that the TLS handshake took
	ConnectProtocol               // the part of it that the protocol took, subscriptions included
	Outage                        // of a connection: from when it was lost until it was ready again
	FirstLeg                      // from due to received by a subscriber at the near end of a bridge
	Visit                         // of a client that comes and leaves: from due until the broker had accepted it
	Notice                        // from the beginning of an outage until a connection was found lost by it
	Reconnect                     // from the end of an outage, or the loss where that came later, until a connection was ready again
	FirstMessage                  // of a subscriber whose connection stands again: until a message came
	Drain                         // likewise: until the last message came that was sent before
	NumMetrics                    // how many there are
)

var metrics = [NumMetrics]string{"response", "service", "ack", "kernel", "client", "lateness", "blocked", "connect", "connect_tcp", "connect_tls", "connect_protocol", "outage", "first_leg", "visit", "notice", "reconnect", "first_message", "drain"}

// String returns the name of the metric as it stands in files and reports.
func (m Metric) String() string {
	if m < NumMetrics {
		return metrics[m]
	}
	return "unknown"
}

// ParseMetric is the inverse of String.
func ParseMetric(name string) (m Metric, ok bool) {
	for i, s := range metrics {
		if s == name {
			return Metric(i), true
		}
	}
	return 0, false
}

// InWindow counts what happened within a window, whatever the due time of the messages.
type InWindow struct {
	Offered   uint64 `json:"offered,omitempty"`
	Sent      uint64 `json:"sent,omitempty"`
	Received  uint64 `json:"received,omitempty"`
	Delivered uint64 `json:"delivered,omitempty"` // distinct
	BytesOut  uint64 `json:"bytes_out,omitempty"`
	BytesIn   uint64 `json:"bytes_in,omitempty"`
	// Reconnected are connections that were lost and are ready again.
	Reconnected uint64 `json:"reconnected,omitempty"`
}

// Window is what happened to one group of streams in one second. Its JSON form is without the histograms.
type Window struct {
	Group    string                 `json:"group"`
	Start    int64                  `json:"start_ns"` // since the start of the measure window; negative during warm-up
	End      int64                  `json:"end_ns"`
	Phase    string                 `json:"phase"`
	Counts   Counts                 `json:"counts,omitzero"`
	InWindow InWindow               `json:"in_window,omitzero"`
	Hists    [NumMetrics]*hist.Hist `json:"-"` // nil = nothing recorded
}

// Merge adds what o counted to w and widens w to the time of both; a w without duration takes the time of o. Group and
// phase stay those of w. The histograms of o are copied, not shared.
func (w *Window) Merge(o *Window) {
	if w.Start == w.End {
		w.Start, w.End = o.Start, o.End
	} else if o.Start != o.End {
		w.Start, w.End = min(w.Start, o.Start), max(w.End, o.End)
	}
	w.Counts.Add(&o.Counts)
	w.InWindow.add(&o.InWindow)
	for m, h := range o.Hists {
		switch {
		case h == nil:
		case w.Hists[m] == nil:
			w.Hists[m] = h.Clone()
		default:
			w.Hists[m].Merge(h)
		}
	}
}

func (i *InWindow) add(o *InWindow) {
	i.Offered += o.Offered
	i.Sent += o.Sent
	i.Received += o.Received
	i.Delivered += o.Delivered
	i.BytesOut += o.BytesOut
	i.BytesIn += o.BytesIn
	i.Reconnected += o.Reconnected
}

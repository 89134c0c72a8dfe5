// Package ledger keeps account of messages: what was sent, delivered, lost, duplicated and reordered, exactly.
//
// A Tracker follows the sequence numbers of one stream at one subscriber. Counts are sums over many streams. A Window is
// what happened to one group of streams in one second: counts and latency histograms. Counts and windows merge.
package ledger

// Counts are numbers of messages.
//
// After the drain, Delivered + Lost + UndeliveredUnsent = Expected.
type Counts struct {
	Offered           uint64 `json:"offered,omitempty"`            // due in the measure window
	Sent              uint64 `json:"sent,omitempty"`               // of the offered; Sent + Unsent = Offered
	Unsent            uint64 `json:"unsent,omitempty"`             // of the offered, never left
	Acked             uint64 `json:"acked,omitempty"`              // of those sent with a guarantee: confirmed
	Unconfirmed       uint64 `json:"unconfirmed,omitempty"`        // … no answer until the end of the drain
	Refused           uint64 `json:"refused,omitempty"`            // … answered with an error
	Expected          uint64 `json:"expected,omitempty"`           // deliveries the offered ones should cause
	Received          uint64 `json:"received,omitempty"`           // receipts of measured messages in any phase, duplicates included
	Delivered         uint64 `json:"delivered,omitempty"`          // distinct, due in the measure window
	Drained           uint64 `json:"drained,omitempty"`            // of the delivered: after the measure window had closed
	Late              uint64 `json:"late,omitempty"`               // of the lost: arrived after the drain had ended
	Lost              uint64 `json:"lost,omitempty"`               // sent, never delivered
	UndeliveredUnsent uint64 `json:"undelivered_unsent,omitempty"` // expected deliveries of messages that never left
	Duplicates        uint64 `json:"duplicates,omitempty"`         // receipts beyond the first
	Reordered         uint64 `json:"reordered,omitempty"`          // first receipts after a higher sequence number of the stream
	MaxReorder        uint64 `json:"max_reorder,omitempty"`        // largest distance, in sequence numbers, of a reordered one
	Corrupt           uint64 `json:"corrupt,omitempty"`            // stamp or filler damaged; also in Lost
	Foreign           uint64 `json:"foreign,omitempty"`            // of another run or stream, or not of this lab
	ClockSkew         uint64 `json:"clock_skew,omitempty"`         // latencies below zero, in no histogram
	Resent            uint64 `json:"resent,omitempty"`             // repetitions after a connection was resumed
	Overflow          uint64 `json:"overflow,omitempty"`           // receipts a Tracker could not record; makes the trial invalid
}

// Add adds o to c; of MaxReorder it keeps the larger.
func (c *Counts) Add(o *Counts) {
	c.Offered += o.Offered
	c.Sent += o.Sent
	c.Unsent += o.Unsent
	c.Acked += o.Acked
	c.Unconfirmed += o.Unconfirmed
	c.Refused += o.Refused
	c.Expected += o.Expected
	c.Received += o.Received
	c.Delivered += o.Delivered
	c.Drained += o.Drained
	c.Late += o.Late
	c.Lost += o.Lost
	c.UndeliveredUnsent += o.UndeliveredUnsent
	c.Duplicates += o.Duplicates
	c.Reordered += o.Reordered
	c.MaxReorder = max(c.MaxReorder, o.MaxReorder)
	c.Corrupt += o.Corrupt
	c.Foreign += o.Foreign
	c.ClockSkew += o.ClockSkew
	c.Resent += o.Resent
	c.Overflow += o.Overflow
}

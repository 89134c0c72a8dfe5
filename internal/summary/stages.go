package summary

import "github.com/mqlab/mqlab/internal/ledger"

// Stages are how many of the messages due in the measure window reached each stage: at the end of that window, and in all. Only what was
// received counts as delivered; a message that was written to a socket may still be anywhere.
type Stages struct {
	AtEnd *Stage `json:"at_measure_end,omitempty"`
	Final Stage  `json:"final"`
}

// Stage is a count of messages at each of their stages.
type Stage struct {
	Scheduled uint64  `json:"scheduled"`
	Accepted  uint64  `json:"accepted"`            // by the client's session
	Written   uint64  `json:"written"`             // to the socket
	TCPAcked  uint64  `json:"tcp_acked"`           // by the TCP of the broker's host; of TLS connections at least so many
	Confirmed *uint64 `json:"confirmed,omitempty"` // by the broker; absent: it gives no answers
	Received  uint64  `json:"received"`            // by subscribers, distinct
}

// stagesOf is nil where they were not followed.
func (f *folded) stagesOf() *Stages {
	r := f.rec.Stages
	if r == nil || !f.final {
		return nil
	}
	s := &Stages{Final: f.stage(&f.counts, r.Written, r.TCPAcked)}
	if r.WrittenAtEnd == nil || r.TCPAckedAtEnd == nil {
		return s
	}
	var until ledger.Counts
	for i := range f.rec.Windows {
		if w := &f.rec.Windows[i]; w.Start >= 0 && w.Start < f.measured() {
			until.Add(&w.Counts)
		}
	}
	s.AtEnd = new(f.stage(&until, *r.WrittenAtEnd, *r.TCPAckedAtEnd))
	return s
}

func (f *folded) stage(c *ledger.Counts, written, acked uint64) Stage {
	s := Stage{Scheduled: c.Offered, Accepted: c.Sent, Written: written, TCPAcked: acked, Received: c.Delivered}
	if f.guaranteed() {
		s.Confirmed = &c.Acked
	}
	return s
}

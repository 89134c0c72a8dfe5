package summary

import (
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/run"
)

// Churn is what became of the clients that were to come and leave while there was load.
type Churn struct {
	run.Churn
	PerSecond *float64   `json:"visits_per_s,omitempty"` // accepted
	Visit     *Quantiles `json:"visit,omitempty"`        // from due until the broker had accepted it, over all that were due
	// Kept is how much more memory the broker had when all clients had left than before the first came.
	Kept *int64 `json:"memory_kept_bytes,omitempty"`
}

// churnOf is nil where there was no churn.
func churnOf(f *folded) *Churn {
	c := f.rec.Churn
	if c == nil {
		return nil
	}
	v := &Churn{Churn: *c, Visit: quantilesOf(f.hists[ledger.Visit], c.Due)}
	if m := f.rec.Checks.Measured; m > 0 {
		v.PerSecond = perSecond(c.Made, m)
	}
	if before, after := f.rec.Broker.PSSIdle, f.rec.Broker.PSSAfter; before != nil && after != nil {
		v.Kept = new(int64(*after) - int64(*before))
	}
	return v
}

func visits(t *Trial) *Quantiles {
	if t.Churn == nil {
		return nil
	}
	return t.Churn.Visit
}

package trial

import (
	"cmp"
	"slices"

	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/worker"
)

// idle tells from what became of the messages of each publisher for how long connections may be silent; nil where all have the same
// interval. Only intervals that lay between two messages of the measure window tell anything.
func idle(p *plan.Params, r *worker.Result) *run.Idle {
	if p.Spread <= 1 {
		return nil
	}
	lost := map[uint32]uint64{}
	for _, receipt := range r.Receipts {
		for _, b := range r.Books {
			if b.Stream == receipt.Stream {
				lost[b.Stream] += receipt.Seen.Missing(b.First, b.End)
			}
		}
	}
	books := slices.Clone(r.Books)
	slices.SortFunc(books, func(a, b engine.StreamBook) int { return cmp.Compare(a.Stream, b.Stream) })
	out := &run.Idle{}
	for _, b := range books {
		interval := int64(p.Interval(int(b.Stream)))
		switch {
		case b.Offered() < 2:
		case lost[b.Stream] > 0:
			out.Failed = &interval
			return out
		default:
			out.Survived = &interval
		}
	}
	return out
}

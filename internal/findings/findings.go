// Package findings reads, of a trial that was carried out, what a diagnosis needs: of every trial how it went by the second, and of one
// whose samples were kept the times of its messages. It judges nothing.
package findings

import (
	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/run"
)

// Of diagnoses a trial by what is always kept of it. It is nil where there is nothing to diagnose: nothing was measured, or the load was
// as much as possible, so that latency is that of a queue which the load itself made.
func Of(rec *run.Trial) *diagnose.Result {
	c := Course(rec)
	if c == nil {
		return nil
	}
	return diagnose.DiagnoseCourse(c)
}

// Why says why a trial cannot be diagnosed; "" = it can.
func Why(rec *run.Trial) string {
	p := &rec.Trial.Params
	switch {
	case p.RatePerS == 0 || p.Pacing == "max":
		return "the load was as much as possible: messages wait in a queue that the load itself made"
	case len(rec.Windows) == 0:
		return "nothing of it was recorded"
	case !arrived(rec):
		return "no message arrived in its measure window"
	}
	return ""
}

func arrived(rec *run.Trial) bool {
	for i := range rec.Windows {
		if w := &rec.Windows[i]; w.Start >= 0 && w.Hists[ledger.Response] != nil && w.Hists[ledger.Response].Count() > 0 {
			return true
		}
	}
	return false
}

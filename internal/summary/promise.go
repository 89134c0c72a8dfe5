package summary

import (
	"strings"

	"github.com/mqlab/mqlab/internal/run"
)

// Promise is what is promised about a message: how often it arrives, and what becomes of it when the broker ends. Only subjects with
// the same promise are ranked together. To whom it goes, each subscriber or one of them, is the pattern of the load, which all
// subjects of a point share.
type Promise struct {
	Guarantee  string `json:"guarantee"`
	Durability string `json:"durability,omitempty"` // absent: not known
}

// String names both.
func (p Promise) String() string {
	return strings.TrimSuffix(p.Guarantee+", "+p.Durability, ", ")
}

// promiseOf is what the client recorded, or follows from subject, quality of service and session.
func promiseOf(rec *run.Trial) Promise {
	if rec.Client.Guarantee != "" {
		return Promise{rec.Client.Guarantee, rec.Client.Durability}
	}
	return Promise{rec.Trial.Guarantee(), rec.Trial.Durability()}
}

package worker

import (
	"time"

	"github.com/mqlab/mqlab/internal/plan"
)

// preciseBelow is the rate per second up to which the automatic quantum is precise: more wake-ups cost more than they tell.
const preciseBelow = 2000

const coarseQuantum = 100 * time.Microsecond

// quantum returns how finely the schedule is kept; 0 = precise.
func quantum(p *plan.Params) time.Duration {
	if d, err := time.ParseDuration(p.Quantum); err == nil {
		return d
	}
	if p.Quantum != plan.QuantumPrecise && (p.RatePerS == 0 || max(p.RatePerS, p.RampToPerS) > preciseBelow) {
		return coarseQuantum
	}
	return 0
}

// writes returns what is written together. A connection that has several messages due at a time is no device that sends now and
// then; where nothing is due because all goes as fast as it can, one write per message would measure the system call.
func writes(p *plan.Params) string {
	switch {
	case p.Writes != "":
		return p.Writes
	case p.RatePerS == 0 || max(p.RatePerS, p.RampToPerS)/float64(p.Publishers)*quantum(p).Seconds() > 1:
		return plan.WritesBatch
	}
	return plan.WritesMessage
}

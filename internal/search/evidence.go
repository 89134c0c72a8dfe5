package search

// Evidence are the outcomes of the probes of one value.
type Evidence struct{ Held, Failed, Unmeasured int }

// Add counts one more outcome.
func (e *Evidence) Add(o Outcome) {
	switch o {
	case Held:
		e.Held++
	case Failed:
		e.Failed++
	default:
		e.Unmeasured++
	}
}

// Total is the number of probes.
func (e *Evidence) Total() int { return e.Held + e.Failed + e.Unmeasured }

// Decided is what the probes of the value say together; false while they leave it open. A value holds, or fails, when that is ahead of
// the opposite by margin outcomes: a sequential probability ratio test (Wald 1945) with the same bound on either side, so that neither
// answer is favoured. Probes that could not be measured speak for neither; where they are ahead of all others by the margin, the value
// is out of reach of the load generator.
func (e *Evidence) Decided(margin int) (o Outcome, ok bool) {
	switch {
	case e.against() >= margin && e.outOfReach():
		return Unmeasured, true
	case e.against() >= margin:
		return Failed, true
	case e.net() >= margin:
		return Held, true
	}
	return "", false
}

// net is by how many those that held are ahead of those that failed. What could not be measured weighs against the value only where
// it is more than what could.
func (e *Evidence) net() int {
	n := e.Held - e.Failed
	if e.Unmeasured > e.Held+e.Failed {
		n -= e.Unmeasured
	}
	return n
}

// failing is by how many those that failed are ahead of those that held.
func (e *Evidence) failing() int { return e.Failed - e.Held }

// unmeasurable is by how many those that could not be measured are ahead of those that could.
func (e *Evidence) unmeasurable() int { return e.Unmeasured - e.Held - e.Failed }

// against is how sure it is that the value does not hold, or else that it cannot be measured: these two are never added.
func (e *Evidence) against() int { return max(e.failing(), e.unmeasurable()) }

// outOfReach tells which of the two it is.
func (e *Evidence) outOfReach() bool { return e.unmeasurable() > e.failing() }

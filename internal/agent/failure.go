package agent

import (
	"fmt"
	"time"
)

// failureDelay is how long after its connection an agent's own words may come.
const failureDelay = time.Second

// Failure is what the agent has said that it failed of, or says now that its connection is gone; nil = nothing.
func (p *Process) Failure() error {
	late := time.NewTimer(failureDelay)
	defer late.Stop()
	for {
		select {
		case e, ok := <-p.events:
			switch {
			case !ok:
				return nil
			case e.Event == "error":
				return p.failed(&e)
			}
		case <-late.C:
			return nil
		}
	}
}

// failed is what an agent says in an event of kind error; the code is the library's or the system's, 0 = it has none.
func (p *Process) failed(e *event) error {
	if e.Code == 0 {
		return fmt.Errorf("%s: %s%s", p.Name, e.What, p.words)
	}
	return fmt.Errorf("%s: %s (%d)%s", p.Name, e.What, e.Code, p.words)
}

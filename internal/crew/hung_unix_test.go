//go:build unix

package crew

import (
	"syscall"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/plan"
)

// TestHung: a process that says nothing any more is ended after a while, with a word about which.
func TestHung(t *testing.T) {
	c := started(t, func(p *plan.Params) { p.Phases.Measure = time.Minute })
	if err := c.processes[2].cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	c.stopTime = 300 * time.Millisecond
	c.tell(command{Do: doBegin, Start: clock.Now()})
	_, err := c.all(t.Context(), doBegin, 100*time.Millisecond)
	if err == nil || err.Error() != "generator process 3 of 3 did not answer to begin and was ended" {
		t.Errorf("error %v", err)
	}
}

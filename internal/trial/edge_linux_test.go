package trial_test

import (
	"testing"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/needs"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
)

// TestJavaOnEdgeMachine: on a machine of one core and 2 GB a broker in Java gives numbers, or is killed for memory and said to be;
// it never hangs the lab.
func TestJavaOnEdgeMachine(t *testing.T) {
	if !needs.CI() {
		t.Skip("for continuous integration (CI=1): brokers in Java take their time on one core of a busy host")
	}
	edge := plan.Profile{Name: "1cpu-2gb", CPUs: 1, MemoryBytes: 2 << 30, OpenFiles: 1000}
	if err := broker.CanLimit(edge, broker.Process, 1, 0); err != nil {
		needs.Root(t, err)
	}
	for _, subject := range []string{"hivemq", "artemis"} {
		t.Run(subject, func(t *testing.T) {
			t.Parallel()
			for _, r := range carriedOut(t, "scale", subject, "machine=1cpu-2gb", "matrix.load.publishers=[300]", "load.rate=1/s each", "connect.rate=60/s") {
				switch killed := r.Checks.KilledForMemory; {
				case killed != nil:
					t.Logf("killed for memory: %+v", killed)
				case r.State != run.Finished:
					t.Errorf("%s: %s", r.State, r.Failure)
				default:
					if n := r.Broker.Limits["memory_bytes"]; n != 2<<30 {
						t.Errorf("its memory is limited to %d", n)
					}
					if c := total(r, engine.Subscribers); c.Expected == 0 || r.Connections.Established < 600 {
						t.Errorf("%+v, %+v", c, r.Connections)
					}
				}
			}
		})
	}
}

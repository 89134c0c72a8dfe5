package selftest

import (
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/guard/guardtest"
)

// TestRun carries out the whole self-test. Times get much slack: a test host may be busy.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 20 s")
	}
	g := guardtest.Start(t)
	var out strings.Builder
	began := time.Now()
	ok, err := Run(t.Context(), &out, Options{Guard: g, Slack: 2 * time.Second})
	if err != nil || !ok {
		t.Errorf("the self-test failed: %v", err)
	}
	t.Logf("after %v:\n%s", time.Since(began), &out)
	for line := range strings.Lines(out.String()) {
		if len(strings.TrimRight(line, "\n")) > 80 {
			t.Errorf("line of %d columns: %s", len(line), line)
		}
	}
}

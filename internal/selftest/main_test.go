package selftest

import (
	"testing"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/guard/guardtest"
)

// TestMain lets this test program be its own guard and embedded broker, as mqlab is.
func TestMain(m *testing.M) {
	guardtest.Main(m, guard.Verbs{broker.Verb: broker.Main})
}

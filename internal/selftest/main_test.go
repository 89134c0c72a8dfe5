package selftest

import (
	"os"
	"testing"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/guard/guardtest"
)

// TestMain lets this test program be its own guard and embedded broker, as mqlab is.
func TestMain(m *testing.M) {
	guardtest.Main(m, guardtest.Verbs{broker.Verb: func(args []string) int { return broker.Main(args, os.Stdin, os.Stdout) }})
}

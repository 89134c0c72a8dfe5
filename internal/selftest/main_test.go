package selftest

import (
	"os"
	"testing"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/guard"
)

// TestMain lets this test program be its own guard and embedded broker, as mqlab is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case guard.Verb:
			os.Exit(guard.Main(os.Stdin))
		case broker.Verb:
			os.Exit(broker.Main(os.Args[2:], os.Stdin, os.Stdout))
		}
	}
	os.Exit(m.Run())
}

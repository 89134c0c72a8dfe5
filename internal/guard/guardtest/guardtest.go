// Package guardtest gives tests a guard, and lets the program of a test carry out the verbs that it starts itself with.
package guardtest

import (
	"os"
	"syscall"
	"testing"

	"github.com/mqlab/mqlab/internal/guard"
)

// Verbs are what the program of a test does, besides guard.Verb, when its first argument is one of them: it is given the
// arguments behind, and returns its exit code.
type Verbs map[string]func(args []string) int

// Main runs the tests, or carries out the verb that the program was started with.
func Main(m *testing.M, verbs Verbs) {
	if len(os.Args) > 1 {
		// Not os.Exit: under the race detector it lingers for a second.
		if os.Args[1] == guard.Verb {
			syscall.Exit(guard.Main(os.Stdin))
		}
		if do, ok := verbs[os.Args[1]]; ok {
			syscall.Exit(do(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

// Start starts a guard, which ends with the test.
func Start(t testing.TB) *guard.Guard {
	t.Helper()
	g, err := guard.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

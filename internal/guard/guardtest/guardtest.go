// Package guardtest gives tests a guard, and lets the program of a test carry out the verbs that it starts itself with.
package guardtest

import (
	"os"
	"syscall"
	"testing"

	"github.com/mqlab/mqlab/internal/guard"
)

// Main runs the tests, or carries out the verb that the program was started with.
func Main(m *testing.M, verbs guard.Verbs) {
	if code, asked := verbs.Do(os.Args[1:]); asked {
		syscall.Exit(code) // not os.Exit: under the race detector it lingers for a second
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

// Package brokertest gives tests the brokers of this machine.
package brokertest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/needs"
	"github.com/mqlab/mqlab/internal/plan"
)

// Need finds a broker, or ends the test. In continuous integration it must be there, unless scripts/brokers noted that a
// registry did not give it.
func Need(t testing.TB, s plan.Subject) broker.Finding {
	t.Helper()
	found := broker.Find(t.Context(), s)
	if found.OK {
		return found
	}
	if Refused(s.Broker) {
		t.Skip(found.Why, "; scripts/brokers could not get it")
	}
	needs.Installed(t, found.Why)
	return found
}

// Refused tells whether scripts/brokers noted that a registry did not give a broker.
func Refused(name string) bool {
	_, err := os.Stat(filepath.Join(broker.Cache(), name+".missing"))
	return err == nil
}

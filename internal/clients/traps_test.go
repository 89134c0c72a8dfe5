package clients_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/mqlab/mqlab/internal/agent"
	"github.com/mqlab/mqlab/internal/clients"
)

// TestTraps: every library has some, each in both languages and with its source; no trap is of a client that there is not.
func TestTraps(t *testing.T) {
	for _, a := range agent.All() {
		traps := clients.Traps(a.Name)
		if a.Floor != (len(traps) == 0) {
			t.Errorf("%s has %d traps", a.Name, len(traps))
		}
		for _, trap := range traps {
			han := strings.ContainsFunc(trap.Chinese, func(r rune) bool { return unicode.Is(unicode.Han, r) })
			if trap.Text == "" || !han || len(trap.Source) < 6 || strings.ContainsFunc(trap.Text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
				t.Errorf("%s: %+v", a.Name, trap)
			}
		}
	}
	if clients.Traps("c-libmosquito") != nil {
		t.Error("there is no such client")
	}
}

// TestRoundsFor: with one round less, the smallest probability of the rank test, 2 in C(2n, n), times the pairs is too large.
func TestRoundsFor(t *testing.T) {
	for libraries, want := range map[int]int{2: 4, 3: 5, 4: 5, 5: 6, 7: 6, 10: 7} {
		if got := clients.RoundsFor(libraries); got != want {
			t.Errorf("%d libraries need %d rounds, want %d", libraries, got, want)
		}
	}
}

package report

import (
	"slices"
	"testing"
)

// TestPhrases: no line ends between a figure and its unit.
func TestPhrases(t *testing.T) {
	got := slices.Collect(phrases(" from 84–100 % of 1.50 ms (3 s), 20 messages: 95 %. "))
	want := []string{"from", "84–100 %", "of", "1.50 ms", "(3 s),", "20", "messages:", "95 %."}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

package report

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mqlab/mqlab/internal/capacity"
	"github.com/mqlab/mqlab/internal/capacity/capacitytest"
	"github.com/mqlab/mqlab/internal/summary"
)

// TestAcrossSearches: of two searches it is said whether what is sustained changed.
func TestAcrossSearches(t *testing.T) {
	var found [2][]capacity.Result
	var runs []*summary.Summary
	for i := range found {
		r := capacitytest.Carry(t, capacitytest.Plan(), 1000, capacitytest.Overload)
		s := summary.Of(r)
		s.Run.ID = string(rune('a' + i))
		runs = append(runs, s)
		var err error
		if found[i], err = capacity.Of(s, &r.Manifest.Plan); err != nil {
			t.Fatal(err)
		}
	}
	a, err := summary.CompareRuns(runs, false)
	if err != nil {
		t.Fatal(err)
	}
	changes := capacity.Changes(found[0], found[1], [2]string{"A", "B"})
	for format, want := range map[string]string{
		"text":     "nats: no change of the capacity is shown",
		"markdown": "nats: no change of the capacity is shown: 1,450/s (at least 1,450/s, less than 1,600/s) in A",
		"json":     `"verdict": "none_shown"`,
	} {
		var out bytes.Buffer
		if err := WriteAcross(&out, format, a, Options{Changes: changes}); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); !strings.Contains(got, want) {
			t.Errorf("%s lacks %q:\n%s", format, want, got)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); format == "text" && n > textWidth {
				t.Errorf("%d columns: %q", n, line)
			}
		}
	}
}

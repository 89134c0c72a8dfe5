package search_test

import (
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/search"
)

// of reads outcomes written as letters: h held, f failed, u could not be measured.
func of(letters string) (all []search.Outcome) {
	for _, l := range letters {
		all = append(all, map[rune]search.Outcome{'h': search.Held, 'f': search.Failed, 'u': search.Unmeasured}[l])
	}
	return all
}

func TestEvidence(t *testing.T) {
	for letters, want := range map[string]search.Outcome{
		"": "", "h": "", "hh": "", "hhh": search.Held, "hhfh": "", "hhfhh": search.Held,
		"fff": search.Failed, "ffhf": "", "ffhff": search.Failed,
		"uuu": search.Unmeasured, "huuu": "", "huuuu": search.Unmeasured,
		"ffu": "", "fuu": "", "ffuu": "", "ffuf": search.Failed, // two that failed stay two, whatever could not be measured
		"hhuh": search.Held, "hhuuh": search.Held, "hhhuuuu": "",
	} {
		var e search.Evidence
		for _, o := range of(letters) {
			e.Add(o)
		}
		if got, ok := e.Decided(3); got != want || ok != (want != "") || e.Total() != len(letters) {
			t.Errorf("%q: %q %v, want %q", letters, got, ok, want)
		}
		swapped := strings.NewReplacer("h", "f", "f", "h").Replace(letters)
		var back search.Evidence
		for _, o := range of(swapped) {
			back.Add(o)
		}
		if got, _ := back.Decided(3); !strings.Contains(letters, "u") && (got == search.Held) != (want == search.Failed) {
			t.Errorf("%q is %q, and %q is %q: the bounds are not the same", letters, want, swapped, got)
		}
	}
}

// TestUnmeasuredIsNoFailure: an edge is called a limit only where enough probes failed by themselves, and a value below it is not given
// up because the host was busy once.
func TestUnmeasuredIsNoFailure(t *testing.T) {
	c := search.Config{Values: []float64{1, 2, 3, 4, 5, 6, 7, 8}, Climb: 2, Margin: 3}
	for letters, want := range map[string]search.End{"fff": search.AtLimit, "ffuu": search.AtNoEnd, "ffuf": search.AtLimit, "uuu": search.NotTested, "uufff": search.AtLimit} {
		s := search.New(c)
		for range 3 {
			s.Report(4, search.Held)
		}
		for _, o := range of(letters) {
			s.Report(5, o)
		}
		if r := s.Result(); r.End != want || r.Best != 4 {
			t.Errorf("%q: %s at %d, want %s", letters, r.End, r.Best, want)
		}
	}
	n := 0
	s, _ := run(c, func(v float64) search.Outcome {
		if n++; n == 2 { // while it climbs
			return search.Unmeasured
		}
		return below(6)(v)
	})
	if r := s.Result(); r.Best != 5 || r.End != search.AtLimit || r.Low != 5 || r.High != 6 {
		t.Errorf("%+v", r)
	}
}

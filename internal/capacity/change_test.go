package capacity

import (
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/plan"
)

// TestChanges: a capacity is called changed only where the intervals lie apart.
func TestChanges(t *testing.T) {
	p := &plan.Search{Vary: plan.VaryRate, From: 100, To: 4000, Limits: []string{"lost = 0"}}
	at := func(low, high float64) Result {
		r := Result{Subject: "nats", Vary: plan.VaryRate, Settled: true, search: p}
		if low > 0 {
			r.Low, r.Sustainable = &low, &low
		}
		if high > 0 {
			r.High = &high
		}
		return r
	}
	cut, other := at(100, 200), at(100, 200)
	cut.Settled = false
	other.search = &plan.Search{Vary: plan.VaryRate, Limits: []string{"p99 < 1ms"}}
	for _, c := range []struct {
		a, b          Result
		verdict, text string
	}{
		{at(1000, 1100), at(1100, 1200), Higher, "the capacity is higher: 1,000/s (at least 1,000/s, less than 1,100/s) in A, 1,100/s"},
		{at(1100, 1200), at(1000, 1100), Lower, "the capacity is lower"},
		{at(1000, 1200), at(1100, 1300), NoneShown, "no change of the capacity is shown"},
		{at(1000, 1100), at(4000, 0), Higher, "at least 4,000/s in B"},
		{at(4000, 0), at(4000, 0), NoneShown, "no change"},
		{at(1000, 1100), at(0, 100), Lower, "less than 100/s in B"},
		{at(100, 200), cut, NotComplete, "is not known"},
		{at(0, 0), at(100, 200), NotComplete, "nothing measured in A"},
		{at(100, 200), other, OtherSearch, "their limits (lost = 0; p99 < 1ms)"},
	} {
		got := Changes([]Result{c.a}, []Result{c.b}, [2]string{"A", "B"})
		if len(got) != 1 || got[0].Verdict != c.verdict || !strings.Contains(got[0].Text, c.text) {
			t.Errorf("%+v, want %s: %q", got, c.verdict, c.text)
		}
	}
	b := at(1, 2)
	b.Subject = "redis"
	if got := Changes([]Result{at(1, 2)}, []Result{b}, [2]string{"A", "B"}); got != nil {
		t.Error("compared what is in one run only")
	}
}

package report

import (
	"testing"

	"github.com/mqlab/mqlab/internal/summary"
)

// TestThin: an interval of few repetitions is not called one of 95 %.
func TestThin(t *testing.T) {
	for _, c := range []struct {
		valid []int
		want  string
	}{
		{[]int{5, 6}, ""},
		{[]int{1, 0, 7}, ""}, // one repetition has no interval
		{[]int{5, 4}, "The interval of 4 repetitions is their whole span: its confidence is 87.5 %, not 95 %."},
		{[]int{3}, "The interval of 3 repetitions is their whole span: its confidence is 75.0 %, not 95 %."},
		{[]int{1, 2, 5}, "The interval of 2 repetitions is their whole span: its confidence is 50.0 %, not 95 %."},
	} {
		g := &group{}
		for _, n := range c.valid {
			g.rows = append(g.rows, row{cell: &summary.Cell{Valid: n}})
		}
		if got := g.thin(); got != c.want {
			t.Errorf("%v: %q, want %q", c.valid, got, c.want)
		}
	}
}

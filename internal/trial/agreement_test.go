package trial

import "testing"

// TestNearest: a figure that was read between two readings of a counter agrees with it wherever it lies between them, and differs by the
// distance to the nearer one elsewhere; so a difference that is told is one for sure.
func TestNearest(t *testing.T) {
	for _, c := range []struct{ to, from, until, want uint64 }{
		{5, 3, 8, 5}, {3, 3, 8, 3}, {8, 3, 8, 8}, {1, 3, 8, 3}, {9, 3, 8, 8}, {0, 0, 0, 0}, {7, 4, 4, 4},
	} {
		if got := nearest(c.to, c.from, c.until); got != c.want {
			t.Errorf("nearest to %d of %d to %d: %d, want %d", c.to, c.from, c.until, got, c.want)
		}
	}
}

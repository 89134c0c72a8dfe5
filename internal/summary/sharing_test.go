package summary

import "testing"

func TestSharing(t *testing.T) {
	if s := sharingOf(nil); s != nil {
		t.Errorf("nothing is shared: %+v", s)
	}
	for _, c := range []struct {
		delivered []uint64
		want      Sharing
		imbalance float64 // below 0 = not known
	}{
		{[]uint64{10, 10, 10}, Sharing{Members: 3, Least: 10, Mean: 10, Most: 10}, 0},
		{[]uint64{0, 30, 15}, Sharing{Members: 3, Idle: 1, Mean: 15, Most: 30}, 2},
		{[]uint64{7}, Sharing{Members: 1, Least: 7, Mean: 7, Most: 7}, 0},
		{[]uint64{0, 0}, Sharing{Members: 2, Idle: 2}, -1},
	} {
		got := *sharingOf(c.delivered)
		if v := got.Imbalance; (v == nil) != (c.imbalance < 0) || v != nil && *v != c.imbalance {
			t.Errorf("%v: imbalance %v, want %v", c.delivered, v, c.imbalance)
		}
		if got.Imbalance = nil; got != c.want {
			t.Errorf("%v: %+v, want %+v", c.delivered, got, c.want)
		}
	}
}

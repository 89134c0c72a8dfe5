package summary

import "slices"

// Sharing says how the members of a shared subscription divided the messages among them.
type Sharing struct {
	Members   int      `json:"members"`
	Idle      int      `json:"idle"` // that got none
	Least     uint64   `json:"least"`
	Mean      float64  `json:"mean"`
	Most      uint64   `json:"most"`
	Imbalance *float64 `json:"imbalance_ratio,omitempty"` // of the difference of most and least to the mean: 0 = all got alike
}

// sharingOf is nil where nothing was shared.
func sharingOf(delivered []uint64) *Sharing {
	if len(delivered) == 0 {
		return nil
	}
	s := &Sharing{Members: len(delivered), Least: slices.Min(delivered), Most: slices.Max(delivered)}
	var sum uint64
	for _, n := range delivered {
		sum += n
		if n == 0 {
			s.Idle++
		}
	}
	s.Mean = float64(sum) / float64(s.Members)
	if sum > 0 {
		s.Imbalance = new(float64(s.Most-s.Least) / s.Mean)
	}
	return s
}

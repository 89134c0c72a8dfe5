package faulty_test

import (
	"slices"
	"testing"
)

func meanOf(list []int64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += float64(v)
	}
	return sum / float64(len(list))
}

func sameNumbers(t *testing.T, got, want []int64) {
	t.Helper()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%d numbers differ from the %d wanted", len(got), len(want))
	}
}

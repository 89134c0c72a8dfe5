package stat

import (
	"cmp"
	"math"
	"slices"
)

// exactUpTo is the largest number of values on each side for which MannWhitney is exact.
const exactUpTo = 10

// MannWhitney tests whether the values of a tend to be larger or smaller than those of b (Mann & Whitney 1947, "On a test of
// whether one of two random variables is stochastically larger than the other"). U counts the pairs in which the value of a is the larger,
// ties by half. P is two-sided: how likely U is at least as far from its mean if a and b are drawn from the same values.
//
// Up to ten values on each side P is exact, from all ways to divide the pooled values, ties included; with five on
// each side it is at least 2/252. Beyond that it is the normal approximation with corrections for ties and continuity (Lehmann,
// Nonparametrics, 1975, §1.3 and §1.4). Without values on one side P is 1.
func MannWhitney(a, b []float64) (u, p float64) {
	if len(a) == 0 || len(b) == 0 {
		return 0, 1
	}
	ranks, ties := pooledRanks(a, b)
	w := 0 // twice the rank sum of a
	for _, r := range ranks[:len(a)] {
		w += r
	}
	u = float64(w-len(a)*(len(a)+1)) / 2
	if len(a) <= exactUpTo && len(b) <= exactUpTo {
		return u, exactP(ranks, len(a), w)
	}
	return u, normalP(u, len(a), len(b), ties)
}

// pooledRanks returns twice the rank of every value, first those of a, then those of b, in their order; equal values share
// the mean of their ranks. Ties are the sizes of the groups of equal values.
func pooledRanks(a, b []float64) (ranks, ties []int) {
	pooled := slices.Concat(a, b)
	order := make([]int, len(pooled))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(pooled[i], pooled[j]) })
	ranks = make([]int, len(pooled))
	for i := 0; i < len(order); {
		j := i + 1
		for j < len(order) && pooled[order[j]] == pooled[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			ranks[k] = i + 1 + j // (i+1) + j is twice the mean of ranks i+1 to j
		}
		ties = append(ties, j-i)
		i = j
	}
	return ranks, ties
}

// exactP counts the ways to choose n of the ranks by the sum of those chosen, and returns the share of ways whose sum is at least as
// far from the mean as w. Ranks and sums are doubled.
func exactP(ranks []int, n, w int) float64 {
	total := 0
	for _, r := range ranks {
		total += r
	}
	ways := make([][]float64, n+1) // by how many are chosen, and their sum
	for k := range ways {
		ways[k] = make([]float64, total+1)
	}
	ways[0][0] = 1
	for _, r := range ranks {
		for k := n; k > 0; k-- {
			for sum := total; sum >= r; sum-- {
				ways[k][sum] += ways[k-1][sum-r]
			}
		}
	}
	mean := n * (len(ranks) + 1)
	all, far := 0.0, 0.0
	for sum, number := range ways[n] {
		all += number
		if abs(sum-mean) >= abs(w-mean) {
			far += number
		}
	}
	return far / all
}

func abs(i int) int { return max(i, -i) }

// normalP is the two-sided probability of u by the normal approximation.
func normalP(u float64, na, nb int, ties []int) float64 {
	a, b := float64(na), float64(nb)
	n := a + b
	tied := 0.0
	for _, t := range ties {
		t := float64(t)
		tied += t*t*t - t
	}
	variance := a * b / 12 * (n + 1 - tied/(n*(n-1)))
	distance := math.Abs(u-a*b/2) - 0.5
	if variance <= 0 || distance <= 0 {
		return 1
	}
	return math.Erfc(distance / math.Sqrt(2*variance))
}

// Holm adjusts the probabilities of several tests so that the chance of one or more false alarms among all of them is
// bounded by the level each adjusted one is compared with (Holm 1979, "A simple sequentially rejective multiple test procedure"). The order is kept.
func Holm(ps []float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(ps[i], ps[j]) })
	adjusted := make([]float64, len(ps))
	largest := 0.0
	for i, k := range order {
		largest = max(largest, min(1, float64(len(ps)-i)*ps[k]))
		adjusted[k] = largest
	}
	return adjusted
}

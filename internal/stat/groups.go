package stat

import (
	"cmp"
	"slices"
)

// Ranking says which of several subjects can be told apart. Subjects are named by their index in the samples given to Groups.
type Ranking struct {
	Order  []int    `json:"order"`  // by ascending median
	Groups [][]int  `json:"groups"` // subjects that cannot be told apart, each group and the list in the order of Order
	Marks  []string `json:"marks"`  // per subject: a letter for each of its groups; two without a common letter are different
	Pairs  []Pair   `json:"pairs"`
}

// Pair is the comparison of subjects A and B, A before B in the order of the medians.
type Pair struct {
	A int `json:"a"`
	B int `json:"b"`
	Comparison
	AdjustedP float64 `json:"adjusted_p"` // P adjusted by Holm for the number of pairs; the verdict follows it
}

// Groups compares every pair of subjects by the rule of Compare, with the probabilities adjusted by Holm, and gathers those
// that cannot be told apart into groups; a subject between two others may belong to both groups. Subjects without values, or
// with some that are not finite, are left out.
//
// The more pairs, the more repetitions it takes: the smallest P of five repetitions is 2/252, and six pairs, those of four
// subjects, are the most for which six times that is below Alpha. Six repetitions are enough for seven subjects.
func Groups(samples [][]float64, seed uint64) Ranking {
	r := Ranking{Marks: make([]string, len(samples))}
	for i, s := range samples {
		if len(s) > 0 && finite(s) {
			r.Order = append(r.Order, i)
		}
	}
	slices.SortStableFunc(r.Order, func(i, j int) int { return cmp.Compare(Median(samples[i]), Median(samples[j])) })
	r.Pairs = comparePairs(samples, r.Order)
	for i := range r.Pairs {
		if p := &r.Pairs[i]; p.Verdict == NotShown {
			p.NeedRepetitions = needRepetitions(samples[p.A], samples[p.B], Alpha/float64(len(r.Pairs)), seed+uint64(i))
		}
	}
	different := make(map[[2]int]bool)
	for _, p := range r.Pairs {
		different[[2]int{p.A, p.B}] = p.Verdict == Different
	}
	r.Groups = indistinct(r.Order, different)
	for g, group := range r.Groups {
		for _, i := range group {
			r.Marks[i] += mark(g)
		}
	}
	return r
}

// comparePairs fills in everything but NeedRepetitions.
func comparePairs(samples [][]float64, order []int) []Pair {
	var pairs []Pair
	var ps []float64
	for i, a := range order {
		for _, b := range order[i+1:] {
			c := test(samples[a], samples[b])
			pairs = append(pairs, Pair{A: a, B: b, Comparison: c})
			ps = append(ps, c.P)
		}
	}
	for i, p := range Holm(ps) {
		pairs[i].AdjustedP = p
		pairs[i].decide(p)
	}
	return pairs
}

// indistinct returns the largest sets of subjects of which no two are different, by insertion and absorption (Piepho 2004, "An
// algorithm for a letter-based representation of all-pairwise comparisons"): start with one set of all; a different pair splits each
// set that holds both into one without the first and one without the second; a set that another contains is dropped.
func indistinct(order []int, different map[[2]int]bool) [][]int {
	if len(order) == 0 {
		return nil
	}
	sets := [][]int{order}
	for i, a := range order {
		for _, b := range order[i+1:] {
			if different[[2]int{a, b}] {
				sets = split(sets, a, b)
			}
		}
	}
	position := func(subject int) int { return slices.Index(order, subject) }
	slices.SortFunc(sets, func(s, t []int) int {
		return slices.CompareFunc(s, t, func(x, y int) int { return cmp.Compare(position(x), position(y)) })
	})
	return sets
}

func split(sets [][]int, a, b int) [][]int {
	var kept, parts [][]int
	for _, s := range sets {
		if slices.Contains(s, a) && slices.Contains(s, b) {
			parts = append(parts, without(s, a), without(s, b))
		} else {
			kept = append(kept, s)
		}
	}
	for _, p := range parts {
		if !slices.ContainsFunc(kept, func(s []int) bool { return contains(s, p) }) {
			kept = append(slices.DeleteFunc(kept, func(s []int) bool { return contains(p, s) }), p)
		}
	}
	return kept
}

func without(set []int, subject int) []int {
	return slices.DeleteFunc(slices.Clone(set), func(i int) bool { return i == subject })
}

// contains reports whether every subject of part is in set.
func contains(set, part []int) bool {
	return !slices.ContainsFunc(part, func(i int) bool { return !slices.Contains(set, i) })
}

// mark is the letter of group g, with a prime from the 27th on.
func mark(g int) string {
	m := string(rune('a' + g%26))
	for ; g >= 26; g -= 26 {
		m += "'"
	}
	return m
}

// FewestRepetitions is how many repetitions of each of so many subjects can show any two of them different: with fewer the smallest
// probability of the rank test, 2/C(2n,n), adjusted by Holm for the number of pairs, is above Alpha however far apart they are.
func FewestRepetitions(subjects int) int {
	pairs, orders := float64(subjects*(subjects-1)/2), 2.0
	n := 1
	for ; 2/orders*pairs > Alpha; n++ {
		orders *= 2 * float64(2*n+1) / float64(n+1)
	}
	return max(n, 2)
}

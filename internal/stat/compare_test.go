package stat

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// repetitions draws n values around a median, spread by a relative deviation.
func repetitions(rng *rand.Rand, n int, median, spread float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = median * math.Exp(spread*rng.NormFloat64())
	}
	return values
}

func different(a, b []float64) bool { return newResampling(len(a)).toldApart(a, b, Alpha) }

func TestQuickRuleIsThatOfCompare(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 1))
	for range 200 {
		a, b := repetitions(rng, 5, 100, 0.05), repetitions(rng, 5, 106, 0.05)
		c := test(a, b)
		c.decide(c.P)
		if (c.Verdict == Different) != different(a, b) {
			t.Errorf("%v against %v: %+v", a, b, c)
		}
	}
}

func TestFalseAlarms(t *testing.T) {
	for _, n := range []int{5, 6, 12} {
		rng := rand.New(rand.NewPCG(11, uint64(n)))
		const runs = 1500
		alarms := 0
		for range runs {
			if different(repetitions(rng, n, 100, 0.05), repetitions(rng, n, 100, 0.05)) {
				alarms++
			}
		}
		if share := float64(alarms) / runs; share > Alpha {
			t.Errorf("n=%d: %.3f of the comparisons of equals say different", n, share)
		}
	}
}

func TestPower(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	const runs = 300
	shown := 0
	for range runs {
		if different(repetitions(rng, 5, 100, 0.05), repetitions(rng, 5, 130, 0.05)) {
			shown++
		}
	}
	if share := float64(shown) / runs; share < 0.98 {
		t.Errorf("a shift of 30 %% at a spread of 5 %% is shown in %.3f of the cases only", share)
	}
}

func TestCompare(t *testing.T) {
	low, high := []float64{10, 11, 12, 13, 14}, []float64{20, 21, 22, 23, 24}
	for name, tt := range map[string]struct {
		a, b    []float64
		verdict Verdict
		ratio   bool
	}{
		"apart":             {low, high, Different, true},
		"apart, turned":     {high, low, Different, true},
		"same":              {low, low, NotShown, true},
		"negative apart":    {[]float64{-5, -4, -3, -2, -1}, low, Different, false},
		"zeros":             {make([]float64, 5), make([]float64, 5), NotShown, false},
		"zeros and others":  {make([]float64, 5), high, Different, false},
		"constant apart":    {[]float64{1, 1, 1, 1, 1}, []float64{2, 2, 2, 2, 2}, Different, true},
		"three are too few": {low[:3], high[:3], NotShown, true},
		"one":               {low[:1], high[:1], NotShown, false},
		"none":              {nil, high, NotShown, false},
		"not finite":        {[]float64{1, 2, 3, 4, math.NaN()}, high, NotShown, false},
	} {
		c := Compare(tt.a, tt.b, 1)
		if c.Verdict != tt.verdict || (c.Ratio != nil) != tt.ratio || c.P < 0 || c.P > 1 {
			t.Errorf("%s: %+v", name, c)
		}
		if c.Verdict == Different && c.NeedRepetitions != 0 {
			t.Errorf("%s: shown, and yet %d repetitions are needed", name, c.NeedRepetitions)
		}
		if again := Compare(tt.a, tt.b, 1); !reflect.DeepEqual(c, again) {
			t.Errorf("%s: %+v, then %+v", name, c, again)
		}
		if _, err := json.Marshal(c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := Compare(low, high, 1)
	if c.Ratio.High >= 1 || c.Difference.High >= 0 {
		t.Errorf("the smaller one compared with the larger: ratio %v, difference %v", *c.Ratio, *c.Difference)
	}
}

func TestNeedRepetitions(t *testing.T) {
	low, high := []float64{10, 11, 12, 13, 14}, []float64{20, 21, 22, 23, 24}
	if n := Compare(low[:3], high[:3], 1).NeedRepetitions; n != 4 { // the first whose smallest P, 2/70, is below Alpha
		t.Errorf("apart with three repetitions: %d needed, want 4", n)
	}
	for name, c := range map[string]Comparison{
		"no difference": Compare(low, low, 1),
		"one value":     Compare(low[:1], high[:1], 1),
		"none":          Compare(nil, nil, 1),
	} {
		if c.NeedRepetitions != 0 {
			t.Errorf("%s: %d needed, want unknown", name, c.NeedRepetitions)
		}
	}
}

// A shift by one standard deviation takes about 20 repetitions by Noether's formula (1987, "Sample size determination for
// some common nonparametric tests"), some more by the interval; a pilot of ten sees the shift itself with much error.
func TestNeedRepetitionsIsOfTheRightSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 1))
	var needs []float64
	for i := range 15 {
		a, b := repetitions(rng, 10, 100, 0.05), repetitions(rng, 10, 105, 0.05)
		if n := needRepetitions(a, b, Alpha, uint64(i)); n != 0 {
			needs = append(needs, float64(n))
		}
	}
	if m := Median(needs); len(needs) < 10 || m < 12 || m > 45 {
		t.Errorf("median %v of %d estimates", m, len(needs))
	}
}

func TestGroups(t *testing.T) {
	around := func(median float64) []float64 {
		values := make([]float64, 6)
		for i := range values {
			values[i] = median * (0.95 + 0.02*float64(i))
		}
		return values
	}
	for name, tt := range map[string]struct {
		samples [][]float64
		order   []int
		groups  [][]int
		marks   []string
	}{
		"none":  {nil, nil, nil, []string{}},
		"empty": {[][]float64{nil, {math.NaN()}}, nil, nil, []string{"", ""}},
		"alone": {[][]float64{{5, 6}}, []int{0}, [][]int{{0}}, []string{"a"}},
		"apart": {[][]float64{around(30), around(10), around(20)}, []int{1, 2, 0}, [][]int{{1}, {2}, {0}}, []string{"c", "a", "b"}},
		"same":  {[][]float64{around(10), around(10), around(10)}, []int{0, 1, 2}, [][]int{{0, 1, 2}}, []string{"a", "a", "a"}},
		"chain": {[][]float64{around(100), around(106), around(112)}, []int{0, 1, 2}, [][]int{{0, 1}, {1, 2}}, []string{"a", "ab", "b"}},
		"few":   {[][]float64{around(30), around(10), {20}}, []int{1, 2, 0}, [][]int{{1, 2}, {2, 0}}, []string{"b", "a", "ab"}},
	} {
		r := Groups(tt.samples, 1)
		if !slices.Equal(r.Order, tt.order) || !reflect.DeepEqual(r.Groups, tt.groups) || !slices.Equal(r.Marks, tt.marks) {
			t.Errorf("%s: order %v groups %v marks %q", name, r.Order, r.Groups, r.Marks)
		}
		if n := len(r.Order); len(r.Pairs) != n*(n-1)/2 {
			t.Errorf("%s: %d pairs of %d", name, len(r.Pairs), n)
		}
	}
}

// Five subjects with five repetitions: even if all are far apart, ten pairs at 2/252 are too many; six repetitions are enough.
func TestGroupsSaysWhatMoreRepetitionsWouldShow(t *testing.T) {
	var samples [][]float64
	for i := range 5 {
		samples = append(samples, []float64{0, 1, 2, 3, 4})
		for j := range samples[i] {
			samples[i][j] += 100 * float64(i+1)
		}
	}
	r := Groups(samples, 1)
	if len(r.Groups) != 1 {
		t.Errorf("groups %v", r.Groups)
	}
	for _, p := range r.Pairs {
		if p.NeedRepetitions != 6 || !close12(p.AdjustedP, 20.0/252) {
			t.Errorf("pair %d, %d: adjusted p %v, %d repetitions needed, want 6", p.A, p.B, p.AdjustedP, p.NeedRepetitions)
		}
	}
	if r := Groups(samples[:4], 1); len(r.Groups) != 4 {
		t.Errorf("four subjects: groups %v", r.Groups)
	}
}

func TestFalseAlarmsAmongFour(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 1))
	const runs = 300
	alarms := 0
	for range runs {
		var samples [][]float64
		for range 4 {
			samples = append(samples, repetitions(rng, 5, 100, 0.05))
		}
		pairs := comparePairs(samples, []int{0, 1, 2, 3})
		if slices.ContainsFunc(pairs, func(p Pair) bool { return p.Verdict == Different }) {
			alarms++
		}
	}
	if share := float64(alarms) / runs; share > Alpha {
		t.Errorf("%.3f of the rankings of equals tell some apart", share)
	}
}

// Two subjects share a group exactly if they are not different, whatever the pattern.
func TestGroupsShowEveryPair(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 1))
	for range 500 {
		n := 1 + rng.IntN(9)
		order := rng.Perm(n)
		apart := make(map[[2]int]bool)
		for i, a := range order {
			for _, b := range order[i+1:] {
				apart[[2]int{a, b}] = rng.IntN(2) == 0
			}
		}
		groups := indistinct(order, apart)
		for i, a := range order {
			for _, b := range order[i+1:] {
				together := slices.ContainsFunc(groups, func(g []int) bool { return slices.Contains(g, a) && slices.Contains(g, b) })
				if together == apart[[2]int{a, b}] {
					t.Fatalf("%d and %d: different %v, groups %v", a, b, apart[[2]int{a, b}], groups)
				}
			}
		}
		for i, g := range groups {
			for j, h := range groups {
				if i != j && contains(g, h) {
					t.Fatalf("group %v contains group %v", g, h)
				}
			}
		}
	}
}

func TestMarks(t *testing.T) {
	for g, want := range map[int]string{0: "a", 25: "z", 26: "a'", 53: "b''"} {
		if got := mark(g); got != want {
			t.Errorf("mark %d = %q, want %q", g, got, want)
		}
	}
}

func BenchmarkCompareNotShown(b *testing.B) {
	rng := rand.New(rand.NewPCG(16, 1))
	x, y := repetitions(rng, 5, 100, 0.05), repetitions(rng, 5, 102, 0.05)
	for i := 0; b.Loop(); i++ {
		Compare(x, y, uint64(i))
	}
}

func TestFewestRepetitions(t *testing.T) {
	for subjects, want := range map[int]int{1: 2, 2: 4, 3: 5, 4: 5, 5: 6, 7: 6} {
		if got := FewestRepetitions(subjects); got != want {
			t.Errorf("%d subjects: %d repetitions, want %d", subjects, got, want)
		}
	}
}

package report

import "testing"

func TestChoiceInWords(t *testing.T) {
	two := []string{"a", "b"}
	for name, x := range map[string]struct {
		c    choice
		want string
	}{
		"one": {
			choice{groups: make([]*group, 1), subjects: two, shown: true, behind: map[string][]string{"b": {"broker memory"}}, ahead: map[string][]string{"a": {"broker memory (2.00×)"}}, level: []string{"response p50"}},
			"Choice: a, for this load on this machine: behind nobody in anything that was compared. a is ahead of every other at broker memory (2.00×); nobody is ahead of all others at response p50.",
		},
		"depends": {
			choice{subjects: two, shown: true, behind: map[string][]string{"a": {"broker memory"}, "b": {"response p50"}}, ahead: map[string][]string{"a": {"response p50"}, "b": {"broker memory"}}},
			"Choice: it depends on what counts. a is ahead of every other at response p50; b is ahead of every other at broker memory.",
		},
		"nobody is ahead of all": {
			choice{subjects: []string{"a", "b", "c"}, shown: true, behind: map[string][]string{"c": {"response p50"}}, level: []string{"response p50"}},
			"Choice: a or b, for this load on this machine: behind nobody in anything that was compared. Nobody is ahead of all others at response p50.",
		},
		"only another has a figure": {
			choice{subjects: two, shown: true, behind: map[string][]string{"b": {"response p50"}}, ahead: map[string][]string{"b": {"broker memory"}}, level: []string{"lost deliveries"}},
			"Choice: a, for this load on this machine: behind nobody in anything that was compared. Nobody is ahead of all others at lost deliveries.",
		},
		"too few": {
			choice{subjects: two, fewest: 1, made: 1},
			"Choice: none shown. 1 valid repetition is too few to tell 2 subjects apart, however different they are; it takes 4 (--repeat 4).",
		},
		"disturbed": {
			choice{subjects: two, fewest: 3, made: 6},
			"Choice: none shown. 3 valid repetitions are too few to tell 2 subjects apart, however different they are; it takes 4. Measure again when the machine is idle.",
		},
		"level": {
			choice{subjects: two, fewest: 5, made: 5},
			"Choice: none shown. Between a and b no difference of more than 5 % was found that cannot be chance.",
		},
	} {
		if got := x.c.paragraph().text; got != x.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, x.want)
		}
	}
}

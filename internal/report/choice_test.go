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
			"Choice: none shown. Between a and b nothing that was compared differs by more than chance and 5 %.",
		},
	} {
		if got := x.c.paragraph().text; got != x.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, x.want)
		}
	}
}

//go:build linux

package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/guard/guardtest"
)

// TestMain lets the test program be run again as what the benchmark runs itself as.
func TestMain(m *testing.M) {
	guardtest.Main(m, hiddenVerbs)
}

// marked are scenarios whose cause has a mark that noise of the host does not hide.
var marked = []string{"loop and sleep", "backlog", "memory grows", "window full", "two clocks", "Nagle, in a capture"}

// littleCPU is the part of the CPU that other programs may use before "host noise" is believed in place of the cause.
const littleCPU = 0.1

// TestMarked makes some causes really happen and wants their names. That the host was too noisy to tell is no failure where other
// programs were seen to use it, in each of three tries.
func TestMarked(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	l, err := newLab(1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.close(); err != nil {
			t.Error(err)
		}
	}()
	for _, name := range marked {
		t.Run(name, func(t *testing.T) {
			i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
			if i < 0 {
				t.Fatal("there is no such scenario")
			}
			s := &scenarios[i]
			if why := s.needs(t.Context()); why != "" {
				if os.Getenv("CI") != "" {
					t.Fatal(why)
				}
				t.Skip(why)
			}
			v, err := l.verdict(t.Context(), s, 0, 3, littleCPU)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case v.Right:
			case v.Got == diagnose.HostNoise && v.Disturbed:
				t.Logf("the host was too noisy to tell: other programs used %.0f %% of the CPU", 100*v.Others)
			default:
				t.Errorf("%s, want %s%s\n%s", v.Got, v.Want, v.figures(), strings.Join(v.evidence, "\n"))
			}
			l.release()
		})
	}
}

// TestTable: what is disturbed is left out, what is wrong counts, and nothing at all is not enough.
func TestTable(t *testing.T) {
	trial := func(want, got diagnose.Cause, disturbed bool) verdict {
		return verdict{Scenario: string(want), Want: want, Got: got, Right: want == got, Disturbed: disturbed}
	}
	many := func(n int, v verdict) []verdict { return slices.Repeat([]verdict{v}, n) }
	right, wrong := trial(diagnose.Backlog, diagnose.Backlog, false), trial(diagnose.Backlog, diagnose.None, false)
	for name, c := range map[string]struct {
		trials []verdict
		enough bool
	}{
		"none":           {nil, false},
		"all right":      {many(3, right), true},
		"95 of 100":      {append(many(95, right), many(5, wrong)...), true},
		"94 of 100":      {append(many(94, right), many(6, wrong)...), false},
		"disturbed only": {many(5, trial(diagnose.Backlog, diagnose.HostNoise, true)), false},
		"a disturbed":    {append(many(5, right), trial(diagnose.Backlog, diagnose.HostNoise, true)), true},
	} {
		table := table{Trials: c.trials}
		if got := table.enough(); got != c.enough {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestJudge: the wanted cause must be named; another that also holds may come first where the scenario says so.
func TestJudge(t *testing.T) {
	result := func(causes ...diagnose.Cause) *diagnose.Result {
		r := &diagnose.Result{}
		for _, c := range causes {
			r.Findings = append(r.Findings, diagnose.Finding{Cause: c})
		}
		return r
	}
	s := &scenario{want: diagnose.KeepAlivePeriod, with: diagnose.DelayedAck}
	for _, c := range []struct {
		r     *diagnose.Result
		right bool
	}{
		{result(diagnose.KeepAlivePeriod), true},
		{result(diagnose.DelayedAck, diagnose.KeepAlivePeriod), true},
		{result(diagnose.DelayedAck), false},
		{result(diagnose.GCPause, diagnose.KeepAlivePeriod), false},
		{result(diagnose.HostNoise, diagnose.KeepAlivePeriod), false},
		{result(diagnose.None), false},
	} {
		if v := s.judge(c.r); v.Right != c.right {
			t.Errorf("%v: right %v", c.r.Verdict(), v.Right)
		}
	}
}

// TestScenarios: names are unique, and every cause that can be named is made to happen, but for those named here with what makes them.
func TestScenarios(t *testing.T) {
	elsewhere := map[diagnose.Cause]string{
		diagnose.NotReading: "internal/capture: a closed receive window",
		diagnose.Outage:     "bench/weak: of runs, by the second",
		diagnose.LinkFull:   "bench/bottleneck: of runs, by the second",
	}
	seen := map[string]bool{}
	for _, s := range scenarios {
		if seen[s.name] {
			t.Errorf("two scenarios are named %s", s.name)
		}
		seen[s.name] = true
	}
	for _, c := range diagnose.Causes() {
		if elsewhere[c] == "" && !slices.ContainsFunc(scenarios, func(s scenario) bool { return s.want == c }) {
			t.Errorf("no scenario makes %s", c)
		}
	}
}

// TestOthers: what is ours is what this program and its children used, and nobody can have used more than there is.
func TestOthers(t *testing.T) {
	before := usage{all: 100, busy: 50, ours: 10}
	for _, c := range []struct {
		now  usage
		want float64
	}{
		{usage{all: 200, busy: 100, ours: 30}, 0.3},
		{usage{all: 200, busy: 60, ours: 25}, 0},
		{before, 0},
	} {
		if got := c.now.othersSince(before); got != c.want {
			t.Errorf("%+v: %v, want %v", c.now, got, c.want)
		}
	}
	if !descends(5, 2, map[int]int{5: 4, 4: 2, 2: 1}) || descends(5, 3, map[int]int{5: 4, 4: 2, 2: 1}) {
		t.Error("descent")
	}
}

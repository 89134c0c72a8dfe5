package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/scenario"
	"github.com/mqlab/mqlab/internal/search"
)

func TestParts(t *testing.T) {
	for _, c := range []struct {
		pattern    string
		pubs, subs int
		n          int
		want       string // publishers and subscribers of each
	}{
		{plan.PatternPairs, 10, 10, 1, "0-10 0-10"},
		{plan.PatternPairs, 10, 10, 3, "0-3 0-3, 3-6 3-6, 6-10 6-10"},
		{plan.PatternPairs, 2, 2, 3, "0-1 0-1, 1-2 1-2"},
		{plan.PatternFanout, 1, 9, 2, "0-0 0-4, 0-1 4-9"},
		{plan.PatternFanin, 4, 1, 2, "0-2 0-0, 2-4 0-1"},
		{plan.PatternShared, 5, 4, 3, "0-0 0-4, 0-2 0-0, 2-5 0-0"},
		{plan.PatternShared, 5, 4, 1, "0-5 0-4"},
		{plan.PatternShared, 1, 4, 9, "0-0 0-4, 0-1 0-0"},
	} {
		trial := plan.Trial{Params: plan.Params{Pattern: c.pattern, Publishers: c.pubs, Subscribers: c.subs}}
		var got []string
		for _, p := range trial.Parts(c.n) {
			got = append(got, fmt.Sprintf("%d-%d %d-%d", p.Publishers.From, p.Publishers.To, p.Subscribers.From, p.Subscribers.To))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s %d, %d among %d (-want +got):\n%s", c.pattern, c.pubs, c.subs, c.n, diff)
		}
	}
}

// TestGenerators: as many processes as the limit of open files demands, unless the scenario says how many.
func TestGenerators(t *testing.T) {
	const sweep = "subjects: mochi\nmatrix: {load.publishers: [10, 50, 51, 150, 500]}\nrepeat: 1\n"
	for _, c := range []struct {
		more    string
		sockets int
		want    []int
	}{
		{"", 100, []int{0, 0, 2, 3, 10}},
		{"", 0, []int{0, 0, 0, 0, 0}},
		{"engine: {generators: 4}\n", 100, []int{4, 4, 4, 4, 4}},
		{"engine: {generators: 1}\n", 100, []int{1, 1, 1, 1, 1}},
		{"", 5, []int{5, 25, 26, 0, 0}}, // no number of processes is enough: the host's limit is named
	} {
		p := resolve(t, sweep+c.more, plan.Options{Sockets: c.sockets})
		var got []int
		for i := range p.Trials {
			got = append(got, p.Trials[i].Params.Generators)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s%d sockets (-want +got):\n%s", c.more, c.sockets, diff)
		}
	}
	p := resolve(t, sweep, plan.Options{Sockets: 100})
	var words strings.Builder
	if err := plan.Print(&words, p, 80); err != nil {
		t.Fatal(err)
	}
	if line := "generator   10 processes of mqlab share the connections, each with at most 101\n            open files\n"; !strings.Contains(words.String(), line) {
		t.Errorf("no %q in\n%s", line, words.String())
	}
	if e := p.Estimate(); e.OpenFiles != 101 || e.BrokerFiles != 1001 || e.Generators != 10 {
		t.Errorf("%+v", e)
	}
}

// TestGeneratorsOfProbes: a search has more processes at the values that demand them.
func TestGeneratorsOfProbes(t *testing.T) {
	p := resolve(t, "subjects: mochi\nload: {rate: 1000/s each}\nsearch: {vary: pairs, from: 10, to: 1000, limits: [lost = 0]}\n", plan.Options{Sockets: 100})
	for _, c := range []struct{ pairs, want float64 }{{10, 0}, {50, 0}, {80, 2}, {1000, 20}} {
		probe := p.Search.Probe(p.Trials[0], search.Probe{Value: c.pairs, Repetition: 1}, 1)
		if got := probe.Params.Generators; got != int(c.want) {
			t.Errorf("%v pairs: %d processes, want %v", c.pairs, got, c.want)
		}
	}
}

func TestOneGeneratorOnAnEmulatedLink(t *testing.T) {
	const sweep = "subjects: mochi\nnetwork: {link: lpwan}\nload: {publishers: 500, rate: 1/s}\n"
	if p := resolve(t, sweep, plan.Options{Sockets: 100}); p.Trials[0].Params.Generators != 0 {
		t.Errorf("%d processes", p.Trials[0].Params.Generators)
	}
	s := scenario.Decode("link.yaml", []byte(sweep+"engine: {generators: 2}\n"))
	if _, err := plan.Resolve(s, plan.Options{}); err == nil || !strings.Contains(err.Error(), "only one process can use an emulated link") {
		t.Error(err)
	}
}

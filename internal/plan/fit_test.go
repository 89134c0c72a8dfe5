package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/scenario"
)

// small is a host for 100 connections.
func small(e plan.Estimate) string {
	if e.Connections > 100 {
		return "needs more than 100"
	}
	return ""
}

// TestFit: with fit, points that this host cannot carry out are left out, for all subjects, and named; without, all stay.
func TestFit(t *testing.T) {
	const sweep = "subjects: [mochi, nats]\nrepeat: 2\nmatrix: {load.publishers: [10, 50, 51, 500]}\n"
	o := plan.Options{Unfit: small}
	if p := resolve(t, sweep, o); len(p.Trials) != 16 || p.LeftOut != nil {
		t.Errorf("without fit: %d trials, left out %v", len(p.Trials), p.LeftOut)
	}
	p := resolve(t, sweep+"fit: true\n", o)
	want := []plan.LeftOut{
		{Set: []plan.Assignment{{Key: "load.publishers", Value: "51"}}, Why: "needs more than 100"},
		{Set: []plan.Assignment{{Key: "load.publishers", Value: "500"}}, Why: "needs more than 100"},
	}
	if diff := cmp.Diff(want, p.LeftOut); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	if len(p.Trials) != 8 || p.Trials[7].Point != 2 || p.Estimate().Connections != 100 {
		t.Errorf("%d trials, the last at point %d", len(p.Trials), p.Trials[len(p.Trials)-1].Point)
	}
	var words strings.Builder
	if err := plan.Print(&words, p, 80); err != nil {
		t.Fatal(err)
	}
	if line := "left out    load.publishers 51: it needs more than 100\n"; !strings.Contains(words.String(), line) {
		t.Errorf("no %q in\n%s", line, words.String())
	}
}

func TestNothingFits(t *testing.T) {
	s := scenario.Decode("big.yaml", []byte("subjects: mochi\nfit: true\nload: {publishers: 51}\n"))
	_, err := plan.Resolve(s, plan.Options{Unfit: small})
	if want := "big.yaml:3:20: load.publishers: nothing fits this host: it needs more than 100"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/needs"
)

// The test binary is run again by what is tested.
func TestMain(m *testing.M) {
	if code, asked := hiddenVerbs.Do(os.Args[1:]); asked {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// One short alternation of everything: that it works, not how fast.
func TestEveryClaimIsMeasured(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		needs.Installed(t, "no C compiler: ", err)
	}
	var out bytes.Buffer
	if _, err := run(t.Context(), options{out: &out, rounds: 1, span: 100 * time.Millisecond, verbose: true}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, c := range claims {
		line := ""
		for l := range strings.Lines(out.String()) {
			if strings.HasPrefix(l, c.name) {
				line = l
			}
		}
		if !strings.Contains(line, " want ") && !strings.Contains(line, " skipped: ") {
			t.Errorf("%q is neither measured nor skipped:\n%s", c.name, out.String())
		}
	}
}

// What cannot be measured is an error, and hides nothing else.
func TestFailureIsReported(t *testing.T) {
	all := claims
	t.Cleanup(func() { claims = all })
	broken := errors.New("broken")
	setUp := func(context.Context, *rig) (site, error) { return site{stop: func() {}}, nil }
	sample := func(v float64, err error) func(context.Context, *rig, site, int) (float64, error) {
		return func(context.Context, *rig, site, int) (float64, error) { return v, err }
	}
	claims = []claim{
		{name: "fails", setUp: setUp, sample: sample(0, broken)},
		{name: "misses", want: 2, setUp: setUp, sample: sample(1, nil)},
		{name: "holds", want: 2, setUp: setUp, sample: sample(3, nil)},
	}
	if _, err := exec.LookPath("cc"); err != nil {
		needs.Installed(t, "no C compiler: ", err)
	}
	var out bytes.Buffer
	missed, err := run(t.Context(), options{out: &out, rounds: 2})
	if missed != 1 || !errors.Is(err, broken) || strings.Count(out.String(), " want ") != 2 {
		t.Errorf("missed %d, error %v, printed:\n%s", missed, err, out.String())
	}
}

func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		claim  claim
		values []float64
		want   string
		ok     bool
	}{
		{claim{name: "a / b", want: 25}, []float64{26, 24, 25, 30, 20}, "a / b                          ratio 25 [24–26] want ≥ 25 ok", true},
		{claim{name: "a / b", want: 25}, []float64{24, 24.8}, "a / b                          ratio 24.4 [24.2–24.6] want ≥ 25 MISSED", false},
		{claim{name: "memory", unit: "B", want: 512, atMost: true}, []float64{512}, "memory                         value 512 B [512–512] want ≤ 512 B ok", true},
		{
			claim{name: "memory", unit: "B", want: 512, atMost: true},
			[]float64{513, 1171.4, 1140},
			"memory                         value 1140 B [827–1156] want ≤ 512 B MISSED", false,
		},
	} {
		if line, ok := tt.claim.verdict(tt.values); line != tt.want || ok != tt.ok {
			t.Errorf("%v: %q, %v\nwant   %q, %v", tt.values, line, ok, tt.want, tt.ok)
		}
	}
}

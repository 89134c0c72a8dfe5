//go:build linux

package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/diagnose"
)

// wanted is the part of the names that must be right.
const wanted = 0.95

// verdict is what was said of a trial.
type verdict struct {
	Scenario  string           `json:"scenario"`
	Set       int              `json:"set"`
	Want      diagnose.Cause   `json:"want"`
	Got       diagnose.Cause   `json:"got"`
	Named     []diagnose.Cause `json:"named"` // all findings, the strongest first
	Right     bool             `json:"right"`
	Why       string           `json:"why,omitempty"` // a right name is not enough
	Disturbed bool             `json:"disturbed"`     // by other programs, however often it was tried
	Others    float64          `json:"others_ratio"`  // of the machine's CPU, that they used
	Tries     int              `json:"tries"`
	P50       int64            `json:"p50_ns,omitempty"`
	P99       int64            `json:"p99_ns,omitempty"`
	Seconds   float64          `json:"seconds"`
	evidence  []string
}

func (v *verdict) names(c diagnose.Cause) bool { return slices.Contains(v.Named, c) }

func (v *verdict) mark() string {
	word := "WRONG"
	if v.Right {
		word = "right"
	}
	if v.Disturbed { // it counts for nothing
		return "(" + word + ")"
	}
	return word
}

func (v *verdict) figures() (text string) {
	if v.P99 > 0 {
		text = fmt.Sprintf("  p50 %v, p99 %v", time.Duration(v.P50).Round(10*time.Microsecond), time.Duration(v.P99).Round(10*time.Microsecond))
	}
	if v.Why != "" {
		text += ": " + v.Why
	}
	return text
}

// absent is a scenario that this machine cannot make.
type absent struct {
	Scenario string `json:"scenario"`
	Why      string `json:"why"`
}

// table is all verdicts.
type table struct {
	Trials  []verdict
	Absent  []absent
	Seconds float64
}

// row is a scenario's share.
type row struct {
	Scenario  string                 `json:"scenario"`
	Want      diagnose.Cause         `json:"want"`
	Got       map[diagnose.Cause]int `json:"got"`
	Right     int                    `json:"right"`
	Of        int                    `json:"of"`
	Disturbed int                    `json:"disturbed"`
}

// rows are in the order of the trials.
func (t *table) rows() (list []row) {
	for i := range t.Trials {
		v := &t.Trials[i]
		if n := len(list); n == 0 || list[n-1].Scenario != v.Scenario {
			list = append(list, row{Scenario: v.Scenario, Want: v.Want, Got: map[diagnose.Cause]int{}})
		}
		r := &list[len(list)-1]
		if v.Disturbed {
			r.Disturbed++
			continue
		}
		r.Of++
		r.Got[v.Got]++
		if v.Right {
			r.Right++
		}
	}
	return list
}

// total counts all that were not disturbed.
func (t *table) total() (right, all, disturbed int) {
	for _, r := range t.rows() {
		right, all, disturbed = right+r.Right, all+r.Of, disturbed+r.Disturbed
	}
	return right, all, disturbed
}

// enough: there were trials, and enough of them were named rightly.
func (t *table) enough() bool {
	right, all, _ := t.total()
	return all > 0 && float64(right) >= wanted*float64(all)
}

// said is the table as JSON has it.
func (t *table) said() any {
	right, all, disturbed := t.total()
	return struct {
		Right     int       `json:"right"`
		Of        int       `json:"of"`
		Disturbed int       `json:"disturbed"`
		Wanted    float64   `json:"wanted_ratio"`
		Enough    bool      `json:"enough"`
		Seconds   float64   `json:"seconds"`
		Rows      []row     `json:"scenarios"`
		Absent    []absent  `json:"absent"`
		Trials    []verdict `json:"trials"`
	}{right, all, disturbed, wanted, t.enough(), t.Seconds, t.rows(), t.Absent, t.Trials}
}

// print writes what was named by what was made, wrong names last, and the claim.
func (t *table) print(out io.Writer) {
	fmt.Fprintf(out, "\n%-30s %-19s %5s  %s\n", "made", "wanted", "right", "named (times)")
	for _, r := range t.rows() {
		names := make([]diagnose.Cause, 0, len(r.Got))
		for c := range r.Got {
			names = append(names, c)
		}
		slices.SortFunc(names, func(a, b diagnose.Cause) int { return cmp.Or(cmp.Compare(r.Got[b], r.Got[a]), cmp.Compare(a, b)) })
		var said []string
		for _, c := range names {
			said = append(said, fmt.Sprintf("%s %d", c, r.Got[c]))
		}
		if r.Disturbed > 0 {
			said = append(said, fmt.Sprintf("disturbed %d", r.Disturbed))
		}
		fmt.Fprintf(out, "%-30s %-19s %2d/%-2d  %s\n", r.Scenario, r.Want, r.Right, r.Of, strings.Join(said, ", "))
	}
	right, all, disturbed := t.total()
	word := "ok"
	if !t.enough() {
		word = "MISSED"
	}
	part := 0.0
	if all > 0 {
		part = 100 * float64(right) / float64(all)
	}
	fmt.Fprintf(out, "\nnamed rightly: %d of %d (%.1f %%, want ≥ %.0f %%) %s; %d left out, as other programs used the machine; %.0f s\n",
		right, all, part, 100*wanted, word, disturbed, t.Seconds)
	for _, a := range t.Absent {
		fmt.Fprintf(out, "absent: %s: %s\n", a.Scenario, a.Why)
	}
}

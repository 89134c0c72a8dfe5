package report

import (
	"fmt"

	"github.com/mqlab/mqlab/internal/gate"
	"github.com/mqlab/mqlab/internal/summary"
)

// limits shows what came of each limit, and in words why one was not kept.
func (d *document) limits(g *gate.Gate) {
	if g == nil {
		return
	}
	s := d.section("Limits")
	s.say(resultStyle(g.Result), gateWords(g))
	t := &table{head: []string{"", "limit", "found", "result"}, left: 2}
	var why list
	for _, c := range g.Worst() {
		t.row(c.Name(), c.Limit, found(c), string(c.Result))
		if c.Result != gate.Pass {
			why = append(why, paragraph{string(c.Result) + " " + c.Limit + ": " + c.Text, resultStyle(c.Result)})
		}
	}
	s.add(t)
	if len(why) > 0 {
		s.add(why)
	}
}

// found is the figure, and how many times the baseline's it is where a limit is about that.
func found(c *gate.Check) string {
	text := c.Figure()
	if by := c.ByBaseline(); by != "" {
		text += ", " + by
	}
	return text
}

func resultStyle(r gate.Result) style {
	switch r {
	case gate.Pass:
		return good
	case gate.Missed:
		return bad
	}
	return caution
}

// gateWords is the result of a gate in one sentence.
func gateWords(g *gate.Gate) string {
	text := fmt.Sprintf("%s: %d passed, %d missed, %d undecidable", summary.Plural(uint64(len(g.Checks)), "check"),
		g.Count(gate.Pass), g.Count(gate.Missed), g.Count(gate.Undecidable))
	if g.Baseline != "" {
		text += "; the baseline is run " + g.Baseline
	}
	if g.Incomplete {
		text += "; the run did not reach its end, so that no limit is sure to be kept"
	}
	return text + "."
}

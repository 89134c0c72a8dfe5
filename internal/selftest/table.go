package selftest

import (
	"fmt"
	"io"
	"strings"

	"github.com/mqlab/mqlab/internal/plan"
)

// table prints lines of 80 columns at most.
type table struct {
	w      io.Writer
	checks int
	failed int
	late   int   // of the failed: only because a time is above its upper bound
	err    error // the first of writing
}

// Widths: verdict 5, check 27, expected 15, and 8 for each column.
const (
	lineFormat = "%-5s%-27s%-15s%s"
	cellFormat = "%-8s"
	cellWidth  = 8
)

func (t *table) printf(format string, args ...any) {
	line := strings.TrimRight(fmt.Sprintf(format, args...), " ")
	if _, err := fmt.Fprintln(t.w, line); err != nil && t.err == nil {
		t.err = err
	}
}

// header names the columns: the engines above the protocols.
func (t *table) header(columns []column) {
	names := map[string]string{plan.EngineLoop: "event loops", plan.EngineGoroutine: "goroutines"}
	var engines, protocols string
	for i, c := range columns {
		if i == 0 || columns[i-1].engine != c.engine {
			engines = fmt.Sprintf("%-*s%s", i*cellWidth, engines, names[c.engine])
		}
		protocols += fmt.Sprintf(cellFormat, c.protocol)
	}
	t.printf(lineFormat, "", "", "", engines)
	t.printf(lineFormat, "", "check", "expected", protocols)
}

// lines prints what a check found in each column, one line for each of its readings, and why a column failed.
func (t *table) lines(columns []column, results []result) {
	var model []reading
	for _, r := range results {
		if len(r.readings) > len(model) {
			model = r.readings
		}
	}
	for i, m := range model {
		t.line(m, i, results)
	}
	for i, r := range results {
		if r.tries > 1 {
			t.note(fmt.Sprintf("(%s: try %d, since times were too long before)", columns[i], r.tries))
		}
		if r.err == nil {
			continue
		}
		t.checks++
		t.failed++
		t.printf("FAIL %s:", columns[i])
		for _, line := range wrap(r.err.Error(), 75) {
			t.printf("     %s", line)
		}
	}
}

func (t *table) line(m reading, i int, results []result) {
	cells, failed, late := "", false, true
	for _, r := range results {
		text := "-"
		if i < len(r.readings) {
			reading := &r.readings[i]
			text = reading.measured
			failed = failed || !reading.ok
			late = late && (reading.ok || reading.late)
		}
		cells += fmt.Sprintf(cellFormat, text)
	}
	t.checks++
	verdict := "ok"
	if failed {
		verdict = "FAIL"
		t.failed++
		if late {
			t.late++
		}
	}
	t.printf(lineFormat, verdict, m.name, m.expected, cells)
}

// note prints a line without a verdict.
func (t *table) note(text string) { t.printf(lineFormat, "", text, "", "") }

func (t *table) verdict() {
	t.printf("")
	if t.failed == 0 {
		t.printf("all %d lines are as expected", t.checks)
		return
	}
	t.printf("%d of %d lines are not as expected", t.failed, t.checks)
	if t.late == t.failed {
		t.printf("all of them are times that are too long: is this host busy with something else?")
	}
}

// wrap breaks text at blanks into lines of at most width bytes, if its words allow.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

package check

import (
	"fmt"
	"io"
	"strings"
)

// shown is how many findings of one rule are printed.
const shown = 5

// Print writes a result as text. wrap prints a paragraph behind a head, as wide as the screen.
func (r *Result) Print(w io.Writer, file string, wrap func(head, text string)) {
	_, _ = fmt.Fprintf(w, "%s: %s, %s\n", file, some(r.Rows, "row"), some(r.Columns, "column"))
	wrap("checked: ", strings.Join(r.Checked, ", "))
	if len(r.Findings) == 0 {
		_, _ = fmt.Fprintln(w, "No contradiction. That does not prove the figures right.")
		return
	}
	for _, rule := range rules {
		r.printRule(w, rule.name, wrap)
	}
}

// Verdict counts the contradictions.
func (r *Result) Verdict() string { return some(len(r.Findings), "contradiction") }

func (r *Result) printRule(w io.Writer, rule string, wrap func(head, text string)) {
	n, cause := 0, ""
	for _, f := range r.Findings {
		if f.Rule != rule {
			continue
		}
		if n++; n == 1 {
			_, _ = fmt.Fprintf(w, "\n%s\n", rule)
		}
		if n > shown {
			continue
		}
		cause = f.Cause
		wrap("  "+f.where()+": ", f.Text)
	}
	if n > shown {
		_, _ = fmt.Fprintf(w, "  and %d more\n", n-shown)
	}
	if n > 0 {
		wrap("  likely: ", cause)
	}
}

// where names the row.
func (f *Finding) where() string {
	if f.Line == 0 {
		return "the column"
	}
	return strings.TrimSuffix(fmt.Sprintf("line %d (%s)", f.Line, f.Row), " ()")
}

func some(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

package probe

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// notDecided stands in the column of answers where there is none.
const notDecided = "not decided"

// PrintJSON writes the report as one JSON object.
func PrintJSON(w io.Writer, r *Report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// Print writes the report as a table of so many columns.
func Print(w io.Writer, r *Report, width int) error {
	var b strings.Builder
	what := r.Subject.Name
	if r.Version != "" {
		what += " " + r.Version
	}
	fmt.Fprintf(&b, "%s by %s, asked in %.1f s\n", what, r.Protocol, r.Took.Seconds())
	if r.Subject.TLS.SkipVerify {
		b.WriteString("The broker's certificate was not verified.\n")
	}
	b.WriteString("\n")
	const question, value, least = 19, 21, 20
	rest := max(width-question-value-4, least)
	row := func(q, v, saw string) {
		left, middle, right := wrap(q, question), wrap(v, value), wrap(saw, rest)
		for i := range max(len(left), len(middle), len(right)) {
			line := pad(at(left, i), question) + "  " + pad(at(middle, i), value) + "  " + at(right, i)
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	row("question", "answer", "seen")
	for _, a := range r.Answers {
		if a.Value == "" {
			row(a.Question, notDecided, a.Why)
		} else {
			row(a.Question, a.Value, a.Evidence)
		}
	}
	b.WriteString("\nHow each was measured: --json; what a question means: mqlab explain WORD\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// wrap breaks a text into lines, within a word only where that is longer than a line.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
		for r := []rune(line); len(r) > width; r = []rune(line) {
			lines = append(lines, string(r[:width]))
			line = string(r[width:])
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

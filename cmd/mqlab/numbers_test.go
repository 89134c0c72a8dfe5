package main

import (
	"encoding/csv"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mqlab/mqlab/internal/summary"
)

// figure is a number that every format of a report shows.
type figure struct {
	json        string // path within the trial
	csv         string // column
	row, column string // of a table in text and markdown; row "" is the subject's
	words       func(v json.Number) string
}

func count(v json.Number) string {
	n, _ := strconv.ParseUint(v.String(), 10, 64)
	return summary.Count(n)
}

func span(v json.Number) string {
	n, _ := strconv.ParseInt(v.String(), 10, 64)
	return summary.Duration(n)
}

func perSecond(v json.Number) string {
	f, _ := v.Float64()
	return summary.Number(f)
}

// figures are those that agree compares.
func figures() []figure {
	list := []figure{{"rates.delivered_per_s", "delivered_per_s", "", "delivered/s", perSecond}}
	for column, name := range map[string]string{
		"offered": "offered", "sent": "sent", "delivered": "delivered", "unsent": "undelivered_unsent", "dup": "duplicates", "reord": "reordered",
	} {
		list = append(list, figure{"counts." + name, name, "", column, count})
	}
	for row, path := range map[string]string{"response": "latency.", "service": "latency.", "lateness": "generator."} {
		for _, q := range []struct{ name, column string }{
			{"p50_ns", "p50"},
			{"p90_ns", "p90"},
			{"p95_ns", "p95"},
			{"p99_ns", "p99"},
			{"max_ns", "max"},
		} {
			list = append(list, figure{path + row + "." + q.name, row + "_" + q.name, row, q.column, span})
		}
		list = append(list, figure{path + row + ".expected", row + "_expected", row, "of", count})
	}
	return list
}

// agree checks that the reports of a run of one trial show the same numbers in every format.
func agree(ts *script, neg bool, args []string) {
	usageOf(ts, "agree RUN", len(args) == 1, neg)
	reports := map[string]string{}
	for _, format := range []string{"text", "json", "csv", "markdown"} {
		ts.Check(ts.Exec("mqlab", "report", args[0], "--format", format))
		reports[format] = ts.ReadFile("stdout")
	}
	trial := firstTrial(ts, reports["json"])
	subject, _ := walk(trial, "subject.name")
	validity, _ := walk(trial, "validity")
	sheet, err := csv.NewReader(strings.NewReader(reports["csv"])).ReadAll()
	ts.Check(err)
	if len(sheet) != 2 {
		ts.Fatalf("%d rows of CSV, want a heading and one trial", len(sheet))
	}
	known := 0
	for _, f := range figures() {
		v, ok := walk(trial, f.json)
		raw, shown := "", "–"
		if ok {
			known++
			raw, shown = v.(json.Number).String(), f.words(v.(json.Number))
		}
		if i := slices.Index(sheet[0], f.csv); i < 0 || sheet[1][i] != raw {
			ts.Fatalf("%s is %s in JSON, but not %s in CSV", f.json, raw, f.csv)
		}
		row := f.row
		if row == "" {
			row = subject.(string)
			if validity == string(summary.Invalid) {
				continue // what is invalid is in no table of results
			}
		}
		for _, format := range []string{"text", "markdown"} {
			if got := cell(reports[format], row, f.column); got != shown {
				ts.Fatalf("%s is %s in JSON, which is written %q, but %q in %s", f.json, raw, shown, got, format)
			}
		}
	}
	if known < len(figures())/2 {
		ts.Fatalf("only %d of %d figures are known: nothing was compared", known, len(figures()))
	}
}

// firstTrial reads a report in JSON, its numbers as written.
func firstTrial(ts *script, text string) any {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var doc any
	ts.Check(d.Decode(&doc))
	trial, ok := walk(doc, "trials.0")
	if !ok {
		ts.Fatalf("no trial in JSON")
	}
	return trial
}

var (
	gaps = regexp.MustCompile(`\s{2,}`)
	bars = regexp.MustCompile(`\s*\|\s*`)
)

// cell finds a figure in the tables of a report in text or markdown. A table is a block of lines with a heading that names the
// column; a row begins with its label, which the heading lacks.
func cell(report, row, column string) string {
	at := -1
	for line := range strings.Lines(report) {
		cells := gaps.Split(strings.TrimSpace(line), -1)
		if strings.HasPrefix(line, "|") {
			cells = bars.Split(strings.Trim(strings.TrimSpace(line), "| "), -1)
		}
		switch i := slices.Index(cells, column); {
		case len(cells) < 2:
			if strings.TrimSpace(line) == "" {
				at = -1
			}
		case i >= 0:
			at = i + 1
		case at >= 0 && at < len(cells) && cells[0] == row:
			return cells[at]
		}
	}
	return ""
}

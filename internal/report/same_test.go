package report

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/run/runtest"
	"github.com/mqlab/mqlab/internal/summary"
)

// TestSameNumbersInEveryFormat reads the figures back from all four formats, each with a parser of its own that knows
// nothing of the writers, and compares them: CSV and JSON to the last digit, text and markdown as far as their digits go.
func TestSameNumbersInEveryFormat(t *testing.T) {
	s := summary.Of(runtest.Comparison(t))
	o := Options{Trials: true}
	var j map[string]any
	if err := json.Unmarshal([]byte(render(t, "json", s, o)), &j); err != nil {
		t.Fatal(err)
	}
	sameCSV(t, j, render(t, "csv", s, o))
	text, markdown := rowsOfText(render(t, "text", s, o)), rowsOfMarkdown(render(t, "markdown", s, o))
	if len(text) < 10 || len(text) != len(markdown) {
		t.Fatalf("%d table rows in text, %d in markdown", len(text), len(markdown))
	}
	for i := range text {
		if strings.Join(text[i], "|") != strings.Join(markdown[i], "|") {
			t.Errorf("text %q, markdown %q", text[i], markdown[i])
		}
	}
	sameTables(t, j, text)
}

// sameCSV compares every figure of every row with the JSON.
func sameCSV(t *testing.T, j map[string]any, text string) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for n, row := range rows[1:] {
		trial := j["trials"].([]any)[n].(map[string]any)
		for c, name := range rows[0] {
			for _, path := range []string{
				name, "counts." + name, "rates." + name, "params." + name,
				strings.Replace("latency."+name, "_", ".", 1), strings.Replace("generator."+name, "lateness_", "lateness.", 1),
				strings.Replace(name, "_", ".", 1),
			} {
				want, ok := at(trial, path).(float64)
				if !ok {
					continue
				}
				compared++
				if got, err := strconv.ParseFloat(row[c], 64); err != nil || got != want {
					t.Errorf("row %d, %s: %q in CSV, %v in JSON", n, name, row[c], want)
				}
			}
		}
	}
	if compared < 50*len(rows[1:]) {
		t.Errorf("only %d figures were compared", compared)
	}
}

// sameTables finds the figures of the comparisons, cells and trials of the JSON in the tables.
func sameTables(t *testing.T, j map[string]any, rows [][]string) {
	t.Helper()
	found := map[string]int{}
	for _, table := range tablesOf(rows) {
		for _, row := range table.rows {
			for name, cell := range row {
				want, ok := expected(j, table.kind, row, name)
				if !ok {
					continue
				}
				found[table.kind+" "+name]++
				compareFigure(t, table.kind+" "+row[""]+row["trial"]+" "+name, cell, want)
			}
		}
	}
	for _, f := range []string{
		"cells p50", "cells p99", "cells delivered/s", "cells lost", "cells CPU/delivery", "cells memory", "cells offered", "cells sent",
		"cells delivered", "cells dup", "cells broker/CPU-s", "cells generator/CPU-s", "cells reord", "trials p50", "trials p99", "trials delivered/s", "trials lost",
	} {
		if found[f] < 3 {
			t.Errorf("%s was compared %d times", f, found[f])
		}
	}
}

// expected is what the JSON says about a cell of a table.
func expected(j map[string]any, kind string, row map[string]string, column string) (any, bool) {
	if kind == "trials" {
		id, _, _ := strings.Cut(row["trial"], " ")
		n, _ := strconv.Atoi(id)
		trial := j["trials"].([]any)[n-1]
		path := map[string]string{"p50": "latency.response.p50_ns", "p99": "latency.response.p99_ns", "delivered/s": "rates.delivered_per_s", "lost": "counts.lost"}[column]
		return at(trial, path), path != ""
	}
	metric := map[string]string{
		"p50": "response_p50", "p99": "response_p99", "delivered/s": "delivered_per_s", "CPU/delivery": "broker_cpu_per_delivery", "memory": "broker_pss_max",
	}[column]
	if metric != "" {
		for _, c := range j["comparisons"].([]any) {
			if at(c, "metric") != metric {
				continue
			}
			for _, s := range at(c, "subjects").([]any) {
				if at(s, "subject") == row[""] {
					return at(s, "median"), true
				}
			}
		}
	}
	cost := map[string]string{"broker/CPU-s": "cost.deliveries_per_broker_cpu_second", "generator/CPU-s": "cost.messages_per_generator_cpu_second"}[column]
	field := map[string]string{"offered": "offered", "sent": "sent", "delivered": "delivered", "lost": "lost", "dup": "duplicates", "reord": "reordered"}[column]
	for _, c := range j["cells"].([]any) {
		switch {
		case at(c, "subject.name") != row[""]:
		case column == "lost" && strings.HasSuffix(row[column], "%"):
			return at(c, "lost_ratio"), true
		case cost != "":
			v, known := at(c, cost).(float64)
			if !known {
				return nil, true
			}
			return math.Round(v), true // from 10,000 on they are written so
		case field != "":
			return at(c, "counts."+field), true
		}
	}
	return nil, false
}

// compareFigure compares a figure with its unit with a plain number; a figure that is not there is a word.
func compareFigure(t *testing.T, what, cell string, want any) {
	t.Helper()
	number, ok := want.(float64)
	if !ok {
		if cell != "lost" && cell != "–" {
			t.Errorf("%s: %q, but the JSON has nothing", what, cell)
		}
		return
	}
	got, digits, err := parseFigure(cell)
	if err != nil || math.Abs(got-number) > 0.51*math.Pow(10, float64(1-digits))*math.Max(math.Abs(number), 1e-300)*10/float64(first(got)) {
		t.Errorf("%s: %q, JSON has %v (%v)", what, cell, number, err)
	}
}

// first is the first digit of v, to turn significant digits into a relative error.
func first(v float64) int {
	if v == 0 {
		return 1
	}
	return int(v/math.Pow(10, math.Floor(math.Log10(math.Abs(v)))) + 1e-9)
}

var units = map[string]float64{
	"": 1, "ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "%": 0.01,
}

// parseFigure reads "1.23 µs" as 1230 with three digits. Whole numbers without unit are exact.
func parseFigure(s string) (v float64, digits int, err error) {
	number, unit, _ := strings.Cut(s, " ")
	number = strings.ReplaceAll(number, ",", "")
	v, err = strconv.ParseFloat(number, 64)
	digits = len(strings.TrimLeft(strings.ReplaceAll(number, ".", ""), "0"))
	if unit == "" && !strings.Contains(number, ".") {
		digits = 15
	}
	return v * units[unit], max(digits, 1), err
}

// at follows a path of fields; nil if it leads nowhere.
func at(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

type parsedTable struct {
	kind string // cells or trials
	rows []map[string]string
}

// tablesOf recognizes headings by their words; later columns of the same name (the intervals) are left out.
func tablesOf(rows [][]string) (tables []parsedTable) {
	var head []string
	for _, r := range rows {
		if r[0] == "trial" || r[len(r)-1] == "trials" || r[len(r)-1] == "memory" || r[len(r)-1] == "reord" || r[len(r)-1] == "bottleneck" {
			kind := "cells"
			if r[0] == "trial" {
				kind = "trials"
			} else if r[0] != "" {
				r = append([]string{""}, r...)
			}
			head, tables = r, append(tables, parsedTable{kind: kind})
			continue
		}
		row := map[string]string{}
		for i, cell := range r {
			if _, twice := row[head[i]]; !twice {
				row[head[i]] = cell
			}
		}
		last := &tables[len(tables)-1]
		last.rows = append(last.rows, row)
	}
	return tables
}

var columnGap = regexp.MustCompile(`  +`)

// rowsOfText are the lines with columns, split where there are two spaces or more.
func rowsOfText(text string) (rows [][]string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if cells := columnGap.Split(line, -1); len(cells) > 3 {
			rows = append(rows, cells)
		}
	}
	return rows
}

func rowsOfMarkdown(text string) (rows [][]string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") || strings.Contains(line, "---") {
			continue
		}
		var cells []string
		for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		if cells[0] == "" { // the text has no cell where there is nothing to see
			cells = cells[1:]
		}
		rows = append(rows, cells)
	}
	return rows
}

package show

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"html"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mqlab/mqlab/internal/clients"
	"github.com/mqlab/mqlab/internal/explain"
)

// recorded is a run of six clients and two payloads, in which one cell was made invalid and one client was missing.
func recorded(t *testing.T) *clients.Result {
	t.Helper()
	b, err := os.ReadFile("testdata/result.json")
	if err != nil {
		t.Fatal(err)
	}
	r := &clients.Result{}
	if err := json.Unmarshal(b, r); err != nil {
		t.Fatal(err)
	}
	return r
}

func render(t *testing.T, format string, r *clients.Result, o Options) string {
	t.Helper()
	var b bytes.Buffer
	o.Title = "mqlab run clients (abc123)"
	if err := Write(&b, format, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestText: the text fits 80 columns, and has its sections in their order.
func TestText(t *testing.T) {
	sections := []string{
		"Which to take", "By payload", "Decision matrix", "Ranks", "Where the time goes", "What a message costs", "On a schedule, and in a burst",
		"Effort and traps", "Validity", "How to repeat it",
	}
	for _, o := range []Options{{}, {All: true}, {Chinese: true}} {
		var headings []string
		for line := range strings.Lines(render(t, "text", recorded(t), o)) {
			line = strings.TrimRight(line, "\n")
			if n := utf8.RuneCountInString(line); n > 80 {
				t.Errorf("%d columns: %s", n, line)
			}
			if line != "" && line[0] != ' ' {
				headings = append(headings, line)
			}
		}
		if !slices.Equal(headings[1:], sections) {
			t.Errorf("the sections are %q", headings)
		}
	}
	if text := render(t, "text", recorded(t), Options{Chinese: true}); !strings.Contains(text, "回调") {
		t.Error("no trap is in Chinese")
	}
}

var (
	gap      = regexp.MustCompile(`  +`)
	tag      = regexp.MustCompile(`<[^>]*>`)
	tableRow = regexp.MustCompile(`(?s)<tr>(.*?)</tr>`)
	cellEnd  = regexp.MustCompile(`</t[hd]>`)
)

// rows are the rows of tables in a format.
func rows(format, text string) (all [][]string) {
	switch format {
	case "html":
		for _, m := range tableRow.FindAllStringSubmatch(text, -1) {
			var row []string
			for _, c := range cellEnd.Split(m[1], -1) {
				row = append(row, html.UnescapeString(tag.ReplaceAllString(c, "")))
			}
			all = append(all, row[:len(row)-1])
		}
	case "markdown":
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "|") && !strings.Contains(line, "---") {
				var row []string
				for c := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
					row = append(row, strings.ReplaceAll(strings.TrimSpace(c), `\`, ""))
				}
				all = append(all, row)
			}
		}
	case "text":
		for line := range strings.Lines(text) {
			if cells := gap.Split(strings.TrimSpace(line), -1); len(cells) > 2 {
				all = append(all, cells)
			}
		}
	}
	return all
}

// TestSameFigures reads the tables of text, markdown and HTML back, which must be the same, and looks for their figures in JSON; then those
// of CSV, to the last digit.
func TestSameFigures(t *testing.T) {
	r := recorded(t)
	o := Options{All: true}
	text, page := rows("text", render(t, "text", r, o)), rows("html", render(t, "html", r, o))
	for _, row := range rows("markdown", render(t, "markdown", r, o)) {
		in := func(all [][]string) bool {
			return slices.ContainsFunc(all, func(other []string) bool { return slices.Equal(other, row) })
		}
		if !in(page) || len(row) > 2 && !in(text) && !slices.Contains(row, "") {
			t.Errorf("%q is in markdown: in text %v, in HTML %v", row, in(text), in(page))
		}
	}
	var j map[string]any
	if err := json.Unmarshal([]byte(render(t, "json", r, o)), &j); err != nil {
		t.Fatal(err)
	}
	var figures []float64
	collect(j, &figures)
	n := 0
	for _, row := range text {
		for _, cell := range row {
			number := strings.TrimRight(strings.TrimRight(cell, "abcdefghij–"), " *")
			v, exact, ok := figure(number)
			if !ok {
				continue
			}
			n++
			if !slices.ContainsFunc(figures, func(f float64) bool { return math.Abs(f-v) <= 0.006*v || exact && f == v }) {
				t.Errorf("%q of %q is no figure of the JSON", cell, row)
			}
		}
	}
	if n < 150 {
		t.Errorf("%d figures were compared", n)
	}
	sameCSV(t, r, render(t, "csv", r, o))
}

// figure reads "5.46 µs" as 5460 ns, and "306,006", which is exact, as it is.
func figure(s string) (v float64, exact, ok bool) {
	number, unit, _ := strings.Cut(s, " ")
	v, err := strconv.ParseFloat(strings.ReplaceAll(number, ",", ""), 64)
	scale := map[string]float64{"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]
	switch {
	case err == nil && scale > 0:
		return v * scale, false, true
	case err == nil && unit == "" && strings.Contains(s, ","):
		return v, true, true
	}
	return 0, false, false
}

// collect gathers the figures of a JSON.
func collect(v any, out *[]float64) {
	switch v := v.(type) {
	case map[string]any:
		for _, x := range v {
			collect(x, out)
		}
	case []any:
		for _, x := range v {
			collect(x, out)
		}
	case float64:
		*out = append(*out, v)
	}
}

// sameCSV compares every row with the cell and the rankings.
func sameCSV(t *testing.T, r *clients.Result, text string) {
	t.Helper()
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(all) != 1+len(r.Cells) {
		t.Fatalf("%d rows for %d cells: %v", len(all), len(r.Cells), err)
	}
	value := func(row []string, name string) float64 {
		v, err := strconv.ParseFloat(row[slices.Index(all[0], name)], 64)
		if err != nil {
			t.Errorf("%s of %s: %v", name, row[0], err)
		}
		return v
	}
	n := 0
	for i, row := range all[1:] {
		c := &r.Cells[i]
		if row[0] != c.Client || value(row, "payload_bytes") != float64(c.Payload) {
			t.Fatalf("row %d is of %s, not of %s", i, row[0], c.Client)
		}
		if c.Invalid != "" {
			if row[slices.Index(all[0], "drain_ns")] != "" || row[slices.Index(all[0], "invalid")] != c.Invalid {
				t.Errorf("an invalid cell has figures: %v", row)
			}
			continue
		}
		if value(row, "lone_p50_ns") != c.Lone.P50 || value(row, "breakdown_total_ns") != c.Breakdown.Total || value(row, "rss_bytes") != float64(c.Resident) {
			t.Errorf("%v differs from %+v", row, c)
		}
		for _, m := range clients.Metrics {
			for _, k := range r.Ranking(m, clients.Point{Payload: c.Payload, QoS: c.QoS}).Rows {
				if k.Client != c.Client {
					continue
				}
				n++
				if value(row, string(m)+"_ns") != k.Median || value(row, string(m)+"_ci_low_ns") != k.Low || row[slices.Index(all[0], string(m)+"_marks")] != k.Marks {
					t.Errorf("%s of %s differs from the ranking: %v, %+v", m, c.Client, row, k)
				}
			}
		}
	}
	if n < 30 {
		t.Errorf("%d figures of rankings were compared", n)
	}
}

// TestInvalidIsNeverRanked: what is no result stands in no rank and no recommendation, and is named.
func TestInvalidIsNeverRanked(t *testing.T) {
	text := render(t, "text", recorded(t), Options{All: true})
	for _, want := range []string{"2 of 14 cells not valid", "go-paho3 (10 KiB, QoS 0): invalid: 3 of 2,000 messages did not come", "python-asyncio (all): not compared: install"} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			t.Errorf("%q is not in the text", want)
		}
	}
}

// TestNothing: a comparison that was stopped before anything was measured says so.
func TestNothing(t *testing.T) {
	for _, format := range Formats {
		out := render(t, format, &clients.Result{}, Options{})
		if format == "text" && !strings.Contains(out, "Nothing was measured.") {
			t.Error(out)
		}
	}
	if err := Write(&bytes.Buffer{}, "pdf", &clients.Result{}, Options{}); err == nil {
		t.Error("there is no format pdf")
	}
}

// TestPage: the page loads nothing, and its drawings have every client's bar.
func TestPage(t *testing.T) {
	page := render(t, "html", recorded(t), Options{})
	if strings.Contains(page, "http://") && !strings.Contains(page, "http://www.w3.org") || strings.Contains(page, "https://") {
		t.Error("the page names an address")
	}
	for _, name := range []string{"c-floor", "c-libmosquitto", "python-paho", "node-mqttjs"} {
		if n := strings.Count(page, `<g data-name="`+name+`"`); n != 2 {
			t.Errorf("%s has %d bars of parts, want 2", name, n)
		}
	}
	if n := strings.Count(page, `class="chart sweep"`); n != 8 {
		t.Errorf("%d charts by payload, want 8", n)
	}
}

// TestHeads: every head of a column that stands for a field is explained by it; none is explained by what it means elsewhere.
func TestHeads(t *testing.T) {
	for head, path := range heads {
		if _, ok := explain.Text(path); !ok {
			t.Errorf("%s: there is no text for %s", head, path)
		}
	}
	page := render(t, "html", recorded(t), Options{Explain: func(word string) string { return "about " + word }})
	for _, want := range []string{`title="about breakdown.network_ns">network<`, `title="about clients.cells.drain_rounds_ns">work<`} {
		if !strings.Contains(page, want) {
			t.Errorf("%s is not on the page", want)
		}
	}
	if strings.Contains(page, `title="about 256 B"`) {
		t.Error("a payload is explained")
	}
}

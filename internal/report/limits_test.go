package report

import (
	"bytes"
	"encoding/json"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/gate"
	"github.com/mqlab/mqlab/internal/run/runtest"
	"github.com/mqlab/mqlab/internal/summary"
)

// TestLimitsInEveryFormat: text, markdown, HTML, JSON and JUnit tell the same of every check.
func TestLimitsInEveryFormat(t *testing.T) {
	r := runtest.Comparison(t)
	s := summary.Of(r)
	var limits []gate.Limit
	for _, text := range []string{"p99 < 300us", "lost = 0", "nats: p999 < 1s", "broker_pss_max <= 30MiB", "achieved >= 99 %"} {
		l, err := gate.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		limits = append(limits, l)
	}
	g := gate.Evaluate(s, limits, gate.Options{})
	if g.Count(gate.Pass) == 0 || g.Count(gate.Missed) == 0 || g.Count(gate.Undecidable) == 0 {
		t.Fatalf("%+v", g)
	}
	o := Options{Gate: g}
	outputs := map[string]string{}
	for _, format := range []string{"text", "markdown"} {
		outputs[format] = render(t, format, s, o)
	}
	var page, junit bytes.Buffer
	if err := HTML(&page, s, r, o, nil); err != nil {
		t.Fatal(err)
	}
	outputs["html"] = regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page.String(), " ")
	for format, out := range outputs {
		out = strings.Join(strings.FieldsFunc(strings.ReplaceAll(html.UnescapeString(out), `\_`, "_"), func(r rune) bool {
			return strings.ContainsRune(" |\n\u00a0", r)
		}), " ")
		for i := range g.Checks {
			c := &g.Checks[i]
			if row := strings.Join([]string{c.Name(), c.Limit, c.Figure(), string(c.Result)}, " "); !strings.Contains(out, row) {
				t.Errorf("%s lacks %q", format, row)
			}
		}
	}
	var doc struct{ Gate gate.Gate }
	if err := json.Unmarshal([]byte(render(t, "json", s, o)), &doc); err != nil || len(doc.Gate.Checks) != len(g.Checks) {
		t.Fatalf("%v, %+v", err, doc)
	}
	if err := JUnit(&junit, s, g, nil); err != nil {
		t.Fatal(err)
	}
	for i, c := range doc.Gate.Checks {
		if c.Text != g.Checks[i].Text || c.Result != g.Checks[i].Result {
			t.Errorf("JSON: %+v, want %+v", c, g.Checks[i])
		}
		if !strings.Contains(html.UnescapeString(junit.String()), c.Limit) {
			t.Errorf("JUnit lacks %s", c.Limit)
		}
	}
	if n := strings.Count(junit.String(), "<failure"); n != g.Count(gate.Missed) {
		t.Errorf("%d failures in JUnit, %d missed", n, g.Count(gate.Missed))
	}
	if err := JUnit(brokenWriter{}, s, g, nil); err == nil {
		t.Error("a broken file is no error")
	}
}

// TestGateReadsThePrintedValue: of every metric that a table shows, the gate's value is the table's.
func TestGateReadsThePrintedValue(t *testing.T) {
	s := summary.Of(runtest.Comparison(t))
	text := render(t, "text", s, Options{})
	seen := 0
	for _, table := range tablesOf(rowsOfText(text)) {
		for _, row := range table.rows {
			for column, metric := range map[string]string{
				"p50": "p50", "p99": "p99", "delivered/s": "delivered_per_s", "CPU/delivery": "broker_cpu_per_delivery", "memory": "broker_pss_max",
				"offered": "offered", "sent": "sent", "delivered": "delivered", "dup": "duplicates", "reord": "reordered",
			} {
				shown, ok := row[column]
				if !ok || shown == "" {
					continue
				}
				m, ok := summary.FindFigure(metric)
				if !ok {
					t.Fatalf("no figure %s", metric)
				}
				g := gate.Evaluate(s, []gate.Limit{{Text: metric, Subject: row[""], Metric: m, Op: gate.AtLeast}}, gate.Options{})
				if got := g.Checks[0].Figure(); got != shown {
					t.Errorf("%s of %s is %s in the table, %s in the gate", column, row[""], shown, got)
				}
				seen++
			}
		}
	}
	if seen < 25 {
		t.Errorf("%d figures", seen)
	}
}

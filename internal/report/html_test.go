package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/run/runtest"
	"github.com/mqlab/mqlab/internal/summary"
)

func renderHTML(t *testing.T, r *run.Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, summary.Of(r), r, Options{Dir: "runs/x"}, nil); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestHTMLSameNumbers reads the figures of tables and bars back, and finds those of the JSON and of the text.
func TestHTMLSameNumbers(t *testing.T) {
	r := runtest.Comparison(t)
	s := summary.Of(r)
	var j map[string]any
	if err := json.Unmarshal([]byte(render(t, "json", s, Options{})), &j); err != nil {
		t.Fatal(err)
	}
	root := parse(t, renderHTML(t, r))
	found := map[string]int{}
	for _, id := range []string{"comparison", "offered--sent--delivered", "cpu-and-memory", "counts", "trials"} {
		for _, table := range htmlTables(htmlSection(root, id)) {
			for _, row := range table.rows {
				for name, cell := range row {
					if want, ok := expected(j, table.kind, row, name); ok {
						found[table.kind+" "+name]++
						compareFigure(t, id+" "+row[""]+row["trial"]+" "+name, cell, want)
					}
				}
			}
		}
	}
	for _, f := range []string{
		"cells p50", "cells p99", "cells delivered/s", "cells lost", "cells CPU/delivery", "cells memory", "cells offered", "cells sent",
		"cells delivered", "cells dup", "cells reord", "trials p50", "trials p99", "trials delivered/s", "trials lost",
	} {
		if found[f] < 3 {
			t.Errorf("%s was compared %d times", f, found[f])
		}
	}
	sameSentences(t, root, render(t, "text", s, Options{}))
	sameBars(t, root)
}

var figureInText = regexp.MustCompile(`\d[\d,.]*( (µs|ms|s|MiB|%))?`)

// sameSentences looks for every figure of verdict and reasons in the text.
func sameSentences(t *testing.T, root *node, text string) {
	t.Helper()
	text = strings.Join(strings.Fields(text), " ")
	n := 0
	for _, id := range []string{"verdict", "validity-and-reasons"} {
		for _, x := range append(htmlSection(root, id).all("li"), htmlSection(root, id).all("p")...) {
			for _, f := range figureInText.FindAllString(x.text, -1) {
				if n++; !strings.Contains(text, f) {
					t.Errorf("%q of %q is not in the text", f, x.text)
				}
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d figures were compared", n)
	}
}

// sameBars compares what bars say with the table below them.
func sameBars(t *testing.T, root *node) {
	t.Helper()
	sec := htmlSection(root, "comparison")
	figures := htmlTables(sec)[0].rows
	n := 0
	for _, g := range sec.all("g") {
		text, name := g.attrs["data-t"], g.attrs["data-name"]
		median, _, _ := strings.Cut(text, " (")
		for _, row := range figures {
			if row[""] == name && (row["p50"] == median || row["p99"] == median) {
				n++
			}
		}
	}
	if n != 6 {
		t.Errorf("%d bars have the figure of the table, want 6", n)
	}
}

// TestHTMLPercentilesAreTheSummarys: the percentiles below the chart are the medians of the comparisons.
func TestHTMLPercentilesAreTheSummarys(t *testing.T) {
	r := runtest.Comparison(t)
	s := summary.Of(r)
	tables := htmlTables(htmlSection(parse(t, renderHTML(t, r)), "latency-by-percentile"))
	n := 0
	for _, row := range tables[0].rows {
		for _, c := range s.Comparisons {
			for _, col := range latencyColumns {
				for _, st := range c.Subjects {
					if cell := row[col.head]; col.metric == c.Metric && st.Subject == row[""] && st.Median != nil {
						if n++; cell != c.Unit.Format(*st.Median) {
							t.Errorf("%s %s: %q, want %q", st.Subject, c.Metric, cell, c.Unit.Format(*st.Median))
						}
					}
				}
			}
		}
	}
	if n < 12 {
		t.Errorf("only %d figures were compared", n)
	}
}

func TestHTMLOrder(t *testing.T) {
	var got []string
	for _, h := range parse(t, renderHTML(t, runtest.Comparison(t))).all("h2") {
		got = append(got, h.text)
	}
	want := []string{
		"Verdict", "Comparison", "Cost", "Latency by percentile", "Latency over time", "Offered, sent, delivered", "CPU and memory", "Counts",
		"Validity and reasons", "Configuration, host and versions", "Trials", "How to repeat it",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestHTMLOfEveryRun: whatever a run left behind, the page is whole, the same each time, and needs nothing else.
func TestHTMLOfEveryRun(t *testing.T) {
	outside := regexp.MustCompile(`(?i)(src|href)="[^#"]|url\(|@import|https?://`)
	for name, r := range map[string]*run.Run{
		"comparison": runtest.Comparison(t),
		"matrix":     runtest.Write(t, "matrix", matrix("mochi", "nats")),
		"sweep":      runtest.Write(t, "sweep", matrix("mosquitto")),
		"stall":      runtest.Write(t, "stall", stall(nil)),
		"killed":     runtest.Write(t, "stall", stall(func(r *runtest.Trial) { r.Cut = true })),
		"max":        runtest.Write(t, "max", closedLoop()),
		"mixed":      runtest.Write(t, "mixed", mixed()),
		"nothing":    runtest.Write(t, "nothing", nil),
	} {
		page := renderHTML(t, r)
		root := parse(t, page)
		if lead := root.all("p"); !slices.ContainsFunc(lead, func(p *node) bool { return strings.HasPrefix(p.attrs["class"], "lead") && p.text != "" }) {
			t.Errorf("%s has no verdict", name)
		}
		bare := strings.NewReplacer(`xmlns="http://www.w3.org/2000/svg"`, "", `href="data:,"`, "").Replace(page)
		if found := outside.FindString(bare); found != "" {
			t.Errorf("%s reaches outside: %s", name, found)
		}
		if renderHTML(t, r) != page {
			t.Errorf("%s is another page the second time", name)
		}
	}
}

// TestHTMLIsInert: names and texts from outside stay text.
func TestHTMLIsInert(t *testing.T) {
	const evil = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>`
	trials := runtest.Repeated([]string{"mochi", "nats"}, 2, 1, runtest.Params(), func(x *runtest.Trial) {
		x.Plan.Subject.Name += evil
		x.Plan.Params.Set = []plan.Assignment{{Key: evil, Value: evil}}
		x.Edit = func(r *run.TrialRecord) {
			r.Broker.Version, r.Broker.Stderr = evil, evil
			r.Broker.Config = []run.Setting{{Key: evil, Value: evil, Source: evil}}
			r.Broker.Limits = map[string]int64{evil: 1}
			r.Client.Settings, r.Client.Engine = []string{evil}, evil
			r.Checks.LedgerMismatch = evil
		}
	})
	r := runtest.Write(t, "quick", trials)
	r.Manifest.Plan.Description, r.Manifest.Source, r.Manifest.Command = evil, evil, []string{evil}
	r.Manifest.Host.Hostname = evil
	for i := range r.Trials {
		r.Trials[i].Events = []run.Event{{T: 1e9, Kind: evil, Text: evil}}
		for w := range r.Trials[i].Windows {
			r.Trials[i].Windows[w].Phase = evil
		}
	}
	var b bytes.Buffer
	if err := HTML(&b, summary.Of(r), r, Options{Dir: evil}, func(string) string { return evil }); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if n := strings.Count(page, "<script"); n != 1 {
		t.Errorf("%d scripts, want ours alone", n)
	}
	if strings.Contains(page, "<img") {
		t.Error("a name became an element")
	}
	checkAttributes(t, parse(t, page))
}

func TestHTMLWords(t *testing.T) {
	r := runtest.Comparison(t)
	var b bytes.Buffer
	explain := func(word string) string {
		if word == "p99" || word == "generator_late" {
			return "about " + word
		}
		return ""
	}
	if err := HTML(&b, summary.Of(r), r, Options{}, explain); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<abbr data-word="p99" title="about p99">p99</abbr>`, `<abbr data-word="generator_late" title="about generator_late">generator_late</abbr>`,
		`<span data-word="p50">p50</span>`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s is missing", want)
		}
	}
}

func TestHTMLShowsLosses(t *testing.T) {
	sec := htmlSection(parse(t, renderHTML(t, runtest.Comparison(t))), "latency-by-percentile")
	n := 0
	for _, text := range sec.all("text") {
		if strings.HasPrefix(text.text, lostWord+": ") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d curves end among lost messages, want 1", n)
	}
}

func TestHTMLShowsPauses(t *testing.T) {
	r := runtest.Write(t, "stall", stall(nil))
	r.Trials[0].Events = []run.Event{{T: 4e9, Kind: "pause"}, {T: 5e9, Kind: "disconnect", Text: "connection 1"}, {T: 6e9, Kind: "resume"}}
	page := renderHTML(t, r)
	for _, want := range []string{"paused at 4.0–6.0 s", "disconnect at 5.0 s"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing", want)
		}
	}
}

func TestHTMLWriteErrorIsReturned(t *testing.T) {
	r := runtest.Write(t, "stall", stall(nil))
	if err := HTML(brokenWriter{}, summary.Of(r), r, Options{}, nil); err == nil {
		t.Error("no error")
	}
}

func TestScriptIsSmall(t *testing.T) {
	if n := len(htmlScript); n >= 4096 {
		t.Errorf("%d bytes", n)
	}
}

// TestHTMLOfManyTrials: 200 trials, each a cell of its own, stay a page that a browser opens at once.
func TestHTMLOfManyTrials(t *testing.T) {
	var trials []runtest.Trial
	for point := range 100 {
		p := runtest.Params()
		p.RatePerS, p.Phases.Measure = 50, 6*time.Second
		p.Set = []plan.Assignment{{Key: "load.rate", Value: fmt.Sprint(point)}}
		trials = append(trials, runtest.Repeated([]string{"mochi", "nats"}, 1, point+1, p, nil)...)
	}
	page := renderHTML(t, runtest.Write(t, "big", trials))
	if n := len(page); n > 3<<20 {
		t.Errorf("%d bytes", n)
	}
	_, table, _ := strings.Cut(page, `<section id="trials">`)
	table, _, _ = strings.Cut(table, "</section>")
	if n := strings.Count(table, "<tr>"); n != 201 {
		t.Errorf("%d rows of trials", n)
	}
	if !strings.Contains(page, "Shown for the first 40 of 200") {
		t.Error("nothing says that charts are left out")
	}
}

// TestColumnIsExact: the cells of a heat map count every message once.
func TestColumnIsExact(t *testing.T) {
	r := runtest.Comparison(t)
	s := summary.Of(r)
	for cell, f := range foldCells(s, r) {
		for i := range f.seconds {
			x := &f.seconds[i]
			if x.response == nil {
				continue
			}
			sum := int64(0)
			for _, b := range x.column().Buckets {
				sum += b.Count
			}
			if sum != x.response.Count() {
				t.Errorf("cell %d, second %d: %d messages in cells, %d in the histogram", cell, x.n, sum, x.response.Count())
			}
		}
		if h := f.hists[ledger.Response]; h != nil {
			for q := range 100 {
				v := h.Quantile(float64(q) / 100)
				n := atMost(h, v)
				if h.Quantile((float64(n)-0.5)/float64(h.Count())) > v || n < h.Count() && h.Quantile((float64(n)+0.5)/float64(h.Count())) <= v {
					t.Errorf("cell %d: %d values at most %d", cell, n, v)
				}
			}
		}
	}
}

package explain

import (
	"go/ast"
	"slices"
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/gate"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/stat"
	"github.com/mqlab/mqlab/internal/summary"
)

// printed are the words of each group that the program prints, from where it has them.
func printed(t *testing.T) map[string]words {
	p := map[string]words{}
	columns := headings(t)
	columns.add(arguments(t, "../report/*.go", "fact", 0)...)
	for _, percentile := range summary.Percentiles {
		columns.add(percentile.Words)
	}
	p["columns"] = columns
	p["verdicts"] = words{
		string(summary.Valid), string(summary.Warning), string(summary.Invalid), "note",
		string(run.Finished), string(run.Failed), string(run.Cut),
		string(stat.Different), string(stat.NotShown), "not shown", "not comparable", "choice",
		"median", "95 %", "interval", "factor", "p", "repetition", "lost", "n/a", "–", "open loop", "closed loop",
		string(gate.Pass), string(gate.Missed), string(gate.Undecidable), "baseline", string(gate.NotWorse) + " baseline",
	}
	var metrics words
	for m := range ledger.NumMetrics {
		metrics.add(m.String())
	}
	for _, m := range summary.Metrics {
		metrics.add(m.Name)
	}
	p["metrics"] = slices.DeleteFunc(metrics, func(m string) bool { return m == ledger.Connect.String() }) // the phase explains it
	p["reasons"] = slices.Concat(arguments(t, "../summary/validity.go", "add", 1), arguments(t, "../summary/recovery.go", "add", 1),
		arguments(t, "../summary/link.go", "add", 1), arguments(t, "../jitter/round.go", "add", 1))
	for _, l := range summary.Limiters {
		p["bottlenecks"] = append(p["bottlenecks"], string(l))
	}
	for _, c := range append(diagnose.Causes(), diagnose.None, diagnose.Unexplained, diagnose.TooFew, diagnose.Lost) {
		p["causes"] = append(p["causes"], string(c))
	}
	p["sources"] = constants(t, "../diagnose/diagnose.go", "")
	p["links"] = append(constants(t, "../link/emulate/emulate.go", ""), "GET /", "POST /set", "POST /cut", "POST /mend")
	p["guarantees"] = constants(t, "../plan/guarantee.go", "")
	p["durabilities"] = constants(t, "../plan/durability.go", "")
	p["phases"] = words{"connect", "settle", "warm-up", "measure", "drain", "teardown", "close"}
	events := arguments(t, "../engine/*.go", "event", 1)
	events.add(arguments(t, "../trial/*.go", "note", 0, "kind")...)
	events.add("pause", "resume", "stop", "kill", "start", "outage", "mended") // of faults and outages
	p["events"] = events
	p["units"] = words{"ns", "µs", "ms", "s", "B", "KiB", "MiB", "GiB", "TiB", "bytes", "per_s", "/s", "ratio", "%", "×"}
	for _, f := range fields() {
		if f.of == "latency.response" {
			p["quantiles"] = append(p["quantiles"], strings.TrimPrefix(f.path, f.of+"."))
		}
	}
	for _, file := range parse(t, "../../cmd/mqlab/main.go") {
		ast.Inspect(file, func(node ast.Node) bool {
			if v, ok := node.(*ast.ValueSpec); ok && len(v.Values) == 1 && strings.HasPrefix(v.Names[0].Name, "exit") {
				if code, ok := v.Values[0].(*ast.BasicLit); ok {
					p["exits"] = append(p["exits"], "exit "+code.Value)
				}
			}
			return true
		})
	}
	return p
}

// constants are the values of the string constants of a file whose names end so.
func constants(t *testing.T, pattern, end string) (found words) {
	for _, file := range parse(t, pattern) {
		ast.Inspect(file, func(node ast.Node) bool {
			if v, ok := node.(*ast.ValueSpec); ok && len(v.Values) == 1 && strings.HasSuffix(v.Names[0].Name, end) {
				found.add(text(v.Values[0]))
			}
			return true
		})
	}
	return found
}

// TestEveryWord: what is printed has a text in its group, and every text has a word that is printed.
func TestEveryWord(t *testing.T) {
	all := printed(t)
	least := map[string]int{"columns": 35, "reasons": 30, "events": 7, "guarantees": 4, "durabilities": 3, "metrics": 20, "quantiles": 15, "exits": 6}
	for i := range sources {
		s := &sources[i]
		want, checked := all[s.file]
		if !checked {
			continue // by a test of its own
		}
		if len(want) < least[s.file] {
			t.Errorf("%s: only %d words are found: %v", s.file, len(want), want)
		}
		var have words
		for _, e := range s.read() {
			have.add(e.Word)
			if !slices.Contains(want, e.Word) {
				t.Errorf("%s explains %q, which exists nowhere", s.file, e.Word)
			}
		}
		for _, word := range want {
			if _, known := Text(word); !slices.Contains(have, word) && (s.file != "columns" || !known) {
				t.Errorf("%s does not explain %q", s.file, word)
			}
		}
	}
}

// TestEveryField: each field of the JSON has a text, and each text of a field a field.
func TestEveryField(t *testing.T) {
	written := map[string]bool{}
	for i := range sources {
		if s := &sources[i]; s.dotted && s.file != "keys" {
			for _, e := range sources[i].read() {
				written[e.Word] = false
			}
		}
	}
	for _, f := range fields() {
		found := Find(f.path)
		if !slices.ContainsFunc(found, func(e Entry) bool { return strings.HasPrefix(e.Kind, "JSON") }) {
			t.Errorf("%s has no text", f.path)
		}
		for _, end := range endings(f.path, 1) {
			if _, ok := written[end]; ok && (end == f.path || strings.Contains(end, ".") || f.of != "") {
				written[end] = true
			}
		}
	}
	for word, used := range written {
		if !used {
			t.Errorf("%q is no field", word)
		}
	}
}

// TestTexts: each is a line of plain sentences.
func TestTexts(t *testing.T) {
	for i := range sources {
		seen := map[string]bool{}
		for _, e := range sources[i].read() {
			if seen[e.Word] {
				t.Errorf("%s explains %q twice", sources[i].file, e.Word)
			}
			seen[e.Word] = true
			if len(e.Text) < 5 || len(e.Text) > 420 || !strings.HasSuffix(e.Text, ".") {
				t.Errorf("%s, %q: %q", sources[i].file, e.Word, e.Text)
			}
		}
	}
}

func TestFind(t *testing.T) {
	for _, c := range []struct{ word, first, text string }{
		{"lost", "lost", "never arrived"},
		{"counts.lost", "counts.lost", "lower the rate"},
		{"cells.counts.lost", "cells.counts.lost", "lower the rate"},
		{"P99", "p99", "one message in a hundred"},
		{"p99_ns", "p99_ns", "Needs 1,000"},
		{"latency.response.p99_ns", "latency.response.p99_ns", "this is the latency to compare"},
		{"lateness p99", "generator.lateness.p99_ns", "at p99 the trial is invalid"},
		{"response_p99", "response_p99", "one message in a hundred"},
		{"broker_pss_bytes_mean", "broker.pss_bytes_mean", "proportional set size"},
		{"generator.lateness", "generator.lateness", "time blocked"},
		{"generator_late", "generator_late", "Lower the rate"},
		{"no  difference\tshown", "no difference shown", "no proof"},
		{"95%", "95 %", "bootstrap"},
		{"load.rate", "load.rate", "100/s"},
		{"exit 4", "exit 4", "no valid repetition"},
		{"pss_bytes_max", "broker.pss_bytes_max", "memory"},
		{"warmup", "params.phases.warmup_ns", "not counted"},
	} {
		found := Find(c.word)
		if len(found) == 0 || found[0].Word != c.first || !strings.Contains(found[0].Text, c.text) {
			t.Errorf("%s: %+v", c.word, found)
		}
	}
	for _, word := range []string{"", "lsot", ".", "latency.foo.p99_ns", "qqqqqqqq"} {
		if found := Find(word); len(found) != 0 {
			t.Errorf("%q: %+v", word, found)
		}
	}
	if s, ok := Suggest("lsot"); !ok || s != `did you mean "lost"?` {
		t.Errorf("%q %v", s, ok)
	}
	if s, ok := Suggest("qqqqqqqqqq"); ok {
		t.Errorf("%q", s)
	}
}

// TestEveryMeaning: a word with several meanings shows them all.
func TestEveryMeaning(t *testing.T) {
	var kinds []string
	for _, e := range Find("lost") {
		kinds = append(kinds, e.Kind+" "+e.Word)
	}
	for _, want := range []string{"text report lost", "verdict lost", "reason lost", "event lost", "JSON counts.lost", "JSON connections.lost"} {
		if !slices.Contains(kinds, want) {
			t.Errorf("%s is not among %v", want, kinds)
		}
	}
}

func FuzzFind(f *testing.F) {
	for _, word := range []string{"lost", "latency.response.p99_ns", " ", "%", "a.b.c", "_ns"} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		for _, e := range Find(word) {
			if e.Text == "" || e.Word == "" {
				t.Errorf("%q: %+v", word, e)
			}
		}
		Suggest(word)
	})
}

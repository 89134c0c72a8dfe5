package jitter

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// written is a report in every format, by its name; zh and en of text.
func written(t *testing.T, r *Report) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, language := range []string{"en", "zh"} {
		var b bytes.Buffer
		if err := Text(&b, r, language, func(head, text string) { b.WriteString(head + text + "\n") }); err != nil {
			t.Fatal(err)
		}
		all[language] = b.String()
		for _, format := range []string{"markdown", "html"} {
			b.Reset()
			if err := Page(&b, format, r, language, []string{"mqlab"}, nil); err != nil {
				t.Fatal(err)
			}
			all[format+" "+language] = b.String()
		}
	}
	return all
}

// TestSameFigures: every format has the figures of the JSON.
func TestSameFigures(t *testing.T) {
	p, trials := loopCase()
	r := NewReport("abc123", time.Unix(0, 0).UTC(), p, trials)
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Cases []map[string]any `json:"cases"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	if err := CSV(&table, r); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&table).ReadAll()
	if err != nil || len(lines) != 1+len(doc.Cases) {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	known := 0
	for i, line := range lines[1:] {
		for n, name := range lines[0] {
			group, field, _ := strings.Cut(name, "_")
			from := doc.Cases[i]
			if group == "service" || group == "response" {
				from = from[group].(map[string]any)
				if under, ok := strings.CutPrefix(field, "arrived_"); ok {
					from, _ = from["arrived"].(map[string]any)
					field = under
				}
				want := ""
				if v, ok := from[field].(json.Number); ok {
					want = string(v)
					known++
				}
				if !sameNumber(line[n], want) {
					t.Errorf("case %d: %s is %q, in JSON %q", i, name, line[n], want)
				}
			}
		}
	}
	if known < 20 {
		t.Errorf("only %d figures are known", known)
	}
	s := r.Cases[0].Service
	for format, text := range written(t, r) {
		for _, want := range []string{Duration(float64(*s.P50)), Duration(float64(*s.P90)), Duration(float64(*s.P99)), Duration(s.Arrived.Mean), Duration(s.Arrived.Deviation)} {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %s", format, want)
			}
		}
	}
	if at := slices.Index(lines[0], "lost"); lines[1][at] != "2" || lines[2][at] != "0" {
		t.Errorf("lost: %s, %s", lines[1][at], lines[2][at])
	}
}

// sameNumber compares numbers however they are written; an unknown one is empty, or 0 where JSON leaves a count out.
func sameNumber(a, b string) bool {
	if a == "0" && b == "" {
		return true
	}
	x, err := strconv.ParseFloat(a, 64)
	y, other := strconv.ParseFloat(b, 64)
	return a == b || err == nil && other == nil && x == y
}

var (
	verbs     = regexp.MustCompile(`%(\[\d\])?[.\d]*[a-z]`)
	sentences = regexp.MustCompile(`[a-z]+( [a-z]+){3,}`)
)

// TestChinese: each phrase has room for what the English one has, and no sentence is left in English but the failures that programs tell.
func TestChinese(t *testing.T) {
	for english, text := range chinese {
		plain := func(s string) []string {
			list := verbs.FindAllString(s, -1)
			for i := range list {
				list[i] = regexp.MustCompile(`\[\d\]`).ReplaceAllString(list[i], "")
			}
			slices.Sort(list)
			return list
		}
		if !slices.Equal(plain(english), plain(text)) {
			t.Errorf("%q and %q have not the same places", english, text)
		}
	}
	p, trials := loopCase()
	p.Cases[0].Burst = 20
	r := NewReport("abc123", time.Unix(0, 0).UTC(), p, trials)
	all := written(t, r)
	for _, format := range []string{"zh", "markdown zh"} {
		for line := range strings.Lines(all[format]) {
			if left := sentences.FindString(line); left != "" {
				t.Errorf("%s: %q in %s", format, left, line)
			}
		}
	}
	if !strings.Contains(all["zh"], "标准差") || !strings.Contains(all["html zh"], "往返时间") {
		t.Error("it is not Chinese")
	}
}

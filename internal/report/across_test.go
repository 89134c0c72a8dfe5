package report

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mqlab/mqlab/internal/run/runtest"
	"github.com/mqlab/mqlab/internal/summary"
)

// across compares two runs of two subjects, of which the second is slower in one, with another version.
func across(t *testing.T) *summary.Across {
	t.Helper()
	made := func(id string, edit func(*runtest.Trial)) *summary.Summary {
		r := runtest.Write(t, "quick", runtest.Repeated([]string{"mosquitto", "nats"}, 5, 1, runtest.Params(), edit))
		r.Manifest.ID = id
		if id == "bbbbbb" {
			r.Manifest.Host.Kernel = "6.9.0-with-a-very-long-name-of-its-own"
		}
		return summary.Of(r)
	}
	a, err := summary.CompareRuns([]*summary.Summary{made("aaaaaa", nil), made("bbbbbb", func(x *runtest.Trial) {
		if x.Plan.Subject.Name == "nats" {
			x.Median += x.Median / 5
		}
	})}, false)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestGoldenAcross(t *testing.T) {
	a := across(t)
	for _, format := range AcrossFormats {
		var b bytes.Buffer
		if err := WriteAcross(&b, format, a, Options{}); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", "across."+format)
		if *update {
			if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), b.String()); diff != "" {
			t.Errorf("%s (-want +got; -update writes it):\n%s", file, diff)
		}
	}
	if err := WriteAcross(new(bytes.Buffer), "csv", a, Options{}); err == nil {
		t.Error("an unknown format was written")
	}
}

// TestAcrossShowsTheNumbersOfItsJSON finds every factor of the verdicts in the text.
func TestAcrossShowsTheNumbersOfItsJSON(t *testing.T) {
	a := across(t)
	var text, doc bytes.Buffer
	if err := WriteAcross(&text, "text", a, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := WriteAcross(&doc, "json", a, Options{}); err != nil {
		t.Fatal(err)
	}
	var read summary.Across
	if err := json.Unmarshal(doc.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, c := range read.Comparisons {
		for _, v := range c.Verdicts {
			if v.Factor == nil {
				continue
			}
			seen++
			for _, want := range []string{summary.Factor(*v.Factor), summary.Range(summary.Factor(*v.Low), summary.Factor(*v.High))} {
				if !strings.Contains(text.String(), want) {
					t.Errorf("%s is not in the text", want)
				}
			}
		}
	}
	if seen < 10 {
		t.Errorf("%d factors", seen)
	}
	for line := range strings.Lines(text.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > textWidth {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

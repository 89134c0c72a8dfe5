package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mqlab/mqlab/internal/capacity"
	"github.com/mqlab/mqlab/internal/capacity/capacitytest"
	"github.com/mqlab/mqlab/internal/summary"
)

func TestSearches(t *testing.T) {
	r := capacitytest.Carry(t, capacitytest.Plan(), 1000, capacitytest.Overload)
	s := summary.Of(r)
	found, err := capacity.Of(s, &r.Manifest.Plan)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Dir: "runs/capacity", Searches: found}
	for _, format := range []string{"text", "markdown"} {
		got := render(t, format, s, o)
		for _, line := range strings.Split(got, "\n") {
			if n := utf8.RuneCountInString(line); format == "text" && n > textWidth {
				t.Errorf("%d columns: %q", n, line)
			}
		}
		file := filepath.Join("testdata", "capacity."+format)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got; -update writes it):\n%s", file, diff)
		}
	}
	var page bytes.Buffer
	if err := HTML(&page, s, r, o, nil); err != nil {
		t.Fatal(err)
	}
	doc := parse(t, page.String())
	var headings []string
	for _, h := range doc.all("h2") {
		headings = append(headings, h.text)
	}
	if got := strings.Join(headings, ", "); !strings.HasPrefix(got, "Verdict, Capacity, Cost, Probes of mochi, Probes of nats, ") {
		t.Error(got)
	}
	for _, want := range []string{"mochi: knee ", "nats sustains a rate of " + found[1].Text(found[1].Sustainable), `data-word="sustainable"`} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	table := render(t, "csv", s, o)
	for _, want := range []string{",searches_sustainable,", ",searches_knee,", ",rate,100,held,", ",limit,true,unknown"} {
		if !strings.Contains(table, want) {
			t.Errorf("the CSV lacks %q", want)
		}
	}
	var cases bytes.Buffer
	if err := JUnit(&cases, s, nil, found); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`tests="2" failures="0" errors="0"`, `name="has a sustainable rate"`, "between 1,450/s and 1,600/s; knee "} {
		if !strings.Contains(cases.String(), want) {
			t.Errorf("the JUnit file lacks %q:\n%s", want, &cases)
		}
	}
	if json := render(t, "json", s, o); !strings.Contains(json, `"searches": [`) || !strings.Contains(json, `"sustainable": `) {
		t.Error("the JSON has no searches")
	}
}

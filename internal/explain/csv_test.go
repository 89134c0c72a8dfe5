package explain_test

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/clients"
	"github.com/mqlab/mqlab/internal/clients/idle"
	"github.com/mqlab/mqlab/internal/clients/show"
	"github.com/mqlab/mqlab/internal/explain"
	"github.com/mqlab/mqlab/internal/jitter"
	"github.com/mqlab/mqlab/internal/report"
	"github.com/mqlab/mqlab/internal/summary"
)

// TestColumnsOfIdleCSV: so are those of clients that wait.
func TestColumnsOfIdleCSV(t *testing.T) {
	var b strings.Builder
	if err := show.WriteIdle(&b, "csv", new(idle.Result), show.Options{}); err != nil {
		t.Fatal(err)
	}
	head, err := csv.NewReader(strings.NewReader(b.String())).Read()
	if err != nil || len(head) < 15 {
		t.Fatalf("%d columns, %v", len(head), err)
	}
	for _, name := range head {
		if _, ok := explain.Text(name); !ok {
			t.Errorf("the column %s is not explained", name)
		}
	}
}

// TestColumnsOfJitterCSV: so are those of cases of jitter.
func TestColumnsOfJitterCSV(t *testing.T) {
	var b strings.Builder
	if err := jitter.CSV(&b, new(jitter.Report)); err != nil {
		t.Fatal(err)
	}
	head, err := csv.NewReader(strings.NewReader(b.String())).Read()
	if err != nil || len(head) < 50 {
		t.Fatalf("%d columns, %v", len(head), err)
	}
	for _, name := range head {
		if _, ok := explain.Text(name); !ok {
			t.Errorf("the column %s is not explained", name)
		}
	}
}

// TestColumnsOfClientsCSV: so are those of a comparison of client libraries, or they have a text of their own.
func TestColumnsOfClientsCSV(t *testing.T) {
	var b strings.Builder
	if err := show.Write(&b, "csv", new(clients.Result), show.Options{}); err != nil {
		t.Fatal(err)
	}
	head, err := csv.NewReader(strings.NewReader(b.String())).Read()
	if err != nil || len(head) < 40 {
		t.Fatalf("%d columns, %v", len(head), err)
	}
	for _, name := range head {
		if _, ok := explain.Text(name); !ok {
			t.Errorf("the column %s is not explained", name)
		}
	}
}

// TestColumnsOfCSV: columns of CSV are called as JSON fields are, with _ for the dots.
func TestColumnsOfCSV(t *testing.T) {
	var b strings.Builder
	if err := report.CSV(&b, new(summary.Summary)); err != nil {
		t.Fatal(err)
	}
	head, err := csv.NewReader(strings.NewReader(b.String())).Read()
	if err != nil || len(head) < 50 {
		t.Fatalf("%d columns, %v", len(head), err)
	}
	for _, name := range head {
		if _, ok := explain.Text(name); !ok {
			t.Errorf("the column %s is not explained", name)
		}
	}
}

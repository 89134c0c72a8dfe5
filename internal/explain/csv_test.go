package explain_test

import (
	"encoding/csv"
	"io"
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/capacity"
	"github.com/mqlab/mqlab/internal/clients"
	"github.com/mqlab/mqlab/internal/clients/idle"
	"github.com/mqlab/mqlab/internal/clients/show"
	"github.com/mqlab/mqlab/internal/explain"
	"github.com/mqlab/mqlab/internal/jitter"
	"github.com/mqlab/mqlab/internal/report"
	"github.com/mqlab/mqlab/internal/summary"
)

// TestColumnsOfCSV: columns of CSV are called as JSON fields are, with _ for the dots, or have a text of their own.
func TestColumnsOfCSV(t *testing.T) {
	for _, c := range []struct {
		of    string
		least int // columns
		write func(w io.Writer) error
	}{
		{"trials and probes", 60, func(w io.Writer) error { return report.CSV(w, new(summary.Summary), make([]capacity.Result, 1)) }},
		{"client libraries", 40, func(w io.Writer) error { return show.Write(w, "csv", new(clients.Result), show.Options{}) }},
		{"clients that wait", 15, func(w io.Writer) error { return show.WriteIdle(w, "csv", new(idle.Result), show.Options{}) }},
		{"cases of jitter", 50, func(w io.Writer) error { return jitter.CSV(w, new(jitter.Report)) }},
	} {
		t.Run(c.of, func(t *testing.T) {
			var b strings.Builder
			if err := c.write(&b); err != nil {
				t.Fatal(err)
			}
			head, err := csv.NewReader(strings.NewReader(b.String())).Read()
			if err != nil || len(head) < c.least {
				t.Fatalf("%d columns, %v", len(head), err)
			}
			for _, name := range head {
				if _, ok := explain.Text(name); !ok {
					t.Errorf("the column %s is not explained", name)
				}
			}
		})
	}
}

// Package show writes what a comparison of client libraries found: as text, markdown and HTML, which are layouts of the same strings, as
// JSON, and as CSV with a row for each cell.
package show

import (
	"fmt"
	"io"
	"strings"

	"github.com/mqlab/mqlab/internal/clients"
	"github.com/mqlab/mqlab/internal/report"
)

// Options say how a comparison is shown.
type Options struct {
	Title   string                   // of the report
	Command []string                 // that repeats the run
	Dir     string                   // the run's folder, to be named; may be empty
	All     bool                     // text and markdown: every payload in full
	Color   bool                     // of text
	Chinese bool                     // traps in Chinese
	Explain func(word string) string // what a field of the JSON means, "" = nothing; nil = never
}

// Formats are the names that Write knows.
var Formats = []string{"text", "json", "csv", "markdown", "html"}

// Write writes a result in the named format.
func Write(w io.Writer, format string, r *clients.Result, o Options) error {
	switch format {
	case "json":
		return report.WriteJSON(w, Contract(r))
	case "csv":
		return writeCSV(w, r)
	case "text", "markdown", "html":
		return build(r, &o, format == "html").Write(w, format, o.Color, explained(o.Explain))
	}
	return fmt.Errorf("unknown report format %q: there are %s", format, strings.Join(Formats, ", "))
}

// Contract is what JSON writes, and summary.json holds: the result, and what it says about the choice of a library.
func Contract(r *clients.Result) any {
	return struct {
		*clients.Result
		*clients.Decision
	}{r, clients.Decide(r)}
}

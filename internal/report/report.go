// Package report prints a summary: as text for a terminal, as JSON, as CSV with one row per trial, and as markdown.
//
// All of them show the figures of the summary and compute none. Text and markdown are two layouts of one document, so that
// they cannot differ.
package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/mqlab/mqlab/internal/capacity"
	"github.com/mqlab/mqlab/internal/gate"
	"github.com/mqlab/mqlab/internal/summary"
)

// Options say how a report is to look.
type Options struct {
	Color  bool   // text only: for a terminal
	Trials bool   // text and markdown: one row for every trial, too
	Dir    string // the run's folder, to be named in text and markdown; may be empty

	Language string // of findings, one of diagnose.Languages; "" = en

	Gate *gate.Gate // what came of the run's limits; nil if it has none

	Searches []capacity.Result // what a run of searches found; nil for any other run
	Changes  []capacity.Change // of WriteAcross: what became of capacities; nil where not all runs are searches
}

func (o *Options) language() string { return cmp.Or(o.Language, "en") }

// Formats are the names that Write knows.
var Formats = []string{"text", "json", "csv", "markdown"}

// Write writes the report in the named format. The error of an unknown format names those there are.
func Write(w io.Writer, format string, s *summary.Summary, o Options) error {
	switch format {
	case "text":
		return Text(w, s, o)
	case "json":
		return JSON(w, s, o)
	case "csv":
		return CSV(w, s, o.Searches)
	case "markdown":
		return Markdown(w, s, o)
	}
	return fmt.Errorf("unknown report format %q: there are %s", format, strings.Join(Formats, ", "))
}

// Text writes a report for people, right at 80 columns.
func Text(w io.Writer, s *summary.Summary, o Options) error {
	return writeText(w, build(s, &o), o.Color)
}

// Markdown writes the same report as Text in markdown.
func Markdown(w io.Writer, s *summary.Summary, o Options) error {
	return writeMarkdown(w, build(s, &o))
}

// JSON writes the summary, and the gate if there is one: the stable contract for programs.
func JSON(w io.Writer, s *summary.Summary, o Options) error {
	return WriteJSON(w, Contract(s, o))
}

// Contract is what JSON writes, and summary.json holds.
func Contract(s *summary.Summary, o Options) any {
	return struct {
		*summary.Summary
		Searches []capacity.Result `json:"searches,omitempty"`
		Gate     *gate.Gate        `json:"gate,omitempty"`
	}{s, o.Searches, o.Gate}
}

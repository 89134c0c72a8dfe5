package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/mqlab/mqlab/internal/clients"
	"github.com/mqlab/mqlab/internal/clients/show"
	"github.com/mqlab/mqlab/internal/explain"
	"github.com/mqlab/mqlab/internal/run"
)

// finishClients keeps a comparison of client libraries in its folder and shows it.
func finishClients(stdout io.Writer, folder *run.Writer, r *clients.Result, asJSON bool) error {
	format := "text"
	if asJSON {
		format = "json"
	}
	return finishShown(stdout, folder, show.Contract(r), format, func(w io.Writer, format string, o show.Options) error {
		return show.Write(w, format, r, o)
	})
}

// finishShown ends a run's folder with its result, leaves a page to be opened in a browser there, and shows the result.
func finishShown(stdout io.Writer, folder *run.Writer, result any, format string, write func(io.Writer, string, show.Options) error) error {
	if err := folder.Finish(result); err != nil {
		return err
	}
	m := folder.Manifest()
	o := clientsShown(&m, folder.Dir())
	page, err := os.Create(filepath.Join(folder.Dir(), "report.html"))
	if err != nil {
		return err
	}
	if err := errors.Join(write(page, htmlFormat, o), page.Close()); err != nil {
		return err
	}
	o.Color = colours(stdout)
	return write(stdout, format, o)
}

// clientsShown says how a comparison is shown.
func clientsShown(m *run.Manifest, dir string) show.Options {
	return show.Options{Title: fmt.Sprintf("mqlab run %s (%s)", m.Scenario, m.ID), Command: m.Command, Dir: dir, Explain: func(word string) string {
		text, _ := explain.Text(word)
		return text
	}}
}

// openClients reads the result of a comparison of client libraries again; nil if the run is none.
func openClients(dir string, m *run.Manifest) (*clients.Result, error) {
	if m.Scenario != clientsScenario {
		return nil, nil
	}
	b, err := os.ReadFile(filepath.Join(dir, "summary.json"))
	if err != nil {
		return nil, fmt.Errorf("%s: the comparison did not come to its end: %w", dir, plainly(err))
	}
	r := &clients.Result{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%s: summary.json is damaged: %w", dir, err)
	}
	return r, nil
}

// showClients shows a comparison of client libraries again. It has no trials and no limits.
func (f *reportFlags) showClients(w io.Writer, r *clients.Result, o show.Options) error {
	if f.trial > 0 || len(f.limits) > 0 || f.baseline != "" || f.junit != "" {
		return usageError("a comparison of client libraries has no trials and no limits: leave out --trial, --limit, --baseline and --junit")
	}
	o.All, o.Color, o.Chinese = f.trials, colours(w), f.language == "zh"
	return show.Write(w, f.format, r, o)
}

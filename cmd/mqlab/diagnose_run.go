package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/evidence"
	"github.com/mqlab/mqlab/internal/findings"
	"github.com/mqlab/mqlab/internal/run"
)

// run diagnoses a run's folder: each trial, or that of --trial.
func (f *diagnoseFlags) run(w io.Writer, dir string) error {
	r, err := run.Open(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return usageError("%s: not the folder of a run: it has no run.json", dir)
	case err != nil:
		return usageError("%w", err)
	}
	if r.Manifest.Scenario == clientsScenario {
		return usageError("%s: a comparison of client libraries keeps no times of single messages: mqlab run jitter --client NAME measures what can be diagnosed", dir)
	}
	var all []findings.Diagnosis
	for i := range r.Trials {
		if id := r.Trials[i].Trial.ID; f.trial == 0 || id == f.trial {
			all = append(all, f.trialOf(r, &r.Trials[i]))
		}
	}
	switch {
	case len(r.Trials) == 0:
		return exitError{exitInvalid, fmt.Errorf("%s: no diagnosis: no trial was begun", dir)}
	case len(all) == 0:
		return usageError("%s: there is no trial %d: %s", dir, f.trial, trialsOf(r))
	}
	if err := f.tellRun(w, dir, r.Manifest.ID, all); err != nil {
		return err
	}
	for i := range all {
		if all[i].Result != nil && all[i].Result.Findings[len(all[i].Result.Findings)-1].Cause != diagnose.TooFew {
			return nil
		}
	}
	return exitError{exitInvalid, fmt.Errorf("%s: no diagnosis: %s", dir, whyNone(&all[0]))}
}

// whyNone says why a trial has no diagnosis.
func whyNone(d *findings.Diagnosis) string {
	if d.Result == nil {
		return d.Why
	}
	return d.Result.Findings[0].In("en").Evidence[0]
}

func trialsOf(r *run.Run) string {
	var ids []string
	for i := range r.Trials {
		ids = append(ids, fmt.Sprint(r.Trials[i].Trial.ID))
	}
	if n := len(ids); n > 10 {
		ids = append(ids[:9], "…", ids[n-1])
	}
	return "there are " + strings.Join(ids, ", ")
}

// trialOf diagnoses a trial: one whose messages are a table by that, any other as the run folder has it.
func (f *diagnoseFlags) trialOf(r *run.Run, rec *run.Trial) findings.Diagnosis {
	messages, beside, ok := findings.Table(r.Dir, rec.Trial.ID)
	if !ok {
		return findings.Diagnose(r, rec)
	}
	d := findings.Diagnosis{Trial: rec.Trial.ID, Subject: r.Manifest.Scenario}
	in, notes, err := readBeside(messages, beside)
	if err != nil {
		d.Why = err.Error()
		return d
	}
	in.KeepAlive, in.Floor = max(f.keepAlive, in.KeepAlive), max(f.floor, in.Floor)
	d.Notes, d.Result = notes, diagnose.Diagnose(in)
	return d
}

// readBeside reads a table of messages, and what was seen beside them where that was kept.
func readBeside(messages, beside string) (in *diagnose.Input, notes []string, err error) {
	file, err := os.Open(messages)
	if err != nil {
		return nil, nil, plainly(err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	t, err := evidence.ReadCSV(bufio.NewReader(file), evidence.Options{})
	if err != nil {
		return nil, nil, plainly(err)
	}
	in, notes = &t.Input, tableNotes(t)
	var kept struct{ Input *diagnose.Input }
	switch b, err := os.ReadFile(beside); {
	case errors.Is(err, os.ErrNotExist):
		notes = append(notes, "what was seen beside was not kept: the trial was cut")
	case err != nil || json.Unmarshal(b, &kept) != nil || kept.Input == nil:
		notes = append(notes, "what was seen beside cannot be read: only the times of messages are looked at")
	default:
		kept.Input.Messages = in.Messages
		in = kept.Input
	}
	return in, notes, nil
}

// tellRun prints the diagnosis of trials: of one in full, of several a paragraph each.
func (f *diagnoseFlags) tellRun(w io.Writer, dir, id string, all []findings.Diagnosis) error {
	if f.format == "json" {
		return f.encode(w, findings.InWords(id, all, f.language))
	}
	width := terminalWidth(w)
	for i := range all {
		d := &all[i]
		if len(all) == 1 {
			printWrapped(w, "", fmt.Sprintf("Trial %d: %s", d.Trial, d.Subject), width)
			for _, n := range d.Notes {
				printWrapped(w, "  ", n, width)
			}
			if d.Result != nil {
				d.Result.Print(w, f.language, func(head, text string) { printWrapped(w, head, text, width) })
			}
			break
		}
		printWrapped(w, fmt.Sprintf("%3d  ", d.Trial), d.Subject+": "+f.inShort(d), width)
	}
	if len(all) > 1 {
		_, _ = fmt.Fprintln(w)
		printWrapped(w, "", fmt.Sprintf("With evidence, and what to change: mqlab diagnose %s --trial N", dir), width)
	}
	return nil
}

// inShort is a diagnosis in a line.
func (f *diagnoseFlags) inShort(d *findings.Diagnosis) string {
	if d.Result == nil {
		return "no diagnosis: " + d.Why
	}
	var parts []string
	for i := range d.Result.Findings {
		x := &d.Result.Findings[i]
		text := x.In(f.language).What
		if x.Share > 0 {
			text += fmt.Sprintf(", %.0f %% of the excess", x.Share*100)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/clients"
	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/findings"
	"github.com/mqlab/mqlab/internal/jitter"
	"github.com/mqlab/mqlab/internal/report"
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
	all, err := f.diagnosed(dir, r)
	if err != nil {
		return usageError("%w", err)
	}
	if f.trial != 0 {
		n := slices.IndexFunc(all, func(d findings.Diagnosis) bool { return d.Trial == f.trial })
		if n < 0 {
			return usageError("%s: there is no trial %d: there are %s", dir, f.trial, numbers(all))
		}
		all = all[n : n+1]
	}
	if len(all) == 0 {
		return exitError{exitInvalid, fmt.Errorf("%s: no diagnosis: there is no trial in it", dir)}
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

// numbers are those of the trials there are.
func numbers(all []findings.Diagnosis) string {
	var ids []string
	for i := range all {
		ids = append(ids, fmt.Sprint(all[i].Trial))
	}
	if n := len(ids); n > 10 {
		ids = append(ids[:9], "…", ids[n-1])
	}
	return cmp.Or(strings.Join(ids, ", "), "none")
}

// diagnosed are the diagnoses of a run's trials.
func (f *diagnoseFlags) diagnosed(dir string, r *run.Run) (all []findings.Diagnosis, err error) {
	if r.Manifest.Scenario == idleScenario {
		return nil, fmt.Errorf("%s: clients that wait have no messages: there is nothing to diagnose", dir)
	}
	libraries, err := openClients(dir, &r.Manifest)
	if err != nil || libraries != nil {
		return f.cells(libraries), err
	}
	rounds, err := openJitter(dir, &r.Manifest)
	if err != nil || rounds != nil {
		return roundsOf(rounds), err
	}
	for i := range r.Trials {
		if id := r.Trials[i].Trial.ID; f.trial == 0 || id == f.trial {
			all = append(all, findings.Diagnose(r, &r.Trials[i]))
		} else {
			all = append(all, findings.Diagnosis{Trial: id})
		}
	}
	return all, nil
}

// cells are the diagnoses of a comparison of client libraries, by what was seen of each: the times of its single messages are not kept.
func (f *diagnoseFlags) cells(r *clients.Result) (all []findings.Diagnosis) {
	if r == nil {
		return nil
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		d := findings.Diagnosis{Trial: i + 1, Subject: fmt.Sprintf("%s, %d B, QoS %d", c.Client, c.Payload, c.QoS), Why: c.Invalid}
		if c.Invalid == "" {
			d.Notes = []string{f.note("by_client")}
			d.Result = diagnose.DiagnoseProcess(&diagnose.Process{
				WaitCore: &c.WaitRatio, Pauses: c.Pauses, LongestPause: time.Duration(c.PauseMax), Dropped: c.QueueDrops,
				Sources: []diagnose.Source{diagnose.RunQueue, diagnose.Pauses},
			})
		}
		all = append(all, d)
	}
	return all
}

// roundsOf are the diagnoses of a measurement of jitter, as its report has them.
func roundsOf(r *jitter.Report) (all []findings.Diagnosis) {
	if r == nil {
		return nil
	}
	for i := range r.Cases {
		for _, x := range r.Cases[i].Rounds {
			d := findings.Diagnosis{Trial: x.Trial, Subject: r.Cases[i].Name, Result: x.Found()}
			for _, why := range x.Reasons {
				d.Notes = append(d.Notes, fmt.Sprintf("%s %s: %s", why.Level, why.Code, why.Text))
			}
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b findings.Diagnosis) int { return cmp.Compare(a.Trial, b.Trial) })
	return all
}

// tellRun prints the diagnosis of trials: of one in full, of several a paragraph each.
func (f *diagnoseFlags) tellRun(w io.Writer, dir, id string, all []findings.Diagnosis) error {
	if f.format == "json" {
		return report.WriteJSON(w, findings.InWords(id, all, f.language))
	}
	width := terminalWidth(w)
	for i := range all {
		d := &all[i]
		if len(all) == 1 {
			printWrapped(w, "", f.note("trial", d.Trial, d.Subject), width)
			for _, n := range d.Notes {
				printWrapped(w, "  ", n, width)
			}
			if d.Result != nil {
				d.Result.Print(w, f.language, func(head, text string) { printWrapped(w, head, text, width) })
			}
			break
		}
		printWrapped(w, fmt.Sprintf("%3d  ", d.Trial), f.note("subject", d.Subject, f.inShort(d)), width)
	}
	if len(all) > 1 {
		_, _ = fmt.Fprintln(w)
		printWrapped(w, "", f.note("full", dir), width)
	}
	return nil
}

// inShort is a diagnosis in a line.
func (f *diagnoseFlags) inShort(d *findings.Diagnosis) string {
	if d.Result == nil {
		return f.note("no_diagnosis", d.Why)
	}
	var parts []string
	for i := range d.Result.Findings {
		x := &d.Result.Findings[i]
		text := x.In(f.language).What
		if x.Side != "" {
			text += fmt.Sprintf(" [%s]", x.Side)
		}
		if x.Share > 0 {
			text += f.note("share", x.Share*100)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

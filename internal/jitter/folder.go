package jitter

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/evidence"
)

// The files of a run, besides run.json: the plan, and of each trial its messages and what was seen beside them.
const (
	planFile     = "jitter.json"
	trialsDir    = "trials"
	messagesFile = "messages.csv"
	besideFile   = "beside.json"
)

// beside is what is kept of a trial besides its messages.
type beside struct {
	Trial
	Input *diagnose.Input // without its messages
}

// WritePlan begins a run's folder.
func WritePlan(dir string, p *Plan) error { return writeJSON(filepath.Join(dir, planFile), p) }

// Write keeps a trial: first its messages, then the rest, so that a trial that was cut off has not the rest.
func (t *Trial) Write(dir string) error {
	dir = filepath.Join(dir, trialsDir, strconv.Itoa(t.ID))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	b := beside{Trial: *t}
	if t.Result != nil {
		if err := writeMessages(filepath.Join(dir, messagesFile), t.Result.Input.Messages); err != nil {
			return err
		}
		b.Input = new(*t.Result.Input)
		b.Input.Messages = nil
	}
	return writeJSON(filepath.Join(dir, besideFile), b)
}

func writeJSON(name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(name+".tmp", append(b, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(name+".tmp", name)
}

// writeMessages writes a table that mqlab diagnose reads. Times are of CLOCK_MONOTONIC.
func writeMessages(name string, messages []diagnose.Message) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	done := slices.ContainsFunc(messages, func(m diagnose.Message) bool { return m.Done != 0 })
	head := ""
	if done {
		head = "done_ns,"
	}
	_, _ = fmt.Fprintln(w, "seq,due_ns,send_ns,"+head+"recv_ns")
	for i, m := range messages {
		recv, cell := "", ""
		if done && (m.Lost || m.Done == 0) {
			cell = ","
		} else if done {
			cell = strconv.FormatInt(m.Done, 10) + ","
		}
		if !m.Lost {
			recv = strconv.FormatInt(m.Recv, 10)
		}
		_, _ = fmt.Fprintf(w, "%d,%d,%d,%s%s\n", i, m.Due, m.Sent, cell, recv)
	}
	return w.Flush()
}

// Load reads the trials of a run's folder, however it ended.
func Load(dir string) (*Plan, []Trial, error) {
	b, err := os.ReadFile(filepath.Join(dir, planFile))
	if err != nil {
		return nil, nil, err
	}
	p := &Plan{}
	if err := json.Unmarshal(b, p); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", planFile, err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, trialsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	var trials []Trial
	for _, e := range entries {
		t, err := loadTrial(filepath.Join(dir, trialsDir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // cut off
		}
		if err != nil {
			return nil, nil, fmt.Errorf("trial %s: %w", e.Name(), err)
		}
		trials = append(trials, *t)
	}
	return p, trials, nil
}

func loadTrial(dir string) (*Trial, error) {
	text, err := os.ReadFile(filepath.Join(dir, besideFile))
	if err != nil {
		return nil, err
	}
	var b beside
	if err := json.Unmarshal(text, &b); err != nil {
		return nil, fmt.Errorf("%s: %w", besideFile, err)
	}
	if b.Result == nil {
		return &b.Trial, nil
	}
	f, err := os.Open(filepath.Join(dir, messagesFile))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if b.Input == nil {
		return nil, fmt.Errorf("%s: it does not say what was looked at", besideFile)
	}
	b.Result.Input = b.Input
	table, err := evidence.ReadCSV(f, evidence.Options{})
	switch {
	case errors.Is(err, evidence.ErrNoFigures):
	case err != nil:
		return nil, fmt.Errorf("%s: %w", messagesFile, err)
	case table.BadTotal > 0 || table.Duplicate > 0:
		return nil, fmt.Errorf("%s: %d lines cannot be read", messagesFile, table.BadTotal+table.Duplicate)
	default:
		b.Result.Input.Messages = table.Input.Messages
	}
	return &b.Trial, nil
}

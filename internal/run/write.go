package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

const (
	manifestFile = "run.json"
	summaryFile  = "summary.json"
	trialsDir    = "trials"
	recordFile   = "trial.json"
	windowsFile  = "windows.jsonl"
	monitorFile  = "monitor.jsonl"
	eventsFile   = "events.jsonl"
	samplesFile  = "samples.bin"
	logSuffix    = ".hlog"
)

// Writer writes the folder of one run.
type Writer struct {
	dir  string
	root *os.Root
	m    Manifest
}

// Create makes the folder of a run under root, which is made if need be, and writes its manifest.
func Create(root string, m Manifest) (*Writer, error) {
	m.Schema = Schema
	dir := filepath.Join(root, m.folderName())
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, fmt.Errorf("run folder: %w", err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, fmt.Errorf("run folder: %w", err)
	}
	r, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("run folder: %w", err)
	}
	w := &Writer{dir: dir, root: r, m: m}
	if err := errors.Join(r.Mkdir(trialsDir, 0o755), writeWhole(r, manifestFile, m)); err != nil {
		return nil, errors.Join(fmt.Errorf("run folder: %w", err), r.Close())
	}
	return w, nil
}

// Reopen goes on with the folder of a run: further trials can be added to those that are there.
func Reopen(dir string) (*Writer, error) {
	r, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("run folder: %w", err)
	}
	m, err := readManifest(r)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", dir, err), r.Close())
	}
	return &Writer{dir: dir, root: r, m: m}, nil
}

// Dir is the path of the run's folder.
func (w *Writer) Dir() string { return w.dir }

// Manifest is the manifest as written.
func (w *Writer) Manifest() Manifest { return w.m }

// Trial begins trial id of the plan.
func (w *Writer) Trial(id int) (*TrialWriter, error) {
	name := filepath.Join(trialsDir, strconv.Itoa(id))
	if err := w.root.Mkdir(name, 0o755); err != nil {
		return nil, fmt.Errorf("trial %d: %w", id, err)
	}
	r, err := w.root.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("trial %d: %w", id, err)
	}
	return newTrialWriter(id, r, w.m.Started), nil
}

// Finish writes summary, which is marshalled to JSON, as summary.json and ends the run. A nil summary writes none.
func (w *Writer) Finish(summary any) error {
	var err error
	if summary != nil {
		err = writeWhole(w.root, summaryFile, summary)
	}
	if err = errors.Join(err, w.root.Close()); err != nil {
		return fmt.Errorf("run folder: %w", err)
	}
	return nil
}

// writeWhole writes v as JSON so that name either appears whole or not at all, and survives a power failure.
func writeWhole(r *os.Root, name string, v any) error {
	b, err := marshal(v, "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	tmp := name + ".tmp"
	f, err := r.Create(tmp)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := r.Rename(tmp, name); err != nil {
		return err
	}
	return syncDir(r)
}

// marshal encodes v as JSON with a final newline and without the user parts of URLs.
func marshal(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return redact(b.Bytes()), nil
}

package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/mqlab/mqlab/internal/clients"
	"github.com/mqlab/mqlab/internal/clients/show"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/summary"
)

// compareClients compares two comparisons of client libraries; false if none of the runs is one.
func compareClients(out io.Writer, format string, runs []*run.Run, anyHost bool) (is bool, err error) {
	var results []*clients.Result
	for _, r := range runs {
		c, err := openClients(r.Dir, &r.Manifest)
		if err != nil {
			return true, err
		}
		if c != nil {
			results = append(results, c)
		}
	}
	switch {
	case len(results) == 0:
		return false, nil
	case len(results) < len(runs):
		return true, exitError{exitInvalid, errors.New("not comparable: some runs compare client libraries, others do not")}
	}
	if err := pairOf("comparisons of client libraries", runs, anyHost); err != nil {
		return true, err
	}
	c, err := clients.Compare(results[0], results[1])
	if err != nil {
		return true, exitError{exitInvalid, fmt.Errorf("not comparable: %w", err)}
	}
	return true, show.WriteChanges(out, format, runs[0].Manifest.ID, runs[1].Manifest.ID, c, colours(out))
}

// pairOf says why runs are not two different ones of one machine; what names them.
func pairOf(what string, runs []*run.Run, anyHost bool) error {
	if len(runs) != 2 {
		return usageError("%s are compared two at a time; there are %d", what, len(runs))
	}
	a, b := &runs[0].Manifest, &runs[1].Manifest
	if a.ID == b.ID && a.Started.Equal(b.Started) {
		return exitError{exitInvalid, errors.New("not comparable: A and B are the same run")}
	}
	if apart := summary.HostsApart(&a.Host, &b.Host, "A", "B"); apart != "" && !anyHost {
		return exitError{exitInvalid, fmt.Errorf("not comparable: not the same machine: %s; --across-hosts compares nevertheless", apart)}
	}
	return nil
}

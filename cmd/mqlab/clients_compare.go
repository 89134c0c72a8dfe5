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
	case len(runs) != 2:
		return true, usageError("comparisons of client libraries are compared two at a time; there are %d", len(runs))
	}
	a, b := &runs[0].Manifest, &runs[1].Manifest
	if a.ID == b.ID && a.Started.Equal(b.Started) {
		return true, exitError{exitInvalid, errors.New("not comparable: A and B are the same run")}
	}
	if apart := summary.HostsApart(&a.Host, &b.Host, "A", "B"); apart != "" && !anyHost {
		return true, exitError{exitInvalid, fmt.Errorf("not comparable: not the same machine: %s; --across-hosts compares nevertheless", apart)}
	}
	c, err := clients.Compare(results[0], results[1])
	if err != nil {
		return true, exitError{exitInvalid, fmt.Errorf("not comparable: %w", err)}
	}
	return true, show.WriteChanges(out, format, a.ID, b.ID, c, colours(out))
}

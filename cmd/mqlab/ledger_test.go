package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/summary"
)

// sums checks that the counts of the first trial of a JSON report add up.
func sums(ts *script, neg bool, args []string) {
	usageOf(ts, "sums FILE", len(args) == 1, neg)
	var s summary.Summary
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &s))
	c := s.Trials[0].Counts
	if *c.Sent+*c.Unsent != *c.Offered {
		ts.Fatalf("sent %d and unsent %d are not offered %d", *c.Sent, *c.Unsent, *c.Offered)
	}
	if *c.Delivered+*c.Lost+*c.UndeliveredUnsent != *c.Expected {
		ts.Fatalf("delivered %d, lost %d and undelivered unsent %d are not expected %d", *c.Delivered, *c.Lost, *c.UndeliveredUnsent, *c.Expected)
	}
}

// recount compares what the samples of a run's first trial hold with its counts: each message of the measure window, by its number.
func recount(ts *script, neg bool, args []string) {
	usageOf(ts, "recount RUN", len(args) == 1, neg)
	r, err := run.Open(ts.MkAbs(args[0]))
	ts.Check(err)
	file, err := r.OpenSamples(1)
	ts.Check(err)
	defer func() { _ = file.Close() }()
	samples, err := run.NewSampleReader(bufio.NewReader(file))
	ts.Check(err)
	from := r.Trials[0].MeasureStart
	to := from + r.Trials[0].Checks.Measured
	sent, received := map[uint64]bool{}, map[uint64]bool{}
	for {
		var s run.Sample
		err := samples.Next(&s)
		if errors.Is(err, io.EOF) {
			break
		}
		ts.Check(err)
		if s.Due < from || s.Due >= to {
			continue
		}
		switch s.Kind {
		case run.SampleSent:
			sent[s.Seq] = true
		case run.SampleReceived:
			received[s.Seq] = true
		}
	}
	c := summary.Of(r).Trials[0].Counts
	if n := uint64(len(sent)); n != *c.Sent {
		ts.Fatalf("%d messages were sent by the samples, %d by the counts", n, *c.Sent)
	}
	if n := uint64(len(received)); n != *c.Delivered || uint64(len(sent))-n != *c.Lost {
		ts.Fatalf("%d of %d messages arrived by the samples; the counts have %d delivered and %d lost", n, len(sent), *c.Delivered, *c.Lost)
	}
}

// unblamed checks that the first trial of a JSON report does not blame the generator, unless other programs took the machine.
func unblamed(ts *script, neg bool, args []string) {
	usageOf(ts, "unblamed FILE", len(args) == 1, neg)
	var s summary.Summary
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &s))
	blamed, busy := "", false
	for _, r := range s.Trials[0].Reasons {
		if strings.HasPrefix(r.Code, "generator_") {
			blamed = r.Text
		}
		busy = busy || r.Code == "host_busy" || r.Code == "cpu_steal"
	}
	if blamed != "" && !busy {
		ts.Fatalf("blamed without cause: %s", blamed)
	}
}

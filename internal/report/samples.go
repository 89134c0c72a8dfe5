package report

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/mqlab/mqlab/internal/run"
)

// SamplesCSV writes every message of a trial as CSV, one row for each moment that was recorded of it, in the order of the file.
// Times are nanoseconds since the measure window opened; what is unknown is empty. The trial must have been run with samples.
func SamplesCSV(w io.Writer, r *run.Run, trial int) error {
	i := slices.IndexFunc(r.Trials, func(t run.Trial) bool { return t.Trial.ID == trial })
	if i < 0 || !r.Trials[i].HasSamples {
		return fmt.Errorf("trial %d has no samples: they are kept by mqlab run --samples", trial)
	}
	origin := r.Trials[i].MeasureStart
	f, err := r.OpenSamples(trial)
	if err != nil {
		return err
	}
	defer f.Close()
	samples, err := run.NewSampleReader(bufio.NewReader(f))
	if err != nil {
		return err
	}
	c := csv.NewWriter(w)
	_ = c.Write([]string{"kind", "stream", "subscriber", "sequence", "due_ns", "sent_ns", "received_ns", "kernel_ns"}) // the writer keeps its error
	for {
		var s run.Sample
		if err := samples.Next(&s); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		_ = c.Write(sampleRow(&s, origin))
	}
	c.Flush()
	return c.Error()
}

func sampleRow(s *run.Sample, origin int64) []string {
	moment := func(t int64) string {
		if t == 0 {
			return ""
		}
		return strconv.FormatInt(t-origin, 10)
	}
	subscriber := ""
	if s.Kind != run.SampleSent && s.Kind != run.SampleAcked {
		subscriber = strconv.FormatUint(uint64(s.Sub), 10)
	}
	return []string{
		s.Kind.String(), strconv.FormatUint(uint64(s.Stream), 10), subscriber, strconv.FormatUint(s.Seq, 10),
		moment(s.Due), moment(s.Sent), moment(s.Received), moment(s.Kernel),
	}
}

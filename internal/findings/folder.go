package findings

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/run"
)

// Diagnosis is what is found of one trial.
type Diagnosis struct {
	Trial   int
	Subject string
	Result  *diagnose.Result // nil where there is none
	Why     string           // there is none
	Notes   []string         // about how it was read
}

// Diagnose diagnoses a trial of a run folder: by its samples where they were kept and can be read, otherwise by the second.
func Diagnose(r *run.Run, rec *run.Trial) Diagnosis {
	d := Diagnosis{Trial: rec.Trial.ID, Subject: rec.Trial.Subject.Name, Why: Why(rec)}
	for _, s := range rec.Trial.Params.Set {
		d.Subject += fmt.Sprintf(", %s %s", s.Key, s.Value)
	}
	for _, x := range rec.Damage {
		d.Notes = append(d.Notes, "damaged: "+strings.TrimSpace(x))
	}
	if rec.State == run.Cut {
		d.Notes = append(d.Notes, "the trial was cut: this is what was recorded of it")
	}
	if d.Why != "" {
		return d
	}
	if !rec.HasSamples {
		d.Notes = append(d.Notes, "by the second, as samples were not kept (mqlab run --samples): shares are upper bounds")
		d.Result = Of(rec)
		return d
	}
	c := Course(rec)
	in, note, err := openSamples(r, rec, c)
	if err == nil && note == "" && 10*len(in.Messages) < 9*c.Figures.Messages {
		err = fmt.Errorf("it holds %d of %d messages", len(in.Messages), c.Figures.Messages)
	}
	if err != nil {
		d.Notes = append(d.Notes, fmt.Sprintf("samples.bin cannot be used (%v); by the second, shares are upper bounds", err))
		d.Result = Of(rec)
		return d
	}
	if note != "" {
		d.Notes = append(d.Notes, note)
	}
	d.Notes = append(d.Notes, fmt.Sprintf("by the times of %d messages", len(in.Messages)))
	d.Result = both(diagnose.Diagnose(in), diagnose.DiagnoseCourse(c))
	return d
}

// fromCourse are causes that the times of messages cannot tell, and counters by the second can.
var fromCourse = []diagnose.Cause{diagnose.PacketLoss, diagnose.LinkFull, diagnose.Throttling, diagnose.CPUContention, diagnose.HostNoise}

// leastShare is what a cause must explain of what is left, to be added.
const leastShare = 0.1

// both adds to a diagnosis by messages what only counters tell, as far as something is left to be explained.
func both(r, course *diagnose.Result) *diagnose.Result {
	for _, f := range course.Findings {
		f.Share = min(f.Share, r.Unexplained)
		if f.Share < leastShare || !slices.Contains(fromCourse, f.Cause) || r.Verdict() == diagnose.TooFew {
			continue
		}
		r.Findings = slices.DeleteFunc(r.Findings, func(o diagnose.Finding) bool { return o.Cause == diagnose.Unexplained })
		r.Findings = append(r.Findings, f)
		r.Unexplained -= f.Share
	}
	slices.SortStableFunc(r.Findings, func(a, b diagnose.Finding) int { return cmp.Compare(b.Share, a.Share) })
	return r
}

func openSamples(r *run.Run, rec *run.Trial, c *diagnose.Course) (in *diagnose.Input, note string, err error) {
	f, err := r.OpenSamples(rec.Trial.ID)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = f.Close() }()
	size := int64(0)
	if file, ok := f.(fs.File); ok {
		if info, err := file.Stat(); err == nil {
			size = info.Size()
		}
	}
	return messages(rec, c, f, size)
}

// IsFolder reports whether a name is that of a folder.
func IsFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

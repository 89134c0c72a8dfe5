package evidence

import (
	"fmt"
	"io"
	"slices"

	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/hist"
)

// maxExpanded is how many messages a histogram may hold to be read as single ones.
const maxExpanded = 5_000_000

// Log is a histogram log that was read.
type Log struct {
	Input     diagnose.Input
	Intervals int
	Tags      []string // that it has, in the order of their first lines; "" = lines without one
}

// ReadLog reads the histograms of a log with one tag ("" = the only one there is); unit is that of its values in ns. Histograms hold no
// times of messages, so that nothing is claimed that needs them.
func ReadLog(r io.Reader, tag string, unit int64) (*Log, error) {
	l := &Log{}
	for i, err := range hist.Intervals(r) {
		if err != nil {
			return nil, err
		}
		if !slices.Contains(l.Tags, i.Tag) {
			l.Tags = append(l.Tags, i.Tag)
		}
		if tag != "" && i.Tag != tag {
			continue
		}
		l.Intervals++
		if n := i.Hist.Count(); n > maxExpanded-int64(len(l.Input.Messages)) {
			return nil, fmt.Errorf("more than %d messages: take a shorter log", maxExpanded)
		}
		for value, n := range i.Hist.All() {
			for range n {
				l.Input.Messages = append(l.Input.Messages, diagnose.Message{Recv: value * unit})
			}
		}
	}
	switch {
	case len(l.Tags) == 0:
		return nil, ErrNoFigures
	case tag == "" && len(l.Tags) > 1:
		return nil, fmt.Errorf("it has lines with the tags %q; choose one", l.Tags)
	case l.Intervals == 0:
		return nil, fmt.Errorf("no line has the tag %q; there are %q", tag, l.Tags)
	}
	return l, nil
}

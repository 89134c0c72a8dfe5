package crew

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/worker"
)

// order is the first line that a process of the generator reads. It comes through a pipe, because arguments and the
// environment can be read by others.
type order struct {
	Share       worker.Share       `json:"share"`
	Credentials worker.Credentials `json:"credentials"`
	Samples     bool               `json:"samples,omitempty"`
}

// command is each further line.
type command struct {
	Do    string `json:"do"`
	Start int64  `json:"start,omitempty"` // of the schedule
}

// The commands. Prepare, begin and measure are answered when they are done; so are the order itself, and the moment at which the
// books are closed.
const (
	doPrepare = "prepare"
	doBegin   = "begin"
	doMeasure = "measure"
	doDrained = "drained" // all was delivered
	doFinish  = "finish"  // the books of all are closed
	doStop    = "stop"    // give up
)

// The steps that an answer tells the end of, besides the commands.
const (
	stepMade   = "made"
	stepClosed = "closed"
)

// answer tells that a step is done, or why it could not be.
type answer struct {
	Step        string              `json:"step"`
	Error       string              `json:"error,omitempty"`
	Connections *engine.Connections `json:"connections,omitempty"` // so far
	Result      *worker.Result      `json:"result,omitempty"`
}

// window carries a ledger.Window with its histograms, by metric.
type window struct {
	ledger.Window
	Hists map[string]*hist.Hist `json:"hists,omitempty"`
}

func packWindow(w *ledger.Window) window {
	out := window{Window: *w, Hists: map[string]*hist.Hist{}}
	for m, h := range w.Hists {
		if h != nil {
			out.Hists[ledger.Metric(m).String()] = h
		}
	}
	return out
}

func (w *window) unpack() (*ledger.Window, error) {
	out := w.Window
	for name, h := range w.Hists {
		m, known := ledger.ParseMetric(name)
		if !known || h == nil {
			return nil, fmt.Errorf("a histogram of %q", name)
		}
		out.Hists[m] = h
	}
	return &out, nil
}

// sampleBytes is the size of one sample: kind, stream, client, sequence number and four times.
const sampleBytes = 1 + 4 + 4 + 8 + 4*8

func appendSample(b []byte, s *engine.Sample) []byte {
	le := binary.LittleEndian
	b = append(b, byte(s.Kind))
	b = le.AppendUint32(b, s.Stream)
	b = le.AppendUint32(b, s.Client)
	b = le.AppendUint64(b, s.Seq)
	for _, t := range [...]int64{s.Due, s.Sent, s.Received, s.Kernel} {
		b = le.AppendUint64(b, uint64(t))
	}
	return b
}

// eachSample reads what appendSample wrote.
func eachSample(b []byte, f func(*engine.Sample)) error {
	if len(b)%sampleBytes != 0 {
		return errors.New("a sample is cut off")
	}
	le := binary.LittleEndian
	for ; len(b) > 0; b = b[sampleBytes:] {
		f(&engine.Sample{
			Kind: engine.SampleKind(b[0]), Stream: le.Uint32(b[1:]), Client: le.Uint32(b[5:]), Seq: le.Uint64(b[9:]),
			Due: int64(le.Uint64(b[17:])), Sent: int64(le.Uint64(b[25:])), Received: int64(le.Uint64(b[33:])), Kernel: int64(le.Uint64(b[41:])),
		})
	}
	return nil
}

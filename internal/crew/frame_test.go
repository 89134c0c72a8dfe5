package crew

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/ledger"
)

func TestFrames(t *testing.T) {
	want := []frame{{frameWindow, []byte("{}")}, {frameSamples, []byte{}}, {frameAnswer, bytes.Repeat([]byte("x"), 100_000)}}
	var pipe bytes.Buffer
	for _, f := range want {
		if err := writeFrame(&pipe, f); err != nil {
			t.Fatal(err)
		}
	}
	text := pipe.Bytes()
	in := bufio.NewReader(iotest.OneByteReader(bytes.NewReader(text)))
	for _, f := range want {
		got, err := readFrame(in)
		if err != nil || got.kind != f.kind || !bytes.Equal(got.body, f.body) {
			t.Fatalf("kind %q, %d bytes, %v; want %q, %d bytes", got.kind, len(got.body), err, f.kind, len(f.body))
		}
	}
	if _, err := readFrame(in); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	cut := bufio.NewReader(bytes.NewReader(text[:4]))
	if _, err := readFrame(cut); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("within a head: %v", err)
	}
	cut = bufio.NewReader(bytes.NewReader(text[:6]))
	if _, err := readFrame(cut); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("within a body: %v", err)
	}
}

func TestWindowSurvivesThePipe(t *testing.T) {
	w := &ledger.Window{Group: "g", Start: -5, End: 7, Phase: "measure", Counts: ledger.Counts{Offered: 3, MaxReorder: 2}, InWindow: ledger.InWindow{BytesIn: 9}}
	h := hist.New()
	h.Record(12345)
	h.Record(hist.MaxValue + 1)
	w.Hists[ledger.Kernel] = h
	text, err := json.Marshal(packWindow(w))
	if err != nil {
		t.Fatal(err)
	}
	var read window
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	got, err := read.unpack()
	if err != nil {
		t.Fatal(err)
	}
	if k := got.Hists[ledger.Kernel]; k.Count() != 2 || k.Min() != h.Min() || k.Max() != h.Max() || got.Hists[ledger.Ack] != nil {
		t.Errorf("%d times from %d to %d", k.Count(), k.Min(), k.Max())
	}
	got.Hists, w.Hists = [ledger.NumMetrics]*hist.Hist{}, [ledger.NumMetrics]*hist.Hist{}
	if diff := cmp.Diff(w, got, cmp.AllowUnexported(hist.Hist{})); diff != "" {
		t.Error(diff)
	}
}

func TestSampleSurvivesThePipe(t *testing.T) {
	want := engine.Sample{Kind: engine.SampleReceived, Stream: 1, Client: 2, Seq: 1 << 60, Due: -3, Sent: 4, Received: 1 << 62, Kernel: 5}
	b := appendSample(nil, &want)
	if len(b) != sampleBytes {
		t.Errorf("%d bytes", len(b))
	}
	n := 0
	if err := eachSample(append(b, b...), func(s *engine.Sample) {
		if n++; *s != want {
			t.Errorf("%+v", *s)
		}
	}); err != nil || n != 2 {
		t.Errorf("%d samples, %v", n, err)
	}
	if eachSample(b[1:], func(*engine.Sample) {}) == nil {
		t.Error("a sample that is cut off is accepted")
	}
}

// FuzzFrames: whatever a process says is taken or refused; nothing panics.
func FuzzFrames(f *testing.F) {
	for _, seed := range []frame{
		{frameWindow, []byte(`{"group":"g","hists":{"ack":"","x":null}}`)},
		{frameEvent, []byte(`{"At":1}`)},
		{frameProgress, []byte(`{"Sent":1}`)},
		{frameAnswer, []byte(`{"step":"measure","result":{"Receipts":[{"Seen":[3,1,2]}]}}`)},
		{frameSamples, make([]byte, sampleBytes)},
		{'?', nil},
	} {
		var b bytes.Buffer
		_ = writeFrame(&b, seed)
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		p := &process{step: map[string]chan answer{doMeasure: make(chan answer, 1)}}
		in := bufio.NewReader(bytes.NewReader(said))
		to := sink{progress: func(int, engine.Progress) {}}
		for {
			f, err := readFrame(in)
			if err != nil {
				return
			}
			if p.take(0, f, to, &collector{samples: map[engine.SampleKind]int{}}) != nil {
				return
			}
		}
	})
}

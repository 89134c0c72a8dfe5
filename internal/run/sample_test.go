package run

import (
	"bytes"
	"errors"
	"io"
	"math"
	"testing"
)

func TestSampleRoundTrip(t *testing.T) {
	for _, s := range []Sample{
		{Kind: SampleSent, Stream: 1, Seq: 2, Due: 3, Sent: 4},
		{Kind: SampleReceived, Stream: math.MaxUint32, Sub: math.MaxUint32, Seq: maxSampleSeq, Due: math.MaxInt64, Sent: math.MinInt64, Received: -1, Kernel: 1},
		{Kind: SampleForeign},
	} {
		b := s.Append(nil)
		if len(b) != SampleSize {
			t.Fatalf("encoded length %d, want %d", len(b), SampleSize)
		}
		var got Sample
		if err := got.Decode(b); err != nil || got != s {
			t.Errorf("decoded %+v, %v; want %+v", got, err, s)
		}
	}
}

func TestSampleDecodeRefuses(t *testing.T) {
	var s Sample
	good := (&Sample{Kind: SampleSent}).Append(nil)
	if err := s.Decode(good[:SampleSize-1]); !errors.Is(err, errSampleSize) {
		t.Errorf("short record: %v", err)
	}
	for _, kind := range []byte{0, byte(SampleForeign) + 1, 255} {
		good[15] = kind
		if err := s.Decode(good); !errors.Is(err, errSampleKind) {
			t.Errorf("kind %d: %v", kind, err)
		}
	}
}

func TestSampleKindNames(t *testing.T) {
	if got := SampleCorrupt.String() + " " + SampleKind(0).String() + " " + SampleKind(99).String(); got != "corrupt kind(0) kind(99)" {
		t.Error(got)
	}
}

func TestSampleCodecDoesNotAllocate(t *testing.T) {
	s, b := Sample{Kind: SampleSent, Seq: 1}, make([]byte, 0, SampleSize)
	if n := testing.AllocsPerRun(100, func() {
		b = s.Append(b[:0])
		if err := s.Decode(b); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzSampleReader(f *testing.F) {
	f.Add([]byte(sampleHeader))
	f.Add((&Sample{Kind: SampleAcked, Seq: 7}).Append([]byte(sampleHeader)))
	f.Add([]byte("mqlab"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := NewSampleReader(bytes.NewReader(in))
		if err != nil {
			return
		}
		out := []byte(sampleHeader)
		var s Sample
		for err = r.Next(&s); err == nil; err = r.Next(&s) {
			out = s.Append(out)
		}
		if !bytes.HasPrefix(in, out) {
			t.Fatalf("re-encoding differs from what was read")
		}
		if errors.Is(err, io.EOF) && len(in)-len(out) >= SampleSize {
			t.Fatalf("stopped with %d bytes left", len(in)-len(out))
		}
	})
}

func TestSampleQueueKeepsEverythingInOrder(t *testing.T) {
	var file bytes.Buffer
	q, err := NewSampleQueue(&file)
	if err != nil {
		t.Fatal(err)
	}
	const each = 3*chunkRecords + 7
	producers := []*SampleProducer{q.Producer(), q.Producer()}
	done := make(chan struct{})
	for i, p := range producers {
		go func() {
			for seq := range uint64(each) {
				p.Record(&Sample{Kind: SampleSent, Stream: uint32(i), Seq: seq})
				if seq%500 == 0 {
					p.Flush()
				}
			}
			done <- struct{}{}
		}()
	}
	<-done
	<-done
	if err := q.Close(); err != nil || q.Dropped() != 0 {
		t.Fatalf("%v, %d dropped", err, q.Dropped())
	}
	next := make([]uint64, len(producers))
	r, err := NewSampleReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	var s Sample
	for err = r.Next(&s); err == nil; err = r.Next(&s) {
		if s.Seq != next[s.Stream] {
			t.Fatalf("stream %d: sequence %d, want %d", s.Stream, s.Seq, next[s.Stream])
		}
		next[s.Stream]++
	}
	if !errors.Is(err, io.EOF) || next[0] != each || next[1] != each {
		t.Fatalf("%v after %d", err, next)
	}
}

// stuckWriter takes the header and then blocks until it is released.
type stuckWriter struct {
	bytes.Buffer
	release chan struct{}
}

func (w *stuckWriter) Write(b []byte) (int, error) {
	if w.Len() > 0 {
		<-w.release
	}
	return w.Buffer.Write(b)
}

func TestSampleQueueCountsWhatItDrops(t *testing.T) {
	w := &stuckWriter{release: make(chan struct{})}
	q, err := NewSampleQueue(w)
	if err != nil {
		t.Fatal(err)
	}
	p := q.Producer()
	total := uint64(2*chunkQueue*chunkRecords + 5)
	for seq := range total {
		p.Record(&Sample{Kind: SampleSent, Seq: seq})
	}
	close(w.release)
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	written := uint64(w.Len()/SampleSize - 1)
	if q.Dropped() == 0 || written+q.Dropped() != total {
		t.Errorf("%d written + %d dropped, want %d", written, q.Dropped(), total)
	}
}

type failingWriter struct{ left int }

func (w *failingWriter) Write(b []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, errors.New("disk full")
	}
	return len(b), nil
}

func TestSampleQueueReportsAFailedDisk(t *testing.T) {
	q, err := NewSampleQueue(&failingWriter{left: 1})
	if err != nil {
		t.Fatal(err)
	}
	p := q.Producer()
	for seq := range uint64(chunkRecords + 3) {
		p.Record(&Sample{Kind: SampleSent, Seq: seq})
	}
	if err := q.Close(); err == nil || q.Dropped() != chunkRecords+3 {
		t.Errorf("error %v, %d dropped", err, q.Dropped())
	}
	if _, err := NewSampleQueue(&failingWriter{}); err == nil {
		t.Error("no error from a disk that does not take the header")
	}
}

func BenchmarkSampleRecord(b *testing.B) {
	q, err := NewSampleQueue(io.Discard)
	if err != nil {
		b.Fatal(err)
	}
	p, s := q.Producer(), Sample{Kind: SampleReceived, Due: 1, Sent: 2, Received: 3}
	for b.Loop() {
		p.Record(&s)
	}
	if err := q.Close(); err != nil {
		b.Fatal(err)
	}
}

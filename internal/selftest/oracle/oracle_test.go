package oracle_test

import (
	"bytes"
	"testing"

	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/selftest/oracle"
)

func received(seq uint64, at int64) oracle.Record {
	due := 100 + int64(seq)*10
	return oracle.Record{Kind: oracle.Received, Seq: seq, Due: due, Sent: due + 1, Received: at}
}

func sent(n uint64) (records []oracle.Record) {
	for seq := range n {
		due := 100 + int64(seq)*10
		records = append(records, oracle.Record{Kind: oracle.Sent, Seq: seq, Due: due, Sent: due + 1})
	}
	return records
}

func TestRecount(t *testing.T) {
	records := append(sent(10),
		received(0, 105), received(1, 115), received(1, 116), // twice
		received(3, 140), received(2, 141), // swapped
		oracle.Record{Kind: oracle.Corrupt}, oracle.Record{Kind: oracle.Foreign}, // 4 is damaged
		received(6, 170), received(7, 175), received(5, 260), // 5 late by two
		received(20, 320), // nobody sent it
		oracle.Record{Kind: oracle.Acked, Seq: 1, Due: 110},
		oracle.Record{Kind: oracle.Received, Seq: 99, Due: 5000}, // outside
	)
	c := oracle.Recount(records, oracle.Window{From: 100, To: 1000, Fan: 1})
	type counts struct{ sent, acked, expected, received, delivered, lost, twice, reordered, most, corrupt, foreign, unknown uint64 }
	got := counts{c.Sent, c.Acked, c.Expected, c.Received, c.Delivered, c.Lost, c.Duplicates, c.Reordered, c.MaxReorder, c.Corrupt, c.Foreign, c.Unknown}
	if want := (counts{10, 1, 10, 9, 8, 2, 1, 2, 2, 1, 1, 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if p50, ok := c.Response(0.5); !ok || p50 != 10 {
		t.Errorf("p50 is %d (%v), want 10", p50, ok)
	}
	if _, ok := c.Response(0.99); ok {
		t.Error("p99 is known although it falls among the lost")
	}
	if c.Above(19) != 3 || c.ServiceAbove(19) != 2 || c.Longest() != 110 {
		t.Errorf("above 19: %d by response, %d by service; longest %d", c.Above(10), c.ServiceAbove(10), c.Longest())
	}
}

func TestReadsWhatRunWrites(t *testing.T) {
	var file bytes.Buffer
	q, err := run.NewSampleQueue(&file)
	if err != nil {
		t.Fatal(err)
	}
	p := q.Producer()
	want := oracle.Record{Kind: oracle.Received, Stream: 1 << 31, Sub: 7, Seq: 1<<56 - 1, Due: -5, Sent: 1 << 62, Received: 9}
	p.Record(&run.Sample{
		Kind: run.SampleReceived, Stream: want.Stream, Sub: want.Sub, Seq: want.Seq, Due: want.Due, Sent: want.Sent, Received: 9, Kernel: 8,
	})
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := oracle.Read(&file)
	if err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("mqlab-samples version=1 record=48 byte-order=le\n"))
	f.Add(make([]byte, 96))
	f.Fuzz(func(t *testing.T, b []byte) {
		records, err := oracle.Read(bytes.NewReader(b))
		if err == nil && len(records) != len(b)/48-1 {
			t.Errorf("%d records in %d bytes", len(records), len(b))
		}
		oracle.Recount(records, oracle.Window{From: -1 << 63, To: 1<<63 - 1, Fan: 1})
	})
}

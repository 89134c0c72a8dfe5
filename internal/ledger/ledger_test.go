package ledger

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/hist"
)

// numbered returns counts in which every field is different.
func numbered(offset uint64) (c Counts) {
	v := reflect.ValueOf(&c).Elem()
	for i := range v.NumField() {
		v.Field(i).SetUint(uint64(i) + offset)
	}
	return c
}

func TestCountsAddEveryField(t *testing.T) {
	c, o := numbered(1), numbered(1000)
	c.Add(&o)
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		want := uint64(i+1) + uint64(i+1000)
		if v.Type().Field(i).Name == "MaxReorder" {
			want = uint64(i + 1000)
		}
		if got := v.Field(i).Uint(); got != want {
			t.Errorf("%s = %d, want %d", v.Type().Field(i).Name, got, want)
		}
	}
	smaller := Counts{MaxReorder: 1}
	if c.Add(&smaller); c.MaxReorder == 1 {
		t.Error("the largest distance became smaller")
	}
}

func TestWindowMerge(t *testing.T) {
	one := func(v int64) *hist.Hist {
		h := new(hist.Hist)
		h.Record(v)
		return h
	}
	a := Window{Group: "g", Phase: "measure", Start: 1e9, End: 2e9, Counts: Counts{Sent: 1}, InWindow: InWindow{1, 2, 3, 4, 5, 6, 7}}
	a.Hists[Response] = one(10)
	a.Hists[Ack] = one(7)
	b := Window{Group: "h", Phase: "drain", Start: 2e9, End: 3e9, Counts: Counts{Sent: 2, MaxReorder: 4}, InWindow: InWindow{10, 20, 30, 40, 50, 60, 70}}
	b.Hists[Response] = one(20)
	b.Hists[Service] = one(5)
	var sum Window
	sum.Merge(&a)
	sum.Merge(&b)
	sum.Merge(&Window{})
	if sum.Start != 1e9 || sum.End != 3e9 || sum.Group != "" {
		t.Errorf("%q from %d to %d", sum.Group, sum.Start, sum.End)
	}
	if sum.Counts != (Counts{Sent: 3, MaxReorder: 4}) || sum.InWindow != (InWindow{11, 22, 33, 44, 55, 66, 77}) {
		t.Errorf("counts %+v, in window %+v", sum.Counts, sum.InWindow)
	}
	for m, want := range map[Metric]int64{Response: 2, Service: 1, Ack: 1} {
		if sum.Hists[m] == nil || sum.Hists[m].Count() != want {
			t.Errorf("%v: want %d values", m, want)
		}
	}
	if sum.Hists[Kernel] != nil {
		t.Error("a histogram out of nothing")
	}
	sum.Hists[Service].Record(1)
	if a.Hists[Response].Count() != 1 || b.Hists[Service].Count() != 1 {
		t.Error("merging shares a histogram")
	}
}

func TestWindowJSON(t *testing.T) {
	w := Window{Group: "g", Phase: "warmup", Start: -1e9, Counts: Counts{Sent: 3, UndeliveredUnsent: 1}, InWindow: InWindow{BytesOut: 9}}
	w.Hists[Response] = hist.New()
	b, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"group":"g","start_ns":-1000000000,"end_ns":0,"phase":"warmup","counts":{"sent":3,"undelivered_unsent":1},"in_window":{"bytes_out":9}}`
	if string(b) != want {
		t.Errorf("%s\nwant %s", b, want)
	}
	var back Window
	if err := json.Unmarshal(b, &back); err != nil || back.Counts != w.Counts || back.InWindow != w.InWindow || back.Start != w.Start {
		t.Errorf("%+v, %v", back, err)
	}
	if b, err := json.Marshal(numbered(1)); err != nil || strings.Count(string(b), ":") != reflect.TypeFor[Counts]().NumField() {
		t.Errorf("%s, %v", b, err)
	}
}

func TestMetricNames(t *testing.T) {
	for m := range NumMetrics {
		if got, ok := ParseMetric(m.String()); !ok || got != m || m.String() == "" {
			t.Errorf("%d: %q becomes %v, %v", m, m, got, ok)
		}
	}
	if _, ok := ParseMetric("latency"); ok || NumMetrics.String() != "unknown" || Outcome(9).String() != "unknown" || Overflow.String() != "overflow" {
		t.Error("unknown names")
	}
}

// BenchmarkRecord is the whole recording of one received message, without reading the clock.
func BenchmarkRecord(b *testing.B) {
	var tr Tracker
	var c Counts
	var in InWindow
	response, service := hist.New(), hist.New()
	due := int64(1_000_000_000_000)
	b.ReportAllocs()
	for i := uint64(0); b.Loop(); i++ {
		sent := due + int64(i&1023)
		received := sent + 50_000 + int64(i*2654435761>>8&0xffff)
		o, distance := tr.Record(i)
		c.Received++
		in.Received++
		in.BytesIn += 1024
		switch o {
		case New:
			c.Delivered++
		case Reordered:
			c.Delivered++
			c.Reordered++
			c.MaxReorder = max(c.MaxReorder, distance)
		case Duplicate:
			c.Duplicates++
			continue
		case Overflow:
			c.Overflow++
			continue
		}
		if !response.Record(received-due) || !service.Record(received-sent) {
			c.ClockSkew++
		}
		due += 1000
	}
	if c.Delivered != uint64(response.Count()) || c.Delivered != c.Received {
		b.Fatal("not every message was recorded")
	}
}

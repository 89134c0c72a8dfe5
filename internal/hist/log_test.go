package hist

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

var origin = time.UnixMilli(1_790_000_000_123)

func writeLog(t testing.TB, intervals []Interval) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewLogWriter(&b, origin)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range intervals {
		if err := w.Write(i.Tag, i.Start, i.End, i.Hist); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func someIntervals() []Interval {
	const second = int64(time.Second)
	return []Interval{
		{"", -2 * second, -second, record(new(Hist), values(1, 30))},
		{"warm", -second, 0, new(Hist)},
		{"a.b-c", 0, second, record(New(), values(2, 300))},
		{"", second, second + 500*int64(time.Millisecond), record(new(Hist), []int64{0, 0, 5, MaxValue, MaxValue + 1})},
	}
}

func checkIntervals(t *testing.T, got, want []Interval) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d intervals, want %d", len(got), len(want))
	}
	for n, i := range got {
		w := want[n]
		if i.Tag != w.Tag || i.Start != w.Start || i.End != w.End || !same(i.Hist, w.Hist) || i.Hist.Overflow() != w.Hist.Overflow() {
			t.Errorf("interval %d: %q %d to %d count %d, want %q %d to %d count %d", n, i.Tag, i.Start, i.End, i.Hist.Count(), w.Tag, w.Start, w.End, w.Hist.Count())
		}
	}
}

func TestLogRoundTrip(t *testing.T) {
	want := someIntervals()
	got, err := ReadLog(bytes.NewReader(writeLog(t, want)))
	if err != nil {
		t.Fatal(err)
	}
	checkIntervals(t, got, want)
}

func TestHdrHistogramReadsOurLog(t *testing.T) {
	want := someIntervals()
	r := hdrhistogram.NewHistogramLogReader(bytes.NewReader(writeLog(t, want)))
	for n, w := range want {
		o, err := r.NextIntervalHistogram()
		if err != nil || o == nil {
			t.Fatalf("interval %d: %v, %v", n, o, err)
		}
		text, err := w.Hist.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		direct, err := hdrhistogram.Decode(text)
		if err != nil || !direct.Equals(o) {
			t.Errorf("interval %d differs from its histogram alone (%v)", n, err)
		}
		start := origin.UnixMilli() + w.Start/1e6
		if d := o.StartTimeMs() - start; d < -1 || d > 1 { // their conversion from seconds truncates
			t.Errorf("interval %d starts at %d ms, want %d", n, o.StartTimeMs(), start)
		}
		if o.Tag() != w.Tag || o.TotalCount() != w.Hist.Count() || o.Max() != w.Hist.Max() || o.Min() != w.Hist.Min() {
			t.Errorf("interval %d: %q count %d max %d, want %q %d %d", n, o.Tag(), o.TotalCount(), o.Max(), w.Tag, w.Hist.Count(), w.Hist.Max())
		}
	}
	if o, err := r.NextIntervalHistogram(); o != nil || err != nil {
		t.Errorf("after the last: %v, %v", o, err)
	}
}

func TestWeReadHdrHistogramsLog(t *testing.T) {
	for _, relative := range []bool{false, true} {
		var b bytes.Buffer
		w := hdrhistogram.NewHistogramLogWriter(&b)
		start := int64(1_790_000_000_000) // their header has whole seconds
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(w.OutputLogFormatVersion())
		must(w.OutputComment("anything, even, with, commas"))
		must(w.OutputStartTime(start))
		if relative {
			w.SetBaseTime(start)
			must(w.OutputBaseTime(start))
		}
		must(w.OutputLegend())
		var want []Interval
		for n := range int64(3) {
			vs := values(uint64(n), 1000)
			o := oracle(vs)
			o.SetStartTimeMs(start + 1000*n + 7)
			o.SetEndTimeMs(start + 1000*n + 1007)
			o.SetTag([]string{"", "x", "yz"}[n])
			must(w.OutputIntervalHistogram(o))
			want = append(want, Interval{o.Tag(), (1000*n + 7) * 1e6, (1000*n + 1007) * 1e6, record(new(Hist), vs)})
		}
		got, err := ReadLog(&b)
		must(err)
		checkIntervals(t, got, want)
	}
}

// The lines are of a log written by the Java implementation: relative times, histograms with other slots.
func TestForeignLog(t *testing.T) {
	const log = "#[Logged with jHiccup version 2.0.7-SNAPSHOT]\n#[Histogram log format version 1.2]\n" +
		"#[StartTime: 1441812279.474 (seconds since epoch), Wed Sep 09 08:24:39 PDT 2015]\r\n" +
		"\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\r\n\n" +
		"0.127,1.007,2.769,HISTFAAAAEV42pNpmSzMwMCgyAABTBDKT4GBgdnNYMcCBvsPEBEJISEuATEZMQ4uASkhIR4nrxg9v2lMaxhvMekILGZkKmcCAEf2CsI=\r\n" +
		"Tag=A,1.134,0.999,0.442,HISTFAAAAEJ42pNpmSzMwMAgxwABTBDKT4GBgdnNYMcCBvsPEBEWLj45FTExAT4pBSEBKa6UkAgBi1uM7xjfMMlwMDABAC0CCjM="
	got, err := ReadLog(strings.NewReader(log))
	if err != nil || len(got) != 2 {
		t.Fatalf("%d intervals, %v", len(got), err)
	}
	if i := got[1]; i.Tag != "A" || i.Start != 1134*1e6 || i.End != 2133*1e6 {
		t.Errorf("%q from %d to %d", i.Tag, i.Start, i.End)
	}
	for n, largest := range []float64{2.769, 0.442} {
		if ms := float64(got[n].Hist.Max()) / maxValueUnit; ms > largest || ms < largest-0.017 { // their slots are at least 16,384 ns wide
			t.Errorf("interval %d: largest value %v ms, want the start of the slot that ends at %v", n, ms, largest)
		}
	}
	o, err := hdrhistogram.Decode([]byte("HISTFAAAAEV42pNpmSzMwMCgyAABTBDKT4GBgdnNYMcCBvsPEBEJISEuATEZMQ4uASkhIR4nrxg9v2lMaxhvMekILGZkKmcCAEf2CsI="))
	if err != nil || got[0].Hist.Count() != o.TotalCount() {
		t.Errorf("count %d, want %d (%v)", got[0].Hist.Count(), o.TotalCount(), err)
	}
}

func TestCutLogKeepsWholeLines(t *testing.T) {
	want := someIntervals()
	whole := writeLog(t, want)
	for n := range len(whole) {
		complete := max(0, bytes.Count(whole[:n], []byte("\n"))-3)
		got, err := ReadLog(bytes.NewReader(whole[:n]))
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		if whole[n] == '\n' && n > 0 && complete < len(want) && len(got) == complete+1 {
			continue // all but the line break is there
		}
		checkIntervals(t, got, want[:complete])
	}
}

func TestBadLog(t *testing.T) {
	good := string(writeLog(t, someIntervals()))
	for name, log := range map[string]string{
		"field missing": "1.0,1.0,2.0\n",
		"no number":     "x,1.0,2.0,HISTFAAA\n",
		"no histogram":  "1.0,1.0,2.0,\n",
		"tag alone":     "Tag=a\n",
		"start time":    "#[StartTime: soon]\n",
		"huge time":     "1e300,1,1,HISTFAAA\n",
		"not a time":    "NaN,1,1,HISTFAAA\n",
	} {
		if _, err := ReadLog(strings.NewReader(log + good)); err == nil || !strings.Contains(err.Error(), "line 1:") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ReadLog(io.MultiReader(strings.NewReader(good), errReader{})); !errors.Is(err, errBroken) {
		t.Errorf("broken reader: %v", err)
	}
}

var errBroken = errors.New("broken")

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errBroken }

func TestLogWriterRefuses(t *testing.T) {
	w, err := NewLogWriter(io.Discard, origin)
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range []string{"a,b", "a b", "a\nb", "\r"} {
		if w.Write(tag, 0, 1, new(Hist)) == nil {
			t.Errorf("tag %q", tag)
		}
	}
	if w.Write("", 5e9, 1e9, new(Hist)) == nil {
		t.Error("an interval that ends before it starts")
	}
	if w.Write("", math.MinInt64, 0, new(Hist)) == nil {
		t.Error("an interval before 1970")
	}
}

func TestEncodedFormAgreesWithHdrHistogram(t *testing.T) {
	for seed := range uint64(60) {
		vs := values(seed, int(seed*seed))
		h, o := record(new(Hist), vs), oracle(vs)
		if seed%3 == 0 {
			for shift := range 62 {
				h.RecordN(int64(shift), 1<<shift)
				if err := o.RecordValues(int64(shift), 1<<shift); err != nil {
					t.Fatal(err)
				}
			}
		}
		text, err := h.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		d, err := hdrhistogram.Decode(text)
		if err != nil || !d.Equals(o) {
			t.Fatalf("seed %d: they read something else than we wrote (%v)", seed, err)
		}
		theirs, err := o.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			t.Fatal(err)
		}
		back := record(new(Hist), []int64{1, 2, 3})
		if err := back.UnmarshalText(theirs); err != nil || !same(back, h) {
			t.Fatalf("seed %d: we read something else than they wrote (%v)", seed, err)
		}
	}
}

func TestOtherLayoutsKeepCountsAndValues(t *testing.T) {
	for _, layout := range []struct {
		lowest int64
		digits int
	}{{1, 1}, {20_000, 2}, {1000, 3}, {1000, 4}, {1, 5}} {
		o := hdrhistogram.New(layout.lowest, MaxValue, layout.digits)
		rng := rand.New(rand.NewPCG(uint64(layout.digits), 1))
		for range 2000 {
			if err := o.RecordValue(int64(math.Exp(rng.Float64() * math.Log(float64(MaxValue))))); err != nil {
				t.Fatal(err)
			}
		}
		text, err := o.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			t.Fatal(err)
		}
		h := new(Hist)
		if err := h.UnmarshalText(text); err != nil {
			t.Fatal(err)
		}
		want := new(Hist)
		for _, bar := range o.Distribution() {
			want.RecordN(bar.From, bar.Count)
		}
		if !same(h, want) || h.Count() != 2000 {
			t.Errorf("%+v: %d counts, or in other slots", layout, h.Count())
		}
	}
}

func FuzzUnmarshalText(f *testing.F) {
	for _, i := range someIntervals() {
		text, err := i.Hist.MarshalText()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("HISTFAAAAEJ42pNpmSzMwMAgxwABTBDKT4GBgdnNYMcCBvsPEBEWLj45FTExAT4pBSEBKa6UkAgBi1uM7xjfMMlwMDABAC0CCjM="))
	f.Fuzz(func(t *testing.T, text []byte) {
		h := new(Hist)
		if h.UnmarshalText(text) != nil {
			return
		}
		again, err := h.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		back := new(Hist)
		if err := back.UnmarshalText(again); err != nil || !same(back, h) {
			t.Fatalf("not the same after a round trip: %v", err)
		}
	})
}

// The fuzzer cannot guess compressed data; this one starts behind the decompression.
func FuzzReadCounts(f *testing.F) {
	f.Add(uint32(3), uint64(1), []byte{0x02, 0x03, 0x04, 0x00, 0x7f})
	f.Add(uint32(0), uint64(1)<<62, bytes.Repeat([]byte{0xff}, 40))
	f.Fuzz(func(t *testing.T, digits uint32, low uint64, payload []byte) {
		var e encoder
		if _, err := e.append(nil, new(Hist)); err != nil {
			t.Fatal(err)
		}
		header := bytes.Clone(e.plain[:headerSize])
		copy(header[12:], []byte{byte(digits >> 24), byte(digits >> 16), byte(digits >> 8), byte(digits)})
		for i := range 8 {
			header[16+i] = byte(low >> (56 - 8*i))
		}
		g, _, err := readHeader(header)
		if err != nil {
			return
		}
		h, err := g.readCounts(payload)
		if err != nil {
			return
		}
		total := int64(0)
		h.each(func(_ int, n int64) bool {
			total += n
			return n > 0
		})
		if total != h.Count() || h.Count() < 0 {
			t.Fatalf("slots hold %d, count is %d", total, h.Count())
		}
	})
}

func FuzzReadLog(f *testing.F) {
	f.Add(writeLog(f, someIntervals()))
	f.Add([]byte("#[StartTime: 1\n#[BaseTime: 2\nTag=x,1,2,3,\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, _ := ReadLog(bytes.NewReader(b))
		for _, i := range all {
			if i.Hist == nil || i.Hist.Count() < 0 {
				t.Fatal("an interval without a sound histogram")
			}
		}
	})
}

func BenchmarkLogWriter(b *testing.B) {
	w, err := NewLogWriter(io.Discard, origin)
	if err != nil {
		b.Fatal(err)
	}
	h := record(New(), values(5, 10_000))
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Write("", 0, 1e9, h); err != nil {
			b.Fatal(err)
		}
	}
}

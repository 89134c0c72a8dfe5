package chart

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// examples are one drawing for each kind of chart and each thing that a kind can show.
func examples() map[string]string {
	ms := func(v float64) string { return strconv.FormatFloat(v/1e6, 'f', 2, 64) + " ms" }
	return map[string]string{
		"percentiles": (&Percentiles{
			Labels: Labels{"Response time by percentile", "Three subjects; of one some messages were lost."},
			Y:      Axis{"response time", Duration, ms},
			Curves: []Curve{
				{Name: "nats", Points: curve(100e3, 50000, 0), Expected: 50000},
				{Name: "mosquitto", Points: curve(160e3, 50000, 300), Expected: 50000, Lost: true},
				{Name: "mochi:tuned/mqtt311", Points: curve(400e3, 50000, 310), Expected: 50000, Lost: true},
			},
		}).SVG(),
		"heatmap": (&HeatMap{
			Labels: Labels{"Response time of mosquitto", "A pause of two seconds."},
			Y:      Axis{"response time", Duration, ms}, Columns: stalled(), Phases: phases(),
			Marks: []Mark{{"paused", 4, 6}, {"disconnect", 6.1, 0}, {"disconnect", 6.15, 0}, {"broker exit", 9.5, 0}}, From: -2, To: 11,
		}).SVG(),
		"timeline": (&Timeline{
			Labels: Labels{"Messages per second", "Offered, sent and delivered."}, Y: Axis{Name: "messages per second"},
			Series: []Series{{"offered", line(-2, 10, 1000, 0)}, {"sent", line(-2, 10, 998, 20)}, {"delivered", gap(line(-2, 10, 900, 300))}},
			Phases: phases(), Marks: []Mark{{"paused", 4, 6}},
		}).SVG(),
		"memory": (&Timeline{
			Labels: Labels{"Memory", ""}, Y: Axis{Name: "memory", Ticks: Bytes},
			Series: []Series{{"broker", line(0, 3000, 70<<20, 4<<20)}, {"generator", line(0, 3000, 20<<20, 1<<20)}},
		}).SVG(),
		"bars": (&Bars{
			Labels: Labels{"Response p50", "Median and 95 % interval."}, X: Axis{Name: "response p50", Ticks: Duration},
			Bars: []Bar{
				{"mosquitto", 160e3, 150e3, 190e3, "160 µs (150–190 µs)"},
				{"mqtts://a-broker-with-quite-a-long-name.example.com:8883/mqtt311", 900e3, 700e3, 1200e3, "900 µs (700–1,200 µs)"},
				{"artemis/amqp10", math.NaN(), math.NaN(), math.NaN(), "lost"},
				{"nats", 100e3, math.NaN(), math.NaN(), "100 µs"},
			},
		}).SVG(),
		"stack": (&Stack{
			Labels: Labels{"Where the time goes", "Three clients."}, X: Axis{"time of a single message", Duration, ms},
			Parts: []string{"network and kernel", "wake-up", "parse and dispatch", "callback", "not told apart"},
			Piles: []Pile{
				{"c-libmosquitto", []float64{8e3, 18e3, 6e3, 60, math.NaN()}, "32 µs"},
				{"a-client-with-a-name-that-is-much-too-long-to-be-shown-as-a-whole-here", []float64{9e3, 20e3, 70e3, 1e3, 0}, "100 µs"},
				{"node-mqttjs", []float64{math.NaN(), math.NaN(), math.NaN(), 2e3, 60e3}, "62 µs"},
			},
		}).SVG(),
		"sweep": (&Sweep{
			Labels: Labels{"Work per message", "By payload."}, X: Axis{"payload", Bytes, nil}, Y: Axis{"work per message", Duration, ms},
			Lines: []Series{
				{"c-floor", []Point{{50, 150}, {256, 250}, {1024, 840}, {10240, 5.1e3}, {102400, 48e3}, {1 << 20, 506e3}}},
				{"c-libmosquitto", []Point{{50, 2.6e3}, {256, 3.3e3}, {1024, 3.6e3}, {10240, math.NaN()}, {102400, 68e3}, {1 << 20, 592e3}}},
			}, High: 2e6,
		}).SVG(),
		"jitter": (&Jitter{
			Labels: Labels{"Jitter", "A client that sleeps."}, Y: Axis{"round trip", Duration, ms},
			Reaches: []Reach{{0, 1, 0.3e6, 0.4e6, 1.1e6, false}, {1, 2, 0.3e6, 10e6, 20e6, true}, {2, 3, math.NaN(), math.NaN(), math.NaN(), true}, {3, 4, 9e6, 20e6, 21e6, false}},
			Bins:    []Bin{{0.3e6, 0.5e6, 50}, {0.5e6, 1.2e6, 3}, {9e6, 11e6, 20}, {19e6, 21e6, 30}},
			Levels:  []Level{{0.4e6, "0.4 ms (51 %)"}, {10e6, "10 ms (20 %)"}, {20e6, "20 ms (29 %)"}},
			Marks:   []Mark{{"gc_pause", 1.2, 1.4}, {"host_noise", 3.1, 3.1}},
		}).SVG(),
		"correlogram": (&Correlogram{
			Labels: Labels{"Rhythm", "Every third."}, Step: 0.1, Values: []float64{-0.1, -0.2, 0.8, -0.1, math.NaN(), 0.6, 0.02, -0.1}, Bound: 0.15,
			Peaks: []Level{{0.3, "300 ms"}, {0.6, "600 ms"}},
		}).SVG(),
		"saturation": (&Saturation{
			Labels: Labels{"Saturation", "Two subjects."}, Latency: "response p99",
			Paths: []Path{
				{"nats", []Load{{10000, 10000, 100e3}, {20000, 20000, 110e3}, {40000, 39500, 400e3}, {80000, 47000, 80e6}}, 40000, 45000, Point{80000, 47000}},
				{"mosquitto", []Load{{10000, 10000, 150e3}, {20000, 19900, 2e6}, {40000, 22000, math.NaN()}, {80000, 20000, math.NaN()}}, 10000, 21000, Point{40000, 22000}},
			},
		}).SVG(),
	}
}

// curve is the percentile curve of n messages around a median, of which the last lost ones are unknown.
func curve(median float64, n, lost int) (points []Point) {
	for _, q := range []float64{0.001, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.993, 0.995, 0.999, 0.9995, 0.9999, 1} {
		if q <= 1-float64(lost)/float64(n) {
			points = append(points, Point{q, median * math.Pow(10, 0.2*nines(min(q, 0.99999)))})
		}
	}
	return points
}

// stalled is ten seconds of latencies, with a stall from 4 to 6.
func stalled() (columns []Column) {
	for s := range 10 {
		c := Column{From: float64(s), To: float64(s + 1)}
		for v := 100e3; v < 1e6 && (s < 4 || s > 5); v *= 1.2 {
			c.Buckets = append(c.Buckets, Bucket{v, int64(1e8 / v)})
		}
		for v := 1e8; v < 2e9 && s == 6; v *= 1.2 {
			c.Buckets = append(c.Buckets, Bucket{v, 3})
		}
		columns = append(columns, c)
	}
	return columns
}

func phases() []Phase {
	return []Phase{{"warm-up", -2, 0, false}, {"measure", 0, 10, true}, {"drain", 10, 10.4, false}}
}

func line(from, to int, v, spread float64) (points []Point) {
	rng := rand.New(rand.NewPCG(1, uint64(to)))
	for s := from; s < to; s++ {
		points = append(points, Point{float64(s) + 0.5, v + spread*rng.NormFloat64()})
	}
	return points
}

func gap(p []Point) []Point {
	p[5].Y, p[8].Y = math.NaN(), math.NaN()
	return p
}

func TestGolden(t *testing.T) {
	for name, got := range examples() {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", name+".svg")
			if *update {
				if err := os.WriteFile(file, []byte(got+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got+"\n" != string(want) {
				t.Errorf("differs from %s; if that is meant, go test ./internal/chart -update", file)
			}
			checkLayout(t, got)
		})
	}
}

func TestLost(t *testing.T) {
	svg := examples()["percentiles"]
	if n := strings.Count(svg, ">lost: "); n != 2 {
		t.Errorf("%d curves are marked as lost, want 2", n)
	}
	if n := strings.Count(svg, `class="x"`); n != 2 {
		t.Errorf("%d curves end with a cross, want 2", n)
	}
}

func TestNothingToDraw(t *testing.T) {
	nan := math.NaN()
	for name, svg := range map[string]string{
		"percentiles": (&Percentiles{Curves: []Curve{{Name: "a"}}}).SVG(),
		"heat map":    (&HeatMap{Columns: []Column{{From: 0, To: 1}}}).SVG(),
		"timeline":    (&Timeline{Series: []Series{{"a", []Point{{1, nan}}}}}).SVG(),
		"bars":        (&Bars{Bars: []Bar{{"a", nan, nan, nan, "lost"}}}).SVG(),
		"saturation":  (&Saturation{Paths: []Path{{"a", nil, nan, nan, Point{nan, nan}}}}).SVG(),
	} {
		if svg != "" {
			t.Errorf("%s: drew %s", name, svg)
		}
	}
}

func TestEscape(t *testing.T) {
	const evil = `<script>alert("1")</script>` + "\x00"
	svg := (&Timeline{Labels: Labels{evil, evil}, Y: Axis{Name: evil}, Series: []Series{{evil, line(0, 3, 1, 0)}}, Phases: []Phase{{evil, 0, 3, false}}, Marks: []Mark{{evil, 1, 0}}}).SVG()
	if strings.Contains(svg, "<script") {
		t.Error("a name became an element")
	}
	checkWellFormed(t, svg)
}

func TestThinKeepsPeaks(t *testing.T) {
	var spots []spot
	for i := range 10000 {
		spots = append(spots, spot{x: float64(i) / 100, y: 50})
	}
	spots[4321].y, spots[8765].y = 3, 97
	got := thin(spots, 1)
	if len(got) > 400 {
		t.Errorf("%d spots are left", len(got))
	}
	var low, high bool
	for i, s := range got {
		low, high = low || s.y == 97, high || s.y == 3
		if i > 0 && s.x <= got[i-1].x {
			t.Fatalf("spot %d is not behind the one before", i)
		}
	}
	if !low || !high {
		t.Error("a peak was lost")
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		ticks  Ticks
		lo, hi float64
		want   string
	}{
		{Plain, 0, 1000, "0 200 400 600 800 1,000"},
		{Plain, 0, 1030, "0 500 1,000 1,500"},
		{Plain, -2, 11, "−5 0 5 10 15"},
		{Plain, 0, 0, "0 0.2 0.4 0.6 0.8 1"},
		{Bytes, 0, 70 << 20, "0 16 MiB 32 MiB 48 MiB 64 MiB 80 MiB"},
		{Bytes, 0, 3 << 30, "0 1 GiB 2 GiB 3 GiB"},
		{Duration, 0, 160e3, "0 50 µs 100 µs 150 µs 200 µs"},
		{Duration, 0, 2.2e9, "0 500 ms 1 s 1.5 s 2 s 2.5 s"},
	} {
		_, ticks := c.ticks.even(c.lo, c.hi, 5)
		if got := strings.Join(c.ticks.words(ticks), " "); got != c.want {
			t.Errorf("%g to %g: %s, want %s", c.lo, c.hi, got, c.want)
		}
	}
	for _, c := range []struct {
		lo, hi float64
		want   string
	}{
		{90e3, 2e9, "10 µs 100 µs 1 ms 10 ms 100 ms 1 s 10 s"},
		{110e3, 700e3, "100 µs 200 µs 500 µs 1 ms"},
		{1e6, 1e6, "1 ms 2 ms"},
		{1, 3.6e12, "1 ns 100 ns 10 µs 1 ms 100 ms 10 s 1,000 s"},
	} {
		_, ticks := logarithmic(c.lo, c.hi)
		if got := strings.Join(Duration.words(ticks), " "); got != c.want {
			t.Errorf("log %g to %g: %s, want %s", c.lo, c.hi, got, c.want)
		}
	}
}

func TestFraction(t *testing.T) {
	for q, want := range map[float64]string{0: "0 %", 0.5: "50 %", 0.9: "90 %", 0.99: "99 %", 0.994: "99.4 %", 0.9999: "99.99 %", 0.99999999: "99.999999 %", 1: "100 %"} {
		if got := fraction(q); got != want {
			t.Errorf("%v: %s, want %s", q, got, want)
		}
	}
}

// checkWellFormed parses the drawing and returns its texts.
func checkWellFormed(t *testing.T, svg string) (texts []box, words []string, height float64) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	var start *xml.StartElement
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return texts, words, height
		}
		if err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			start = &tok
			for _, a := range tok.Attr {
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Fatalf("%s=%q of <%s>", a.Name.Local, a.Value, tok.Name.Local)
				}
				if a.Name.Local == "viewBox" {
					if _, err := fmt.Sscanf(a.Value, "0 0 460 %f", &height); err != nil {
						t.Fatal(err)
					}
				}
			}
		case xml.CharData:
			if start != nil && start.Name.Local == "text" {
				b := textBox(start, string(tok))
				texts, words = append(texts, b), append(words, string(tok))
			}
		case xml.EndElement:
			start = nil
		}
	}
}

func textBox(e *xml.StartElement, s string) box {
	var x, y float64
	anchor := "start"
	for _, a := range e.Attr {
		switch a.Name.Local {
		case "x":
			x, _ = strconv.ParseFloat(a.Value, 64)
		case "y":
			y, _ = strconv.ParseFloat(a.Value, 64)
		case "text-anchor":
			anchor = a.Value
		}
	}
	return label(x, y, anchor, s)
}

// checkLayout fails where a text is cut or covers another one.
func checkLayout(t *testing.T, svg string) {
	t.Helper()
	texts, words, height := checkWellFormed(t, svg)
	for i, a := range texts {
		if a.w > 0 && (a.x < -1 || a.y < -1 || a.x+a.w > Width+1 || a.y+a.h > height+1) {
			t.Errorf("%q is cut: %+v", words[i], a)
		}
		for j := range i {
			if a.w > 0 && texts[j].w > 0 && a.meets(texts[j]) {
				t.Errorf("%q and %q overlap: %+v %+v", words[i], words[j], a, texts[j])
			}
		}
	}
}

func FuzzCharts(f *testing.F) {
	f.Add(1.0, 2.0, 3.0, "a", uint8(3))
	f.Add(math.NaN(), math.Inf(1), -1.0, "<b>&\xff", uint8(40))
	f.Add(0.0, 0.0, 0.0, strings.Repeat("long ", 40), uint8(1))
	f.Add(1.0, -20.0, 3.0, "0", uint8(3))
	f.Add(1e300, -1e300, 1e-300, "", uint8(9))
	f.Fuzz(func(t *testing.T, a, b, c float64, name string, n uint8) {
		var points []Point
		var loads []Load
		var buckets []Bucket
		for i := range int(n) {
			v := []float64{a, b, c, float64(i)}[i%4]
			points = append(points, Point{float64(i) * a, v})
			loads = append(loads, Load{v, b, c})
			buckets = append(buckets, Bucket{v, int64(i)})
		}
		l, y := Labels{name, name}, Axis{Name: name, Ticks: Ticks(n % 3)}
		phases, marks := []Phase{{name, a, b, false}, {"x", b, c, true}}, []Mark{{name, a, b}, {"m", c, 0}}
		for _, svg := range []string{
			(&Percentiles{l, y, []Curve{{name, points, int64(n), true}}}).SVG(),
			(&HeatMap{Labels: l, Y: y, Columns: []Column{{a, b, buckets}, {b, c, buckets}}, Phases: phases, Marks: marks, From: a, To: c}).SVG(),
			(&Timeline{Labels: l, Y: y, Series: []Series{{name, points}, {"o", points}}, Phases: phases, Marks: marks, Most: b}).SVG(),
			(&Bars{Labels: l, X: y, Higher: n%2 == 0, Bars: []Bar{{name, a, b, c, name}, {"b", b, a, c, ""}}}).SVG(),
			(&Saturation{l, name, Axis{}, []Path{{name, loads, a, b, Point{b, c}}}}).SVG(),
			(&Saturation{l, name, y, []Path{{name, loads, b, a, Point{c, a}}}}).SVG(),
			(&Stack{l, y, []string{name, "b"}, []Pile{{name, []float64{a, b, c}, name}, {"o", nil, ""}}}).SVG(),
			(&Jitter{l, y, []Reach{{a, b, c, a, b, true}, {0, 1, a, b, c, false}}, []Bin{{a, b, c}, {b, c, a}}, []Level{{a, name}, {b, name}}, marks}).SVG(),
			(&Correlogram{l, a, []float64{a, b, c}, b, []Level{{c, name}}}).SVG(),
			(&Sweep{Labels: l, X: y, Y: y, Lines: []Series{{name, points}, {"o", points}}, Low: a, High: b}).SVG(),
		} {
			checkWellFormed(t, svg)
		}
	})
}

package scenario

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestUnits(t *testing.T) {
	durations := map[string]time.Duration{
		"0": 0, "500ms": 500 * time.Millisecond, " 10 s ": 10 * time.Second, "1m30s": 90 * time.Second,
		"2h": 2 * time.Hour, "1.5s": 1500 * time.Millisecond, "50us": 50 * time.Microsecond, "7ns": 7,
	}
	for text, want := range durations {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("duration %q: %v, %v; want %v", text, got, err, want)
		}
	}
	sizes := map[string]int64{
		"0": 0, "64": 64, "64B": 64, "1KB": 1000, "1 KiB": 1024, "1.5KiB": 1536, "16KiB": 16384, "1MiB": 1 << 20,
		"1MB": 1e6, "0.25GiB": -1, "2GB": -1, "1kb": -1, "1K": -1, "0.3B": -1, "": -1, "x": -1, "-1B": -1,
	}
	for text, want := range sizes {
		if got, err := parseSize(text); (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("size %q: %v, %v; want %v", text, got, err, want)
		}
	}
	rates := map[string]Rate{
		"100/s": {PerSecond: 100}, "6000/m": {PerSecond: 100}, "3600/h": {PerSecond: 1}, "10/s each": {PerSecond: 10, Each: true},
		"0.5 / s": {PerSecond: 0.5}, "max": {Max: true}, "100": {}, "100/d": {}, "100s": {}, "max each": {}, "1/s eachh": {},
	}
	for text, want := range rates {
		if got, err := parseRate(text); (err != nil) != (want == Rate{}) || got != want {
			t.Errorf("rate %q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	if got, err := parseByteRate("64KiB/s"); err != nil || got != 65536 {
		t.Errorf("read rate: %d, %v", got, err)
	}
}

func TestRateTotal(t *testing.T) {
	if got := (Rate{PerSecond: 10, Each: true}).Total(7); got != 70 {
		t.Errorf("10/s each of 7 publishers: %v", got)
	}
	if got := (Rate{PerSecond: 10}).Total(7); got != 10 {
		t.Errorf("10/s in total: %v", got)
	}
}

func TestSuggest(t *testing.T) {
	known := []string{"rate", "retain", "publishers", "subscribers", "n"}
	for word, want := range map[string]string{
		"rte": "rate", "raet": "rate", "Rate": "rate", "publsihers": "publishers", "subscriber": "subscribers",
		"reatin": "retain", "colour": "", "x": "", "": "",
	} {
		got := Suggest(word, known)
		if want == "" && !strings.HasPrefix(got, "known: ") || want != "" && !strings.Contains(got, `"`+want+`"`) {
			t.Errorf("Suggest(%q) = %s; want %q", word, got, want)
		}
	}
	if got := Suggest("p9", []string{"p", "p90", "x9"}); got != `did you mean "p90"?` {
		t.Errorf("a beginning is not preferred: %s", got)
	}
}

// TestDefaultsAreValid finds a default that the file could not say.
func TestDefaultsAreValid(t *testing.T) {
	s := Decode("empty.yaml", nil)
	points, problems := s.Points()
	if len(problems) > 0 || len(points) != 1 {
		t.Fatalf("%d points; %v", len(points), problems)
	}
	if s.Name != "empty" || s.Repeat != DefaultRepeat || s.Seed != nil || s.Subjects[0].Subject != "auto" {
		t.Errorf("%+v", s)
	}
	if points[0].Load.Subscribers != 1 {
		t.Errorf("one publisher has %d subscribers", points[0].Load.Subscribers)
	}
}

// TestEveryKeyIsReadable goes through all keys and checks that the decoder knows what to do with their types.
func TestEveryKeyIsReadable(t *testing.T) {
	var s Scenario
	var walk func(list []field)
	walk = func(list []field) {
		for _, f := range list {
			switch {
			case f.group():
				walk(fields(f.key, f.value))
			case f.value.Kind() == reflect.Slice && f.value.Type() != reflect.TypeFor[Matrix]():
				elem := reflect.New(f.value.Type().Elem()).Elem()
				if elem.Kind() != reflect.Struct {
					continue // a list of texts
				}
				walk(fields(f.key+"[0]", elem))
			case f.single():
				if err := f.set(""); err != nil && strings.Contains(err.Error(), "cannot be set") {
					t.Errorf("%s: %v", f.key, err)
				}
			}
		}
	}
	walk(fields("", reflect.ValueOf(&s).Elem()))
}

// TestPoints checks the order of the matrix, the completed keys, and that points share no memory.
func TestPoints(t *testing.T) {
	s := Decode("m.yaml", []byte("load: {publishers: 3, pattern: shared}\nmatrix:\n  load.payload: [1KiB, 2KiB]\n  load.qos: [0, 1]\n  load.publishers: [4]\n"))
	points, problems := s.Points()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var got []string
	for _, p := range points {
		line := ""
		for _, a := range p.Set {
			line += a.Key + "=" + a.Value + " "
		}
		got = append(got, line)
		if p.Load.Publishers != 4 || p.Load.Subscribers != 4 {
			t.Errorf("%s: %d publishers, %d subscribers", line, p.Load.Publishers, p.Load.Subscribers)
		}
	}
	want := []string{
		"load.payload=1KiB load.qos=0 ", "load.payload=1KiB load.qos=1 ",
		"load.payload=2KiB load.qos=0 ", "load.payload=2KiB load.qos=1 ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if points[3].Load.Payload.Size != 2048 || points[3].Load.QoS != 1 || points[0].Load.QoS != 0 {
		t.Errorf("first %+v, last %+v", points[0].Load, points[3].Load)
	}
	if at := points[3].At("load.payload.size"); at.Line != 3 || at.Column != 24 {
		t.Errorf("2KiB is said to be at %v", at)
	}
	if at := points[0].At("load.window"); at.Line != 1 || at.Column != 7 {
		t.Errorf("a key that was not written is said to be at %v", at)
	}
}

func TestOverrides(t *testing.T) {
	s := Decode("o.yaml", []byte("matrix:\n  load.payload: [1KiB, 2KiB]\n  load.qos: [0, 1]\nsubjects: [mochi, nats]\n"))
	s.Set("load.payload=4KiB")
	s.Set("matrix.load.qos=[1, 2]")
	s.Set("load.topic=a={run}/{stream}")
	s.Set("faults=[{at: 1s, pause: 1s}]")
	s.Compare("mosquitto, nats@process")
	s.Measure(4 * time.Second)
	s.Times(7)
	s.SeedWith(99)
	s.KeepSamples()
	points, problems := s.Points()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if len(points) != 2 || points[1].Load.QoS != 2 || points[0].Load.Payload.Size != 4096 || points[0].Load.Topic != "a={run}/{stream}" {
		t.Errorf("%+v", points)
	}
	if p := points[0]; p.Phases.Measure != 4*time.Second || !p.Samples || len(p.Faults) != 1 {
		t.Errorf("%+v", p.Settings)
	}
	if s.Repeat != 7 || *s.Seed != 99 {
		t.Errorf("repeat %d, seed %d", s.Repeat, *s.Seed)
	}
	if len(s.Subjects) != 2 || s.Subjects[1].Subject != "nats@process" {
		t.Errorf("subjects %+v", s.Subjects)
	}
}

func TestQuick(t *testing.T) {
	s := Decode("q.yaml", nil)
	s.Quick()
	want := Phases{Settle: 100 * time.Millisecond, WarmUp: 300 * time.Millisecond, Measure: 2 * time.Second, Drain: time.Second}
	if s.Phases != want || s.Repeat != 3 {
		t.Errorf("%+v, %d repetitions", s.Phases, s.Repeat)
	}
	s = Decode("q.yaml", []byte("phases: {settle: 1ms, warmup: 0, measure: 1s, drain: 0}\nrepeat: 1\n"))
	s.Quick()
	if s.Phases != (Phases{Settle: time.Millisecond, Measure: time.Second}) || s.Repeat != 1 {
		t.Errorf("what is short already became %+v, %d repetitions", s.Phases, s.Repeat)
	}
	s = Decode("q.yaml", []byte("faults: [{at: 4s, pause: 2s}]\nload: {burst: {count: 1, every: 1s}}\n"))
	s.Quick()
	if _, problems := s.Points(); s.Phases.Measure != 7*time.Second || len(problems) > 0 {
		t.Errorf("measure %v with a fault until 6s; %v", s.Phases.Measure, problems)
	}
}

func TestErrors(t *testing.T) {
	var e Errors
	e.Add(Pos{Source: "--set b=1"}, "b", "third")
	e.Add(Pos{"f", 10, 1}, "a", "second")
	e.Add(Pos{"f", 9, 8}, "", "first %d", 1)
	e.Add(Pos{"f", 10, 1}, "a", "the same again")
	err := e.Err()
	if want := "f:9:8: first 1\nf:10:1: a: second\n--set b=1: third"; err == nil || err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if p, ok := errors.AsType[*Problem](err); !ok || p.Text != "first 1" {
		t.Errorf("first problem: %+v", p)
	}
	if Errors(nil).Err() != nil {
		t.Error("no problem is an error")
	}
}

// FuzzDecode: no input makes the decoder panic, and every problem has a place inside the input.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"", "a", "load:\n  rte: 1\n", "matrix:\n  load.payload: [1KiB, 2KiB]\n  load.qos: [0, 9]\n", "faults: [{at: 1s, pause: 2s}]\n",
		"subjects: [a, {subject: b, tls: {ca_file: x}}]\n", "a: &x 1\nb: *x\n<<: {c: 1}\n", "? x\n: y\n", "a: !!str 1\n---\nb\n", "load: {payload: {text: |\n  é\n}}",
		"repeat: 2\nseed: 1\nload: {rate: 10/s each, topic: \"{run}\", payload: 0x10}\n", "\t", "{", "- [", "a: 'b", "load: {qos: }", "\xff", "%YAML 1.2\n---\nload: {}\n",
		"load:\n  ramp: {to: 5/s}\n  burst: {count: 1, every: 1s}\nconnect: {will: {topic: a}}\n",
	} {
		f.Add([]byte(seed), "load.qos=1")
	}
	f.Add([]byte{}, "matrix.load.qos=[0, 1]")
	f.Add([]byte{}, "subjects=[{subject: a}]")
	f.Add([]byte{}, "load={qos: 1}")
	f.Fuzz(func(t *testing.T, data []byte, set string) {
		if len(data) > 4096 {
			return
		}
		s := Decode("f.yaml", data)
		s.Set(set)
		s.Quick()
		_, problems := s.Points()
		lines := strings.Count(string(data), "\n") + strings.Count(string(data), "\r") + 1
		for _, p := range problems {
			switch {
			case p.Pos.Source == "f.yaml" && (p.Pos.Line < 1 || p.Pos.Column < 1 || p.Pos.Line > lines+1):
				t.Errorf("place outside of the %d lines: %v", lines, p)
			case p.Pos.Source != "f.yaml" && !strings.HasPrefix(p.Pos.Source, "--"):
				t.Errorf("no place: %v", p)
			}
		}
	})
}

// TestFaultTexts: a fault written as a text is the one written as a map, and a sweep keeps the texts.
func TestFaultTexts(t *testing.T) {
	points, problems := Decode("f.yaml", []byte("faults:\n- {at: 4s, kill: 1s}\n- restart 500ms at 7s\n")).Points()
	if problems.Err() != nil {
		t.Fatal(problems.Err())
	}
	want := []Fault{{At: 4 * time.Second, Kill: time.Second}, {At: 7 * time.Second, Restart: 500 * time.Millisecond}}
	if got := points[0].Faults; !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	s := Decode("f.yaml", []byte("faults: kill 1s at 1s\nmatrix: {faults: [none, pause 2s at 4s and kill 1s at 8s]}\n"))
	s.Quick()
	points, problems = s.Points()
	if problems.Err() != nil {
		t.Fatal(problems.Err())
	}
	want = []Fault{{At: 4 * time.Second, Pause: 2 * time.Second}, {At: 8 * time.Second, Kill: time.Second}}
	if len(points) != 2 || len(points[0].Faults) != 0 || !slices.Equal(points[1].Faults, want) {
		t.Errorf("%+v", points)
	}
	if got := points[1].Phases.Measure; got != 10*time.Second {
		t.Errorf("--quick measures %v: it must go on for a second after the last fault of any point", got)
	}
}

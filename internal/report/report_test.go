package report

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/run/runtest"
	"github.com/mqlab/mqlab/internal/summary"
)

var update = flag.Bool("update", false, "write the golden files")

// fixtures are the runs that every layout is tried on.
func fixtures(t *testing.T) map[string]*summary.Summary {
	t.Helper()
	all := map[string]*run.Run{
		"comparison": runtest.Comparison(t),
		"matrix":     runtest.Write(t, "matrix", matrix("mochi", "nats")),
		"sweep":      runtest.Write(t, "sweep", matrix("mosquitto")),
		"stall":      runtest.Write(t, "stall", stall(nil)),
		"killed":     runtest.Write(t, "stall", stall(func(r *runtest.Trial) { r.Cut = true })),
		"max":        runtest.Write(t, "max", closedLoop()),
		"invalid":    runtest.Write(t, "invalid", oneNeverValid()),
		"mixed":      runtest.Write(t, "mixed", mixed()),
		"storm":      runtest.Write(t, "storm", storm()),
		"nothing":    runtest.Write(t, "nothing", nil),
	}
	out := map[string]*summary.Summary{}
	for name, r := range all {
		out[name] = summary.Of(r)
	}
	return out
}

func matrix(subjects ...string) (trials []runtest.Trial) {
	for point := range 3 {
		p := runtest.Params()
		p.PayloadBytes = 256 << (2 * point)
		p.Set = []plan.Assignment{{Key: "load.payload", Value: fmt.Sprintf("%dB", p.PayloadBytes)}}
		trials = append(trials, runtest.Repeated(subjects, 3, point+1, p, func(t *runtest.Trial) { t.Median *= time.Duration(point + 1) })...)
	}
	return trials
}

// storm is 400 connections, of which one was away for a while.
func storm() []runtest.Trial {
	p := runtest.Params()
	p.Publishers, p.Subscribers = 200, 200
	return runtest.Repeated([]string{"mosquitto", "nats"}, 2, 1, p, func(t *runtest.Trial) {
		t.Edit = func(r *run.TrialRecord) {
			r.Connections = run.Connections{Attempted: 401, Established: 401, Lost: 1, Reconnected: 1, ReadyIn: int64(250 * time.Millisecond)}
			r.Broker.PSSIdle, r.Broker.PSSConnected = new(uint64(1<<20)), new(uint64(2<<20))
		}
		t.EditWin = func(second int64, w *ledger.Window) {
			switch second {
			case -1:
				w.Hists[ledger.ConnectTCP], w.Hists[ledger.ConnectProtocol] = hist.New(), hist.New()
				w.Hists[ledger.ConnectTCP].RecordN(int64(200*time.Microsecond), 200)
				w.Hists[ledger.ConnectProtocol].RecordN(int64(800*time.Microsecond), 200)
			case 1:
				if w.Group == "subscribers" {
					w.Hists[ledger.Outage] = hist.New()
					w.Hists[ledger.Outage].Record(int64(1500 * time.Millisecond))
				}
			}
		}
	})
}

// stall is one trial with a guarantee in which the broker stops for two of ten seconds.
func stall(edit func(*runtest.Trial)) []runtest.Trial {
	p := runtest.Params()
	p.QoS, p.RatePerS, p.Phases.Measure = 1, 100, 10*time.Second
	p.Faults = []plan.Fault{{At: 4 * time.Second, Kind: "pause", For: 2 * time.Second}}
	return runtest.Repeated([]string{"mosquitto"}, 1, 1, p, func(t *runtest.Trial) {
		t.EditWin = stalled
		if edit != nil {
			edit(t)
		}
	})
}

// stalled makes responses late by up to two seconds, because of blocked senders.
func stalled(second int64, w *ledger.Window) {
	if second != 4 && second != 5 {
		return
	}
	if w.Group == "publishers" {
		w.Hists[ledger.Blocked] = hist.New()
		w.Hists[ledger.Blocked].RecordN(int64(time.Second), 90)
		return
	}
	h := w.Hists[ledger.Response]
	h.Reset()
	for i := range int64(100) {
		h.Record((6-second)*int64(time.Second) - i*int64(10*time.Millisecond))
	}
}

func closedLoop() []runtest.Trial {
	p := runtest.Params()
	p.Pacing, p.RatePerS = "max", 2000
	return runtest.Repeated([]string{"mosquitto", "nats"}, 2, 1, p, nil)
}

// oneNeverValid has a subject without any valid trial.
func oneNeverValid() []runtest.Trial {
	return runtest.Repeated([]string{"mosquitto", "nats"}, 2, 1, runtest.Params(), func(t *runtest.Trial) {
		if t.Plan.Subject.Name == "nats" {
			t.Edit = func(r *run.TrialRecord) {
				r.State, r.Failure = run.Failed, "nats: connect 127.0.0.1:4222: connection refused"
			}
		}
	})
}

// mixed are subjects with different guarantees, one with a long name.
func mixed() []runtest.Trial {
	return runtest.Repeated([]string{"mochi", "mosquitto", "nats"}, 2, 1, runtest.Params(), func(t *runtest.Trial) {
		if t.Plan.Subject.Name != "nats" {
			t.Plan.Params.QoS = 1
		}
		if t.Plan.Subject.Name == "mochi" {
			t.Plan.Subject.Name = "mochi:tuned/mqtt311@embedded"
		}
	})
}

func render(t *testing.T, format string, s *summary.Summary, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, format, s, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	all := fixtures(t)
	for name, formats := range map[string][]string{
		"comparison": Formats, "matrix": {"text"}, "sweep": {"text"}, "stall": {"text", "markdown"},
		"killed": {"text"}, "max": {"text"}, "invalid": {"text"}, "mixed": {"text"}, "storm": {"text"}, "nothing": {"text", "csv"},
	} {
		for _, format := range formats {
			got := render(t, format, all[name], Options{Trials: name == "comparison", Dir: "runs/" + name})
			file := filepath.Join("testdata", name+"."+format)
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got; -update writes it):\n%s", file, diff)
			}
		}
	}
}

func TestTextFitsTheTerminal(t *testing.T) {
	for name, s := range fixtures(t) {
		for _, line := range strings.Split(render(t, "text", s, Options{Trials: true}), "\n") {
			if n := utf8.RuneCountInString(line); n > textWidth || strings.HasSuffix(line, " ") {
				t.Errorf("%s: %d columns: %q", name, n, line)
			}
		}
	}
}

func TestColourChangesNothingElse(t *testing.T) {
	escapes := regexp.MustCompile("\x1b\\[[0-9]*m")
	for name, s := range fixtures(t) {
		coloured := render(t, "text", s, Options{Color: true})
		if got := escapes.ReplaceAllString(coloured, ""); got != render(t, "text", s, Options{}) {
			t.Errorf("%s: without escapes it reads\n%s", name, got)
		}
		if !escapes.MatchString(coloured) {
			t.Errorf("%s has no colour", name)
		}
	}
}

// TestManyTrialsStayReadable: a run of 240 trials is about points, not trials.
func TestManyTrialsStayReadable(t *testing.T) {
	var trials []runtest.Trial
	for point := range 40 {
		p := runtest.Params()
		p.RatePerS, p.Phases.Measure = 100, time.Second
		p.Set = []plan.Assignment{{Key: "load.rate", Value: fmt.Sprint(point)}}
		trials = append(trials, runtest.Repeated([]string{"nats"}, 6, point+1, p, nil)...)
	}
	s := summary.Of(runtest.Write(t, "big", trials))
	if n := strings.Count(render(t, "text", s, Options{}), "\n"); n > 250 {
		t.Errorf("%d lines", n)
	}
	if n := strings.Count(render(t, "csv", s, Options{}), "\n"); n != 241 {
		t.Errorf("%d lines of CSV", n)
	}
}

func TestUnknownFormat(t *testing.T) {
	if err := Write(new(bytes.Buffer), "html", new(summary.Summary), Options{}); err == nil || !strings.Contains(err.Error(), "markdown") {
		t.Error(err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestWriteErrorsAreReturned(t *testing.T) {
	s := summary.Of(runtest.Write(t, "stall", stall(nil)))
	for _, f := range Formats {
		if err := Write(brokenWriter{}, f, s, Options{}); err == nil {
			t.Errorf("%s: no error", f)
		}
	}
}

func TestQuoted(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"mqlab", "run", "--set", "load.rate=10/s each"}, "mqlab run --set 'load.rate=10/s each'"},
		{[]string{"it's", "", "$HOME", "a*"}, `'it'\''s' '' '$HOME' 'a*'`},
	} {
		if got := quoted(c.args); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func TestWithSeed(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"mqlab run", "mqlab run --seed 7"},
		{"mqlab run --seed 1", "mqlab run --seed 1"},
		{"mqlab run --seed=1 x", "mqlab run --seed=1 x"},
	} {
		if got := strings.Join(withSeed(strings.Fields(c.args), 7), " "); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func TestTrialNumbers(t *testing.T) {
	for _, c := range []struct {
		ids  []int
		want string
	}{
		{[]int{3}, "trial 3"},
		{[]int{3, 4}, "trials 3, 4"},
		{[]int{1, 2, 3, 7, 9, 10}, "trials 1–3, 7, 9, 10"},
	} {
		if got := trialNumbers(c.ids); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestMarkdownEscapes(t *testing.T) {
	d := &document{title: "a|b *c* <d> [e](f)"}
	s := d.section("x_y")
	s.add(&table{head: []string{"p|q"}, rows: [][]string{{"r\ns"}}, left: 1})
	var b bytes.Buffer
	if err := writeMarkdown(&b, d); err != nil {
		t.Fatal(err)
	}
	want := "# a\\|b \\*c\\* &lt;d> \\[e\\](f)\n\n## x\\_y\n\n| p\\|q |\n| :--- |\n| r s |\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/run/runtest"
	"github.com/mqlab/mqlab/internal/summary"
)

// lateRun is two subjects, three repetitions each; of one of them the generator read messages 20 ms late, in a way that does not
// make them invalid.
func lateRun(t *testing.T) *run.Run {
	return runtest.Write(t, "late", runtest.Repeated([]string{"mochi", "nats"}, 3, 1, runtest.Params(), func(x *runtest.Trial) {
		if x.Plan.Subject.Name != "mochi" {
			return
		}
		x.EditWin = func(_ int64, w *ledger.Window) {
			h := w.Hists[ledger.Response]
			if h == nil {
				return
			}
			n := h.Count()
			h.Reset()
			h.RecordN(int64(20*time.Millisecond), n)
			w.Hists[ledger.Client] = h.Clone()
		}
	}))
}

// TestWhy: a line for what trials of a cell have in common, of those that have a cause; in every layout and language.
func TestWhy(t *testing.T) {
	r := lateRun(t)
	s := summary.Of(r)
	text := func(format string, o Options) string {
		var b bytes.Buffer
		if err := Write(&b, format, s, o); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for name, c := range map[string]struct{ got, want string }{
		"text":     {text("text", Options{Dir: "runs/x"}), "Why it was slow\n  - mochi (trials 1, 4, 5): the program that sends and receives was itself late,\n    100 % of the excess"},
		"command":  {text("text", Options{Dir: "runs/x"}), "mqlab diagnose runs/x --trial 1\n"},
		"markdown": {text("markdown", Options{}), "- mochi (trials 1, 4, 5): the program"},
		"Chinese":  {text("text", Options{Language: "zh"}), "发送与接收的程序自身迟了"},
		"JSON":     {text("json", Options{}), `"cause": "generator_late"`},
		"CSV":      {text("csv", Options{}), ",generator_late,"},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%s: %q is not in\n%s", name, c.want, c.got)
		}
	}
	if strings.Contains(text("text", Options{}), "- nats") && strings.Contains(text("text", Options{}), "nothing to explain") {
		t.Error("a healthy subject is told of")
	}
	var page bytes.Buffer
	if err := HTML(&page, s, r, Options{Language: "zh"}, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`id="why-it-was-slow"`, "<details open><summary>mochi (trials 1, 4, 5): ", "The figures are those of trial 1.", "how to verify"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// TestWhyAcross: a comparison of runs says it by subject and run.
func TestWhyAcross(t *testing.T) {
	a, b := summary.Of(lateRun(t)), summary.Of(lateRun(t))
	b.Run.ID = "0badc1"
	across, err := summary.CompareRuns([]*summary.Summary{a, b}, false)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := WriteAcross(&out, "text", across, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"- mochi (A) (3 of 3 trials): the program", "- mochi (B) (3 of 3 trials): the program"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

// TestLoud: that all is well, or that too little is known, is no line.
func TestLoud(t *testing.T) {
	list := []diagnose.FindingSaid{{Cause: diagnose.None}, {Cause: diagnose.TooFew}, {Cause: diagnose.Backlog}, {Cause: diagnose.Unexplained}}
	if got := summary.Loud(list); len(got) != 2 || got[0].Cause != diagnose.Backlog {
		t.Errorf("%v", got)
	}
}

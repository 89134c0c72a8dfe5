package scrape

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/plan"
)

func window(start time.Duration, delivered uint64, response int64) *ledger.Window {
	w := &ledger.Window{
		Group: "subscribers", Start: int64(start), End: int64(start + time.Second), Phase: "measure",
		Counts:   ledger.Counts{Received: delivered, Delivered: delivered},
		InWindow: ledger.InWindow{Received: delivered, Delivered: delivered, BytesIn: 100},
	}
	if start < 0 {
		w.Phase = "warm-up"
	}
	w.Hists[ledger.Response] = hist.New()
	w.Hists[ledger.Response].RecordN(response, int64(delivered))
	return w
}

func text(t *testing.T, m *Metrics) string {
	t.Helper()
	var b strings.Builder
	if _, err := m.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWindowsAddUp(t *testing.T) {
	var none *Metrics
	none.Begin(plan.Trial{})
	none.Window(window(0, 1, 1))
	none.End()
	m := New("0badc0", `odd "name"`, 3)
	m.Window(window(0, 5, 1)) // of no trial
	m.Begin(plan.Trial{ID: 1, Subject: plan.Subject{Name: "mochi"}})
	m.End()
	m.Begin(plan.Trial{ID: 2, Subject: plan.Subject{Name: "nats"}})
	m.Begin(plan.Trial{ID: 3, Subject: plan.Subject{Name: `a\b`}})
	m.Window(window(-time.Second, 7, 5_000))
	m.Window(window(0, 100, 30_000))
	m.Window(window(time.Second, 200, 3_000_000_000))
	got := text(t, m)
	for _, want := range []string{
		`mqlab_trials_planned{run="0badc0",scenario="odd \"name\""} 3`,
		`mqlab_trials_begun_total{run="0badc0",scenario="odd \"name\""} 3`,
		`mqlab_trial_running{run="0badc0",trial="3",subject="a\\b"} 1`,
		`mqlab_messages_delivered_total{run="0badc0",trial="3",subject="a\\b"} 300`,
		`mqlab_bytes_received_total{run="0badc0",trial="3",subject="a\\b"} 300`,
		`mqlab_delivered_per_second{run="0badc0",trial="3",subject="a\\b"} 200`,
		`mqlab_response_seconds_bucket{run="0badc0",trial="3",subject="a\\b",le="2e-05"} 0`,
		`mqlab_response_seconds_bucket{run="0badc0",trial="3",subject="a\\b",le="5e-05"} 100`,
		`mqlab_response_seconds_bucket{run="0badc0",trial="3",subject="a\\b",le="5"} 300`,
		`mqlab_response_seconds_bucket{run="0badc0",trial="3",subject="a\\b",le="+Inf"} 300`,
		`mqlab_response_seconds_count{run="0badc0",trial="3",subject="a\\b"} 300`,
		`mqlab_messages_delivered_total{run="0badc0",trial="2",subject="nats"} 0`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no line %s", want)
		}
	}
	if strings.Contains(got, `trial="1"`) {
		t.Error("the trial before the last one is still there")
	}
	m.End()
	if got := text(t, m); !strings.Contains(got, `mqlab_trial_running{run="0badc0",trial="3",subject="a\\b"} 0`) {
		t.Error("the last trial is still running")
	}
}

var (
	comment = regexp.MustCompile(`^# (HELP [a-z_]+ .+|TYPE [a-z_]+ (counter|gauge|histogram))$`)
	series  = regexp.MustCompile(`^([a-z_]+)\{[a-z]+="(?:[^"\\]|\\.)*"(?:,[a-z]+="(?:[^"\\]|\\.)*")*\} [0-9.e+-]+$`)
)

// TestFormat: every line is one of the format's, every series follows its TYPE, and none is there twice.
func TestFormat(t *testing.T) {
	m := New("0badc0", "quick", 1)
	if !strings.Contains(text(t, m), "mqlab_trials_begun_total") {
		t.Error("nothing before the first trial")
	}
	m.Begin(plan.Trial{ID: 1, Subject: plan.Subject{Name: "mqtt://host:1883"}})
	m.Window(window(0, 10, 77))
	family, seen := "", map[string]bool{}
	for line := range strings.Lines(text(t, m)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			if !comment.MatchString(line) {
				t.Errorf("comment %q", line)
			}
			family = strings.Fields(line)[2]
			continue
		}
		parts := series.FindStringSubmatch(line)
		if parts == nil || !strings.HasPrefix(parts[1], family) {
			t.Errorf("series %q of %s", line, family)
		}
		name, _, _ := strings.Cut(line, "} ")
		if seen[name] {
			t.Errorf("%s is there twice", name)
		}
		seen[name] = true
	}
}

package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// intervals and seeds of the parameter sets.
var intervals = []time.Duration{10 * time.Millisecond, 20 * time.Millisecond, 15 * time.Millisecond, 25 * time.Millisecond, 20 * time.Millisecond}

// TestConfusion: each cause is named, under five sets of parameters; of healthy and of senseless messages none is.
func TestConfusion(t *testing.T) {
	right, all := 0, 0
	for _, c := range samples() {
		for set, interval := range intervals {
			w := newWorld(uint64(100*set+7), interval, 1500+100*set)
			c.make(w)
			r := Diagnose(&w.in)
			all++
			if got := r.Verdict(); got == c.truth {
				right++
			} else {
				t.Errorf("%s, set %d: %s, want %s\n%s", c.name, set, got, c.truth, text(r))
			}
		}
	}
	t.Logf("%d of %d", right, all)
}

func text(r *Result) string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "  %s %.2f: %v\n", f.Cause, f.Share, f.In("en").Evidence)
	}
	return b.String()
}

// TestTwoCauses: both are named, the larger first, and what a pattern points to is not counted twice.
func TestTwoCauses(t *testing.T) {
	w := newWorld(5, 20*time.Millisecond, 3000)
	w.sends()
	w.signal(GCPause, Pauses, w.spans(15, 200*time.Millisecond))
	w.signal(PacketLoss, Capture, w.spans(25, 250*time.Millisecond))
	r := Diagnose(&w.in)
	if len(r.Findings) < 2 {
		t.Fatal(text(r))
	}
	if r.Findings[0].Cause != PacketLoss || r.Findings[1].Cause != GCPause {
		t.Errorf("%s", text(r))
	}
	if r.Findings[0].Share < r.Findings[1].Share || r.Unexplained > 0.05 {
		t.Errorf("unexplained %.2f\n%s", r.Unexplained, text(r))
	}
}

// TestAlwaysOn: what goes on all the time explains nothing.
func TestAlwaysOn(t *testing.T) {
	w := newWorld(5, 20*time.Millisecond, 2000)
	once(w, w.spans(30, 100*time.Millisecond)...)
	w.in.Signals = []Signal{{Cause: CPUContention, Spans: []Span{{0, 1000 * second}}}}
	if r := Diagnose(&w.in); r.Verdict() != Unexplained {
		t.Errorf("%s", text(r))
	}
}

func TestFew(t *testing.T) {
	w := newWorld(1, 10*time.Millisecond, 49)
	w.sends()
	if got := Diagnose(&w.in).Verdict(); got != TooFew {
		t.Errorf("49 messages: %s", got)
	}
	if got := Diagnose(&Input{}).Verdict(); got != TooFew {
		t.Errorf("none: %s", got)
	}
	if got := Diagnose(&Input{Negative: 100}).Verdict(); got != ClockSkew {
		t.Errorf("only negative ones: %s", got)
	}
}

// TestFewAndADeadPeer: that a connection was given up is certain, of however few messages.
func TestFewAndADeadPeer(t *testing.T) {
	w := newWorld(1, 50*time.Millisecond, 30)
	w.sends()
	w.signal(DeadPeer, Capture, []Span{{second + 500*millisecond, 9 * second}})
	w.in.Signals[0].Certain = true
	if r := Diagnose(&w.in); r.Verdict() != DeadPeer || len(r.Findings) != 2 || r.Findings[1].Cause != TooFew {
		t.Errorf("%s", text(r))
	}
}

// TestSkewBesideOthers: where clocks disagree about many messages, no other time can be believed; about a few, the cause comes first.
func TestSkewBesideOthers(t *testing.T) {
	for negative, want := range map[int]Cause{500: ClockSkew, 3: GCPause} {
		w := newWorld(5, 20*time.Millisecond, 3000)
		w.sends()
		w.signal(GCPause, Pauses, w.spans(15, 200*time.Millisecond))
		w.in.Negative = negative
		if r := Diagnose(&w.in); r.Verdict() != want || len(r.Findings) != 2 {
			t.Errorf("%d negative: %s", negative, text(r))
		}
	}
}

// TestPatternBehindMechanism: what was seen going on is the cause; that it comes at a fixed period is told behind it.
func TestPatternBehindMechanism(t *testing.T) {
	w := newWorld(5, 20*time.Millisecond, 2000)
	w.sends()
	w.signal(GCPause, Pauses, w.every(2*time.Second, 120*time.Millisecond))
	r := Diagnose(&w.in)
	if r.Verdict() != GCPause || len(r.Findings) != 2 || r.Findings[1].Cause != Periodic {
		t.Errorf("%s", text(r))
	}
}

// TestFewSpikes: three spikes that are equally far apart, in a run that lasts for thirty times that, are no period.
func TestFewSpikes(t *testing.T) {
	w := newWorld(5, 10*time.Millisecond, 3000)
	once(w, Span{2 * second, 2*second + 60*millisecond}, Span{3 * second, 3*second + 60*millisecond}, Span{4 * second, 4*second + 60*millisecond})
	if r := Diagnose(&w.in); r.Verdict() == Periodic {
		t.Errorf("%s", text(r))
	}
}

// TestLatenciesOnly: without times no structure is claimed.
func TestLatenciesOnly(t *testing.T) {
	for _, c := range samples() {
		w := newWorld(3, 20*time.Millisecond, 1500)
		c.make(w)
		for i, m := range w.in.Messages {
			w.in.Messages[i] = Message{Sent: int64(i), Recv: int64(i) + m.Recv - m.Sent}
		}
		w.in.Sources, w.in.Signals = nil, nil
		r := Diagnose(&w.in)
		if got := r.Verdict(); got != None && got != Unexplained && got != Handshake {
			t.Errorf("%s: %s", c.name, got)
		}
		if len(r.Undecided) < 15 {
			t.Errorf("%s: only %d causes are undecided", c.name, len(r.Undecided))
		}
	}
}

// TestTexts: every cause and every kind of evidence has its texts in all languages, with places for the same figures.
func TestTexts(t *testing.T) {
	en := texts()["en"]
	for key, text := range en {
		for _, language := range Languages {
			other, ok := texts()[language][key]
			if !ok || strings.Count(other, "%s") != strings.Count(text, "%s") {
				t.Errorf("%s %s: %q", language, key, other)
			}
		}
	}
	for _, language := range Languages {
		if len(texts()[language]) != len(en) {
			t.Errorf("%s has %d texts, en %d", language, len(texts()[language]), len(en))
		}
	}
	for _, c := range append(Causes(), None, Unexplained, TooFew) {
		for _, part := range []string{"what", "fix", "verify"} {
			if en[string(c)+"."+part] == "" {
				t.Errorf("%s has no %s", c, part)
			}
		}
	}
	for _, list := range needs {
		for _, s := range list {
			if en["source."+string(s)] == "" {
				t.Errorf("source %s has no text", s)
			}
		}
	}
}

// TestEvidence: every finding of the worlds says its figures in both languages.
func TestEvidence(t *testing.T) {
	var said []string
	for _, c := range samples() {
		w := newWorld(9, 20*time.Millisecond, 1500)
		c.make(w)
		for _, f := range Diagnose(&w.in).Findings {
			for _, language := range Languages {
				for i, e := range f.In(language).Evidence {
					if e == "" || strings.Contains(e, "%!") {
						t.Errorf("%s %s, evidence %d: %q", c.name, language, i, e)
					}
				}
			}
			for _, e := range f.Evidence {
				said = append(said, e.Key)
			}
		}
	}
	slices.Sort(said)
	if n := len(slices.Compact(said)); n < 25 {
		t.Errorf("only %d kinds of evidence were seen", n)
	}
}

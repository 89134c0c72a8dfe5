package diagnose

import (
	"fmt"
	"io"
	"slices"
)

// Said is a diagnosis in words, as JSON has it.
type Said struct {
	Verdict     Cause         `json:"verdict"`
	Messages    int           `json:"messages"`
	Lost        int           `json:"lost"`
	Negative    int           `json:"negative"`
	Latency     Latency       `json:"latency"`
	Slow        int           `json:"slow"`
	Threshold   int64         `json:"slow_above_ns"`
	Unexplained float64       `json:"unexplained_ratio"`
	Findings    []FindingSaid `json:"findings"`
	Undecided   []GapSaid     `json:"undecided"`
}

// Latency is what messages took; absent where none arrived.
type Latency struct {
	Mean      float64 `json:"mean_ns,omitempty"`
	Deviation float64 `json:"stddev_ns,omitempty"`
	P50       int64   `json:"p50_ns,omitempty"`
	P99       int64   `json:"p99_ns,omitempty"`
	Max       int64   `json:"max_ns,omitempty"`
}

// FindingSaid is a finding in words.
type FindingSaid struct {
	Cause    Cause    `json:"cause"`
	What     string   `json:"what"`
	Side     string   `json:"side,omitempty"`
	Share    float64  `json:"share,omitempty"` // absent: it is no part of the excess, or latency is not known
	Spans    []Stay   `json:"spans,omitempty"`
	Evidence []string `json:"evidence"`
	Advice   string   `json:"advice"`
	Verify   string   `json:"verify"`
}

// Stay is when a cause held: of a run since its measure window opened, otherwise by the clock of the input.
type Stay struct {
	Start int64 `json:"start_ns"`
	End   int64 `json:"end_ns"`
}

// GapSaid is a cause that could not be decided.
type GapSaid struct {
	Cause Cause  `json:"cause"`
	Needs Source `json:"needs"`
	Text  string `json:"text"`
}

// In says a diagnosis in a language.
func (r *Result) In(language string) *Said {
	s := &Said{
		Verdict: r.Verdict(), Messages: r.Messages, Lost: r.Lost, Negative: r.Negative, Slow: r.Slow, Threshold: r.Threshold,
		Latency:     Latency{Mean: r.Mean, Deviation: r.Deviation, P50: r.P50, P99: r.P99, Max: r.Max},
		Unexplained: r.Unexplained, Findings: []FindingSaid{}, Undecided: []GapSaid{},
	}
	for i := range r.Findings {
		s.Findings = append(s.Findings, r.Findings[i].Said(language))
	}
	for _, g := range r.Undecided {
		s.Undecided = append(s.Undecided, GapSaid{g.Cause, g.Needs, g.In(language)})
	}
	return s
}

// Said says a finding as JSON has it.
func (f *Finding) Said(language string) FindingSaid {
	t := f.In(language)
	said := FindingSaid{Cause: f.Cause, What: t.What, Side: f.Side, Share: f.Share, Evidence: t.Evidence, Advice: t.Fix, Verify: t.Verify}
	for _, x := range f.Spans {
		said.Spans = append(said.Spans, Stay{x.From, x.To})
	}
	return said
}

// Print writes a diagnosis as text. wrap prints a paragraph behind a head, as wide as the screen.
func (r *Result) Print(w io.Writer, language string, wrap func(head, text string)) {
	word := func(key string) string { return say(language, "print."+key) }
	if r.Messages > 0 || r.Lost > 0 || r.Negative > 0 {
		_, _ = fmt.Fprintf(w, word("figures")+"\n", r.Messages, r.Lost, duration(ns(r.P50)), duration(ns(r.P99)), duration(ns(r.Max)), r.Slow, duration(ns(r.Threshold)))
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		t := f.In(language)
		head := t.What
		if f.Share > 0 {
			head = fmt.Sprintf(word("share"), f.Share*100, t.What)
		}
		if f.Side != "" {
			head += fmt.Sprintf(" [%s]", f.Side)
		}
		_, _ = fmt.Fprintln(w)
		wrap(fmt.Sprintf("%d ", i+1), head)
		for _, e := range t.Evidence {
			wrap("  - ", e)
		}
		wrap("  "+word("fix"), t.Fix)
		wrap("  "+word("verify"), t.Verify)
	}
	r.printRest(w, language, wrap)
}

// printRest says what stayed unexplained, and what could not be decided, by what it needs.
func (r *Result) printRest(w io.Writer, language string, wrap func(head, text string)) {
	if r.Unexplained >= 0.005 && r.Unexplained < 1 {
		_, _ = fmt.Fprintf(w, "\n"+say(language, "print.unexplained")+"\n", r.Unexplained*100)
	}
	var sources []Source
	for _, g := range r.Undecided {
		if !slices.Contains(sources, g.Needs) {
			sources = append(sources, g.Needs)
		}
	}
	if len(sources) == 0 || r.Verdict() == None {
		return
	}
	_, _ = fmt.Fprintf(w, "\n%s\n", say(language, "print.undecided"))
	for _, s := range sources {
		list := ""
		for _, g := range r.Undecided {
			if g.Needs == s {
				list += ", " + string(g.Cause)
			}
		}
		wrap("  ", say(language, "source."+string(s))+": "+list[2:])
	}
}

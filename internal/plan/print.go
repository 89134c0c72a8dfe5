package plan

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// PrintJSON writes the plan with its estimates, per trial and in total.
func PrintJSON(w io.Writer, p *Plan) error {
	type trial struct {
		Trial
		Estimate Estimate `json:"estimate"`
	}
	out := struct {
		*Plan
		Estimate Estimate `json:"estimate"`
		Trials   []trial  `json:"trials"`
	}{Plan: p, Estimate: p.Estimate(), Trials: make([]trial, len(p.Trials))}
	for i, t := range p.Trials {
		out.Trials[i] = trial{t, t.Estimate()}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}

// Print writes the plan in words, at most width columns wide where words allow it.
func Print(w io.Writer, p *Plan, width int) error {
	t := text{width: width}
	t.paragraph("", p.Scenario+": "+p.Description)
	t.b.WriteByte('\n')
	names := make([]string, len(p.Subjects))
	for i, s := range p.Subjects {
		names[i] = s.Name
		if s.TLS.SkipVerify {
			names[i] += " (certificate not verified)"
		}
	}
	t.line("subjects", strings.Join(names, ", "))
	if len(p.Trials) > 0 {
		t.params(&p.Trials[0].Params)
	}
	t.line("repeat", fmt.Sprintf("%d, interleaved", p.Repeat))
	t.line("seed", strconv.FormatUint(p.Seed, 10))
	t.b.WriteByte('\n')
	t.estimate(p.Estimate())
	t.b.WriteByte('\n')
	t.order(p)
	_, err := io.WriteString(w, t.b.String())
	return err
}

// text is a page of labelled, wrapped lines.
type text struct {
	b     strings.Builder
	width int
}

// labelWidth is the width of the first column.
const labelWidth = 12

// line writes a label and its wrapped text.
func (t *text) line(label, content string) {
	t.paragraph(fmt.Sprintf("%-*s", labelWidth, label), content)
}

// paragraph wraps words to the width; the lines after the first are indented as far as the prefix.
func (t *text) paragraph(prefix, content string) {
	indent := strings.Repeat(" ", len(prefix))
	line := prefix
	empty := true
	for word := range strings.FieldsSeq(content) {
		if !empty && runes(line)+1+runes(word) > t.width {
			t.b.WriteString(line + "\n")
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	t.b.WriteString(strings.TrimRight(line, " ") + "\n")
}

func runes(s string) int { return len([]rune(s)) }

// params describes the load that all points share; what the matrix sweeps is shown as such.
func (t *text) params(p *Params) {
	swept := map[string]bool{}
	for _, a := range p.Set {
		swept[strings.TrimSuffix(a.Key, ".size")] = true
	}
	or := func(key, value string) string {
		if swept[key] {
			return "(swept)"
		}
		return value
	}
	clients := or("load.publishers", grouped(int64(p.Publishers))) + " publishers, " +
		or("load.subscribers", grouped(int64(p.Subscribers))) + " subscribers"
	t.line("load", or("load.pattern", p.Pattern)+": "+clients)
	t.line("rate", or("load.rate", rate(p)))
	t.line("payload", fmt.Sprintf("%s, %s; QoS %s", or("load.payload", size(float64(p.PayloadBytes))), or("load.payload.form", p.PayloadForm), or("load.qos", strconv.Itoa(int(p.QoS)))))
	ph := &p.Phases
	t.line("phases", fmt.Sprintf("settle %s, warm-up %s, measure %s, drain at most %s",
		or("phases.settle", ph.Settle.String()), or("phases.warmup", ph.WarmUp.String()),
		or("phases.measure", ph.Measure.String()), or("phases.drain", ph.Drain.String())))
	for _, f := range p.Faults {
		t.line("fault", fmt.Sprintf("the broker is paused for %s, %s after measuring began", f.For, f.At))
	}
}

// rate describes the pace of all publishers together.
func rate(p *Params) string {
	if p.Pacing == "max" {
		return "as fast as possible"
	}
	s := decimal(p.RatePerS) + " msg/s in total, " + p.Pacing
	if p.RampToPerS > 0 {
		s += ", growing to " + decimal(p.RampToPerS) + " msg/s"
	}
	if p.Burst.Count > 0 {
		s += fmt.Sprintf(", and a burst of %s every %s", grouped(int64(p.Burst.Count)), p.Burst.Every)
	}
	return s
}

// estimate says what the plan needs.
func (t *text) estimate(e Estimate) {
	t.line("trials", fmt.Sprintf("%s, with %s broker starts", grouped(int64(e.Trials)), grouped(int64(e.BrokerStarts))))
	t.line("duration", fmt.Sprintf("about %s; %s if every drain takes its time", seconds(e.Duration), seconds(e.DurationMax)))
	if e.Messages > 0 {
		t.line("messages", fmt.Sprintf("%s offered while measuring, %s deliveries expected", grouped(e.Messages), grouped(e.Deliveries)))
		t.line("data", size(float64(e.PayloadBytes))+" of payload, published and delivered")
	}
	if e.AsFastAsPossible > 0 {
		t.line("", fmt.Sprintf("%s trials as fast as possible: their messages are not counted here", grouped(int64(e.AsFastAsPossible))))
	}
	t.line("needs", fmt.Sprintf("at most %s connections at a time: %s open files and %s ports",
		grouped(int64(e.Connections)), grouped(int64(e.OpenFiles)), grouped(int64(e.Ports))))
}

// order lists the trials: a line for each repetition of a point.
func (t *text) order(p *Plan) {
	t.line("trials", "in this order")
	for i := 0; i < len(p.Trials); {
		first := &p.Trials[i]
		var names []string
		for ; i < len(p.Trials) && p.Trials[i].Point == first.Point && p.Trials[i].Repetition == first.Repetition; i++ {
			names = append(names, p.Trials[i].Subject.Name)
		}
		var values []string
		for _, a := range first.Params.Set {
			values = append(values, a.Key+" "+a.Value)
		}
		what := strings.Join(names, ", ")
		if len(values) > 0 {
			what = strings.Join(values, ", ") + ": " + what
		}
		t.line(fmt.Sprintf("%d-%d", first.ID, first.ID+len(names)-1), what)
	}
}

// grouped writes thousands apart: 1,000,000.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// decimal writes a number that need not be whole.
func decimal(f float64) string {
	if f == float64(int64(f)) {
		return grouped(int64(f))
	}
	return strconv.FormatFloat(f, 'g', 6, 64)
}

// size writes bytes in the largest unit that keeps at least one whole.
func size(bytes float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	i := 0
	for ; bytes >= 1024 && i < len(units)-1; i++ {
		bytes /= 1024
	}
	return strconv.FormatFloat(bytes, 'f', -1, 32)[:] + " " + units[i]
}

// seconds writes a duration to the second.
func seconds(d time.Duration) string { return d.Round(time.Second).String() }

package plan

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// PrintJSON writes the plan with its estimates, per trial and in total.
func PrintJSON(w io.Writer, p *Plan) error {
	type trial struct {
		Trial
		Estimate Estimate `json:"estimate"`
		Need     *Need    `json:"need,omitempty"` // of its link
	}
	out := struct {
		*Plan
		Estimate Estimate `json:"estimate"`
		Trials   []trial  `json:"trials"`
	}{Plan: p, Estimate: p.Estimate(), Trials: make([]trial, len(p.Trials))}
	for i, t := range p.Trials {
		out.Trials[i] = trial{Trial: t, Estimate: t.Estimate()}
		if n, ok := t.Need(); ok {
			out.Trials[i].Need = &n
		}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}

// Print writes the plan in words, wrapped to width columns.
func Print(w io.Writer, p *Plan, width int) error {
	t := text{width: width}
	t.paragraph("", strings.TrimSuffix(p.Scenario+": "+p.Description, ": "))
	t.b.WriteByte('\n')
	names := make([]string, len(p.Subjects))
	for i, s := range p.Subjects {
		names[i] = s.Name
		if s.TLS.SkipVerify {
			names[i] += " (certificate not verified)"
		}
	}
	t.line("subjects", strings.Join(names, ", "))
	t.params(p)
	if p.Search == nil {
		t.line("repeat", count(int64(p.Repeat), "time"))
	} else {
		t.search(p)
	}
	t.line("seed", strconv.FormatUint(p.Seed, 10))
	if len(p.Limits) > 0 {
		t.line("limits", strings.Join(p.Limits, "; "))
	}
	t.b.WriteByte('\n')
	if p.Search == nil {
		t.estimate(p.Estimate())
	} else {
		t.searchEstimate(p, p.Estimate())
	}
	for _, l := range p.LeftOut {
		t.line("left out", l.String())
	}
	for _, w := range p.Warnings() {
		t.line("warning", w)
	}
	for _, n := range p.Needs {
		t.line("need", n)
	}
	if p.Search == nil {
		t.b.WriteByte('\n')
		t.order(p)
	}
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

// params describes the load of all points; where they differ, it names the values.
func (t *text) params(p *Plan) {
	if len(p.Trials) == 0 {
		return
	}
	each := func(describe func(p *Params) string) string { return distinct(p, describe) }
	t.line("load", each(func(p *Params) string { return p.Pattern })+
		"; publishers "+each(func(p *Params) string { return grouped(int64(p.Publishers)) })+
		", subscribers "+each(func(p *Params) string { return grouped(int64(p.Subscribers)) }))
	t.line("rate", each(rate))
	t.line("payload", each(func(p *Params) string { return size(float64(p.PayloadBytes)) })+", "+
		each(func(p *Params) string { return p.PayloadForm })+"; QoS "+
		each(func(p *Params) string { return strconv.Itoa(int(p.QoS)) }))
	if slices.ContainsFunc(p.Trials, func(t Trial) bool { return t.Params.Profile.Limited() }) {
		t.line("machine", each(func(p *Params) string { return p.Profile.describe() }))
	}
	if slices.ContainsFunc(p.Trials, func(t Trial) bool { return t.Params.Link.Emulated() }) {
		t.line("link", each(func(p *Params) string { return p.Link.describe() }))
	}
	t.line("phases", "settle "+each(func(p *Params) string { return p.Phases.Settle.String() })+
		", warm-up "+each(func(p *Params) string { return p.Phases.WarmUp.String() })+
		", measure "+each(func(p *Params) string { return p.Phases.Measure.String() })+
		", drain at most "+each(func(p *Params) string { return p.Phases.Drain.String() }))
	if slices.ContainsFunc(p.Trials, func(t Trial) bool { return t.Params.Outages.Kind != "" }) {
		t.line("outages", each(func(p *Params) string { return p.Outages.describe() }))
	}
	if slices.ContainsFunc(p.Trials, func(t Trial) bool { return t.Disturbed() || t.Params.Connect.KeepAlive == 0 }) {
		t.line("keep-alive", each(func(p *Params) string { return p.Connect.KeepAlive.String() }))
	}
	if faults := each(faults); faults != "" {
		t.line("fault", faults)
	}
	if special := each(special); special != "" {
		t.line("also", special)
	}
}

// faults describes what is done to the broker.
func faults(p *Params) string {
	var list []string
	for _, f := range p.Faults {
		what := fmt.Sprintf("the broker is paused for %s", f.For)
		switch f.Kind {
		case FaultRestart:
			what = fmt.Sprintf("the broker is told to end (SIGTERM) and started again after %s", f.For)
		case FaultKill:
			what = fmt.Sprintf("the broker is killed (SIGKILL) and started again after %s", f.For)
		}
		list = append(list, fmt.Sprintf("%s, %s after measuring began", what, f.At))
	}
	return strings.Join(list, "; ")
}

// distinct joins the different descriptions of the points, in order. A point of which there is nothing to say has none.
func distinct(p *Plan, describe func(*Params) string) string {
	var list []string
	for i := range p.Trials {
		s := describe(&p.Trials[i].Params)
		if s != "" && p.Trials[i].Repetition == 1 && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return strings.Join(list, " / ")
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

// special describes what few scenarios ask for.
func special(p *Params) string {
	var list []string
	for _, s := range []struct {
		asked bool
		words string
	}{
		{p.Connect.RatePerS > 0, decimal(p.Connect.RatePerS) + " connections opened a second"},
		{p.Connect.AtOnce > 0, "at most " + grouped(int64(p.Connect.AtOnce)) + " on their way at one time"},
		{len(p.Connect.Sources) > 0, "connections come from " + count(int64(len(p.Connect.Sources)), "address")},
		{p.Send != "", "sent by " + p.Send},
		{p.Writes == WritesMessage, "each message is a write of its own"},
		{p.Writes == WritesBatch, "messages are written in batches"},
		{p.Connect.TLS.Version != "", p.Connect.TLS.describe()},
		{p.Connect.Channels > 0, "AMQP connections of " + count(int64(p.Connect.Channels), "channel")},
		{p.Connect.ChurnPerS > 0, decimal(p.Connect.ChurnPerS) + " clients a second come and leave"},
		{p.Instances > 1, grouped(int64(p.Instances)) + " brokers at a time"},
		{p.Persistence != "", "persistence " + p.Persistence},
		{p.Retain, "messages are retained"},
		{p.Storage != "", "JetStream keeps messages in " + p.Storage},
		{!p.Connect.CleanStart, "sessions are resumed"},
		{p.Connect.HoldAcks, "subscribers never acknowledge"},
		{p.Connect.ReadBytesPerS > 0, "subscribers read at most " + size(float64(p.Connect.ReadBytesPerS)) + "/s"},
		{!p.Connect.Reconnect, "a lost connection stays lost"},
		{!p.NoDelay, "TCP_NODELAY is off"},
		{p.Samples, "the times of every message are kept"},
	} {
		if s.asked {
			list = append(list, s.words)
		}
	}
	return strings.Join(list, ", ")
}

// estimate says what the plan needs.
func (t *text) estimate(e Estimate) {
	t.line("trials", grouped(int64(e.Trials))+", with "+count(int64(e.BrokerStarts), "broker start"))
	t.line("duration", fmt.Sprintf("about %s; %s if every drain takes its time", seconds(e.Duration), seconds(e.DurationMax)))
	if e.AsFastAsPossible < e.Trials {
		t.line("messages", fmt.Sprintf("%s offered while measuring, %s deliveries expected", grouped(e.Messages), grouped(e.Deliveries)))
		t.line("data", size(float64(e.PayloadBytes))+" of payload, published and delivered")
	}
	if e.AsFastAsPossible > 0 {
		t.line("", fmt.Sprintf("not counted: %s as fast as possible", count(int64(e.AsFastAsPossible), "trial")))
	}
	t.line("needs", fmt.Sprintf("%s at a time: %s and %s", count(int64(e.Connections), "connection"),
		count(int64(e.OpenFiles), "open file"), count(int64(e.Ports), "port")))
	if e.Generators > 1 {
		t.line("generator", fmt.Sprintf("%s processes of mqlab share the connections, each with at most %s",
			grouped(int64(e.Generators)), count(int64(e.OpenFiles), "open file")))
	}
}

// order lists the trials: a line for each repetition of a point.
func (t *text) order(p *Plan) {
	t.paragraph("", "The trials in order:")
	for i := 0; i < len(p.Trials); {
		first := &p.Trials[i]
		var names []string
		for ; i < len(p.Trials) && p.Trials[i].Point == first.Point && p.Trials[i].Repetition == first.Repetition; i++ {
			names = append(names, p.Trials[i].Subject.Name)
		}
		what := strings.Join(names, ", ")
		if len(first.Params.Set) > 0 {
			what = Settings(first.Params.Set) + ": " + what
		}
		ids := strconv.Itoa(first.ID)
		if len(names) > 1 {
			ids += "-" + strconv.Itoa(p.Trials[i-1].ID)
		}
		t.line(ids, what)
	}
}

// Settings writes the matrix values of a point.
func Settings(set []Assignment) string {
	values := make([]string, len(set))
	for i, a := range set {
		values[i] = a.Key + " " + a.Value
	}
	return strings.Join(values, ", ")
}

// count writes a number of things.
func count(n int64, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return grouped(n) + " " + thing
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
	return strconv.FormatFloat(math.Round(bytes*10)/10, 'f', -1, 64) + " " + units[i]
}

// seconds writes a duration to the second.
func seconds(d time.Duration) string { return d.Round(time.Second).String() }

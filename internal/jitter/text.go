package jitter

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/summary"
)

// Text writes a report for people, in a language of diagnose.Languages. wrap prints a paragraph behind a head, as wide as the screen.
func Text(w io.Writer, r *Report, language string, wrap func(head, text string)) error {
	p := &printer{w: w, wrap: wrap, in: tongue(language)}
	p.head(r)
	p.roundTrips(r)
	p.others(r)
	for i := range r.Cases {
		p.detail(r, &r.Cases[i])
	}
	p.undecided(r)
	for _, s := range r.Not {
		p.say("\n")
		p.wrap("", p.in.say("Not measured: %s: %s", s.Name, s.Why))
	}
	return p.err
}

type printer struct {
	w    io.Writer
	wrap func(head, text string)
	in   tongue
	err  error
}

func (p *printer) say(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// table prints rows with their cells under each other, all but the first to the right.
func (p *printer) table(rows [][]string) {
	if p.err != nil {
		return
	}
	t := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', tabwriter.AlignRight)
	width := 0
	for _, row := range rows {
		width = max(width, len([]rune(row[0])))
	}
	for _, row := range rows {
		_, _ = fmt.Fprintf(t, "%-*s\t%s\t\n", width, row[0], strings.Join(row[1:], "\t"))
	}
	p.err = t.Flush()
}

// head says what all cases have in common.
func (p *printer) head(r *Report) {
	p.wrap("", r.head(p.in))
	p.wrap("", r.topics(p.in))
}

// head is what was measured, in one sentence.
func (r *Report) head(in tongue) string {
	c := &r.Plan.Cases[0]
	return in.say("Jitter of publishing clients: %s, %s of %s messages, one every %v, %d bytes, QoS %d, broker %s; where a case differs it says so.",
		in.plural(len(r.Plan.Cases), "case"), in.plural(r.Rounds, "round"), thousands(c.Count), c.Interval, c.Payload, c.QoS, c.Broker)
}

func (r *Report) topics(in tongue) string {
	return in.say("Topics %s and %s; echo %s.", r.Topics.Request, r.Topics.Answer, in.word(r.Echo))
}

func (p *printer) roundTrips(r *Report) {
	p.say("\n%s\n", p.in.word("Round trip: from the call that publishes to the callback"))
	p.table(append([][]string{{"case", "p50", "p90", "p99", "max", "mean", "sd", "lost"}}, r.roundTripRows()...))
}

func (r *Report) roundTripRows() (rows [][]string) {
	for i := range r.Cases {
		c := &r.Cases[i]
		rows = append(rows, append([]string{shorten(c.Name)}, c.Service.cells(len(c.Rounds) > 0, c.lost())...))
	}
	return rows
}

// cells are figures for a table.
func (f *Figures) cells(measured bool, lost int) []string {
	if !measured {
		return []string{none, none, none, none, none, none, none}
	}
	maximum, mean, deviation := none, none, none
	if a := f.Arrived; a != nil {
		maximum, mean, deviation = Duration(float64(a.Max)), Duration(a.Mean), Duration(a.Deviation)
	}
	if f.LostFrom != nil {
		maximum = "lost"
	}
	return []string{f.percentile(0), f.percentile(1), f.percentile(3), maximum, mean, deviation, thousands(lost)}
}

// none is a cell without a figure.
const none = "–"

// percentile is one of summary.Percentiles.
func (f *Figures) percentile(i int) string {
	p := summary.Percentiles[i]
	switch v := *p.Of(&f.Quantiles); {
	case v != nil:
		return Duration(float64(*v))
	case f.Expected >= p.Need && f.LostFrom != nil:
		return "lost"
	}
	return none
}

func (c *CaseReport) lost() (n int) {
	for _, r := range c.Rounds {
		n += r.Counts.Lost
	}
	return n
}

func (p *printer) others(r *Report) {
	p.say("\n%s\n", p.in.word("Response: from when a message was due, which the client itself may miss"))
	p.table(append([][]string{{"case", "p50", "p99", "late", "result", "cause"}}, r.responseRows()...))
	few := ""
	if slices.ContainsFunc(r.Cases, func(c CaseReport) bool { return slices.Contains(c.Service.TooFew, "p99") && c.Service.Expected > 0 }) {
		few = p.in.word(" A p99 needs 1,000 messages.")
	}
	p.wrap("  ", p.in.word("late: answered after the next message was due. sd: standard deviation; it and the mean are of the messages that came.")+few)
	if slices.ContainsFunc(r.Cases, func(c CaseReport) bool { return c.Slipped() }) {
		p.wrap("  ", p.in.word("Where response is more than twice the round trip the client did not keep its schedule: it waited in its own loop before it published."))
	}
}

func (r *Report) responseRows() (rows [][]string) {
	for i := range r.Cases {
		c := &r.Cases[i]
		late := 0
		for _, o := range c.Rounds {
			late += o.Counts.Late
		}
		cells := c.Response.cells(len(c.Rounds) > 0, 0)
		result := string(c.Validity)
		if len(c.Rounds)+len(c.Failed) == 0 {
			result = none
		}
		rows = append(rows, []string{shorten(c.Name), cells[0], cells[2], thousands(late), result, c.causeCell()})
	}
	return rows
}

func (c *CaseReport) causeCell() string {
	switch {
	case c.Cause == "":
		return none
	case c.Share > 0:
		return fmt.Sprintf("%s %.0f %%", c.Cause, c.Share*100)
	}
	return c.Cause
}

// Slipped: responses took more than twice as long as round trips.
func (c *CaseReport) Slipped() bool {
	return c.Service.P50 != nil && c.Response.P50 != nil && *c.Response.P50 > 2**c.Service.P50
}

// Base is what the settings of cases are compared with: the first case of the plan, as it would be without its own.
func (r *Report) Base() *Case {
	base := R1()
	base.Client, base.Broker = "", r.Plan.Cases[0].Broker
	base.Count, base.Interval, base.Payload, base.QoS = r.Plan.Cases[0].Count, r.Plan.Cases[0].Interval, r.Plan.Cases[0].Payload, r.Plan.Cases[0].QoS
	return &base
}

// Title is a case in words: its library, and the settings that are its own.
func (c *CaseReport) Title(base *Case) string {
	text := c.Name + ": " + c.Client
	if c.Library != "" {
		text = strings.TrimSpace(c.Name + ": " + c.Library + " " + strings.TrimPrefix(c.Version, "v"))
	}
	var own []string
	for _, k := range c.Changed(base) {
		if !strings.HasPrefix(k, "client=") {
			own = append(own, k)
		}
	}
	if len(own) > 0 {
		text += " (" + strings.Join(own, ", ") + ")"
	}
	return text
}

// Shown is the round that is shown in full: the first that is valid, or the first.
func (c *CaseReport) Shown() *Round {
	for _, o := range c.Rounds {
		if o.Validity != summary.Invalid {
			return o
		}
	}
	if len(c.Rounds) > 0 {
		return c.Rounds[0]
	}
	return nil
}

func (p *printer) detail(r *Report, c *CaseReport) {
	p.say("\n")
	p.wrap("", c.Title(r.Base()))
	for _, f := range c.Failed {
		p.wrap(p.label("failed"), f)
	}
	o := c.Shown()
	if o == nil {
		return
	}
	for _, line := range o.lines(p.in) {
		p.wrap(p.label(line[0]), line[1])
	}
	if len(c.Rounds) > 1 {
		for _, x := range c.Rounds {
			p.wrap(p.label(p.in.say("trial %d", x.Trial)), x.inOneLine(p.in))
		}
	}
	p.overTime(o)
	p.histogram(c.Histogram, c.Service.Count)
	p.findings(o)
}

// label is the name of a line, as wide as all of them.
func (p *printer) label(name string) string {
	const room = 10
	name = p.in.word(name)
	return "  " + name + strings.Repeat(" ", max(0, room-cellsOf(name))+1)
}

// findings are the causes, with their evidence and what to do.
func (p *printer) findings(o *Round) {
	for i := range o.found.Findings {
		f := &o.found.Findings[i]
		t := f.In(string(p.in))
		head := p.in.cause(f, t)
		if f.Side != "" {
			head += " [" + f.Side + "]"
		}
		p.wrap(p.label("cause"), head)
		for _, e := range t.Evidence {
			p.wrap("             - ", e)
		}
		if f.Cause != diagnose.None {
			p.wrap("  "+p.label("change"), t.Fix)
			p.wrap("  "+p.label("verify"), t.Verify)
		}
	}
	if u := o.found.Unexplained; u >= 0.005 && u < 1 {
		p.say("  %s\n", p.in.say("%s of the excess latency stays unexplained.", percent(u)))
	}
}

// undecided is said once: it is the same for all cases but for what their clients can tell.
func (p *printer) undecided(r *Report) {
	var words []string
	for i := range r.Cases {
		if o := r.Cases[i].Shown(); o != nil {
			for _, g := range o.found.Undecided {
				if w := string(g.Cause); !slices.Contains(words, w) {
					words = append(words, w)
				}
			}
		}
	}
	if len(words) > 0 {
		p.say("\n")
		p.wrap("", p.in.say("Cannot be decided by this measurement, in some case or all: %s (mqlab diagnose says what each needs).", strings.Join(words, ", ")))
	}
}

// inOneLine is a round beside others.
func (o *Round) inOneLine(in tongue) string {
	cells := o.Service.cells(true, o.Counts.Lost)
	return in.say("%s; p50 %s, p99 %s, max %s, lost %s; %s", o.Validity, cells[0], cells[2], cells[3], cells[6], o.Diagnosis.Verdict)
}

// lines are the facts of a round, each with its name.
func (o *Round) lines(in tongue) (lines [][2]string) {
	add := func(name, format string, args ...any) {
		lines = append(lines, [2]string{name, in.say(format, args...)})
	}
	for _, reason := range o.Reasons {
		add(string(reason.Level), "%s (%s)", reason.Text, reason.Code)
	}
	var modes []string
	for _, m := range o.Modes {
		modes = append(modes, fmt.Sprintf("%s (%s)", Duration(float64(m.At)), percent(m.Share)))
	}
	switch {
	case len(modes) > 1:
		add("modes", "%d: %s", len(modes), strings.Join(modes, ", "))
	case len(modes) == 1:
		add("modes", "one, at %s", Duration(float64(o.Modes[0].At)))
	}
	if o.Rhythm != nil {
		add("rhythm", "%s", o.Rhythm.words(in))
	}
	if b := o.Burst; b != nil {
		add("burst", "%s", b.words(in))
	}
	if c := o.Control; c.Probes > 0 {
		add("host", "a probe beside the client, 50 times a second: p50 %s, p99 %s, max %s; %d of %s above %s", Duration(float64(c.P50)), Duration(float64(c.P99)),
			Duration(float64(c.Max)), c.Slow, thousands(c.Probes), Duration(float64(controlSlow)))
	}
	if s := o.Counts; s.Duplicates+s.Reordered+s.Foreign > 0 {
		add("strays", "%d answers came twice, %d out of order, %d to no message of ours", s.Duplicates, s.Reordered, s.Foreign)
	}
	return lines
}

func (y *Rhythm) words(in tongue) string {
	if len(y.Peaks) == 0 {
		return in.say("none at %d lags; each message is like the one before it by %s (chance stays below %.2f)", len(y.Lags), likeness(y.Lags[0]), y.Bound)
	}
	var beats []string
	for _, b := range y.Peaks[:min(3, len(y.Peaks))] {
		beats = append(beats, in.say("%s (%d messages) alike by %s", Duration(float64(b.After)), b.Lag, likeness(b.R)))
	}
	return in.say("after %s; chance stays below %.2f", strings.Join(beats, ", "), y.Bound)
}

// likeness is a correlation, 1 at most.
func likeness(r float64) string { return strings.Replace(fmt.Sprintf("%.2f", r), "-0.00", "0.00", 1) }

func (b *Burst) words(in tongue) string {
	text := in.say("%d at once after %s", b.Messages, Duration(float64(b.At)))
	if b.Lost > 0 {
		text += in.say(", %d lost", b.Lost)
	}
	if b.Max != nil {
		text += in.say(", the slowest took %s", Duration(float64(*b.Max)))
	}
	if b.Recover == nil {
		return text + in.word("; not as before until the end")
	}
	return text + in.say("; as before (up to %s) after %s", Duration(float64(b.Usual)), Duration(float64(*b.Recover)))
}

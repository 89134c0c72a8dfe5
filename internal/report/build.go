package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/summary"
)

// unknown stands in tables where there is no figure.
const unknown = "–"

// lostWord stands where a percentile falls among lost messages.
const lostWord = "lost"

// build makes the document: verdict first, then what it rests on and how far to believe it, then what was run where and how
// to repeat it.
func build(s *summary.Summary, o *Options) *document {
	d := &document{title: fmt.Sprintf("mqlab run %s (%s)", s.Run.Scenario, s.Run.ID)}
	groups := groupsOf(s)
	contested := 0
	for _, g := range groups {
		if g.contested() {
			contested++
		}
	}
	if o.Searches != nil { // what they found is the verdict
		d.verdict(s, nil)
	} else {
		d.verdict(s, groups)
	}
	if o.Searches != nil {
		d.last().answers(o.Searches)
	} else if v := d.last(); len(groups) == 1 && len(groups[0].rows) == 1 && groups[0].valid() {
		v.blocks = slices.Insert(v.blocks, 0, block(groups[0].rows[0].inOneSentence()))
	}
	d.limits(o.Gate)
	d.why(s, o)
	if o.Searches != nil {
		d.found(o.Searches)
	} else {
		for _, g := range groups {
			d.group(g, contested > 1)
		}
		d.cost(s)
	}
	if len(s.Trials) == 1 {
		d.detail(&s.Trials[0])
	}
	if o.Searches == nil {
		d.messages(s, groups)
	}
	if len(s.Trials) > 1 {
		d.energies(s)
	}
	d.link(s)
	if o.Trials {
		d.trials(s)
	}
	if len(s.Trials) > 0 {
		d.validity(s)
	}
	d.head(s)
	d.last().heading = "What was run"
	d.end(s, o)
	d.sections = slices.DeleteFunc(d.sections, func(s *section) bool { return len(s.blocks) == 0 })
	return d
}

// head says what was run, when and where.
func (d *document) head(s *summary.Summary) {
	top := d.section("")
	if s.Run.Description != "" {
		top.say(plain, s.Run.Description)
	}
	h := &s.Run.Host
	var parts []string
	for _, p := range []string{h.Hostname, strings.TrimSpace(h.OS + " " + h.Kernel), h.Arch, h.CPUModel} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if h.Cores > 0 {
		parts = append(parts, summary.Plural(uint64(h.Cores), "core"))
	}
	where := ""
	if len(parts) > 0 {
		where = " on " + strings.Join(parts, ", ")
	}
	top.say(plain, fmt.Sprintf("Started %s%s; seed %d.", s.Run.Started.Format("2006-01-02 15:04:05 MST"), where, s.Run.Seed))
	if names := subjects(s); len(names) > 0 {
		top.say(plain, "Subjects: "+strings.Join(names, ", ")+".")
	}
}

// subjects lists each subject once, with the version of its broker.
func subjects(s *summary.Summary) (names []string) {
	for i := range s.Cells {
		subject := &s.Cells[i].Subject
		name := subject.Name
		if subject.Version != "" {
			name += " " + subject.Version
		}
		name += fmt.Sprintf(" (%s, %s)", subject.Publish.Protocol, subject.Runtime)
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// verdict is the answer: how many trials count, and who was better. groups are nil for a search, whose answers are sentences that name
// what ended it.
func (d *document) verdict(s *summary.Summary, groups []*group) {
	v := d.section("Verdict")
	n := map[summary.Validity]uint64{}
	for i := range s.Trials {
		n[s.Trials[i].Validity]++
	}
	total := uint64(len(s.Trials))
	switch believable := total - n[summary.Invalid]; {
	case total == 0:
		v.say(bad, "No trial was run: there is nothing to conclude.")
	case believable == 0:
		v.say(bad, "Not one valid trial of "+summary.Count(total)+": there is nothing to conclude. See Validity below.")
		if slices.ContainsFunc(reasonsOf(s, summary.Warning), func(r *reason) bool { return r.code == "host_busy" }) {
			v.say(plain, "Other programs kept this machine busy: close them, or ask for a lower rate, and measure again.")
		}
	default:
		if c := choiceOf(groups); c != nil {
			v.add(c.paragraph())
		}
		v.verdicts(groups)
	}
	if total > 0 {
		v.say(tally(n))
	}
	if groups != nil {
		v.bottlenecks(s, func(c *summary.Cell) bool { return c.Valid == 0 })
	}
	switch missing := s.Run.TrialsPlanned - len(s.Trials); {
	case missing > 0:
		v.say(bad, fmt.Sprintf("%s of %d planned trials were not run.", summary.Count(uint64(missing)), s.Run.TrialsPlanned))
	case !s.Run.Complete:
		v.say(bad, "The run did not reach its end.")
	case missing < 0:
		v.say(plain, summary.Plural(uint64(-missing), "trial")+" beyond the plan, in place of invalid ones.")
	}
}

// tally says how many trials have which validity.
func tally(n map[summary.Validity]uint64) (style, string) {
	var words []string
	var total uint64
	worst := good
	for _, v := range []struct {
		validity summary.Validity
		words    string
		style    style
	}{{summary.Valid, "valid", good}, {summary.Warning, "valid with warnings", caution}, {summary.Invalid, "invalid", bad}} {
		if k := n[v.validity]; k > 0 {
			words, total, worst = append(words, summary.Count(k)+" "+v.words), total+k, v.style
		}
	}
	return worst, summary.Plural(total, "trial") + ": " + strings.Join(words, ", ") + "."
}

// verdicts are sentences for one group, and a table of who was best for several.
func (sec *section) verdicts(groups []*group) {
	var compared []*group
	for _, g := range groups {
		if g.contested() {
			compared = append(compared, g)
		}
	}
	switch len(compared) {
	case 0:
		return
	case 1:
		sec.add(compared[0].sentences())
		return
	}
	t := &table{head: []string{"", "best at p50", "by", "best at p99", "by", "best at rate", "by"}, left: 2}
	for _, g := range compared {
		row := []string{g.heading}
		for _, m := range []string{summary.ResponseP50, summary.ResponseP99, summary.DeliveredPer} {
			who, by := best(g.comparisons[m], g.openLoop)
			row = append(row, who, by)
		}
		t.row(row...)
	}
	t.dropEmpty()
	sec.add(t)
	words := "“not shown” means that intervals and rank test do not tell the first two apart."
	if slices.Contains(t.head, "by") {
		words = "“by” is how much better than the next; " + words
	}
	sec.say(plain, words)
}

// best names the subject that all others are told apart from, and its distance to the next.
func best(c *summary.Comparison, openLoop bool) (who, by string) {
	if c == nil || len(c.Verdicts) == 0 {
		return unknown, unknown
	}
	v := c.Verdicts[0]
	if c.Better == "higher" {
		v = c.Verdicts[len(c.Verdicts)-1]
	}
	switch {
	case !v.Different && c.Metric == summary.DeliveredPer && openLoop:
		return unknown, unknown // all deliver what is offered
	case !v.Different || v.Factor == nil:
		return "not shown", unknown
	}
	return v.Better, summary.Factor(*v.Factor)
}

// validity lists what to know before believing a trial, the worst first, alike reasons once.
func (d *document) validity(s *summary.Summary) {
	v := d.section("Validity")
	var points list
	for _, level := range []struct {
		level summary.Validity
		style style
	}{{summary.Invalid, bad}, {summary.Warning, caution}, {"note", plain}} {
		for _, r := range reasonsOf(s, level.level) {
			points = append(points, paragraph{string(level.level) + " " + r.text(), level.style})
		}
	}
	if len(points) == 0 {
		v.say(good, "Nothing to object to: every trial is valid.")
		return
	}
	v.add(points)
}

// reason is one code, and the trials that have it.
type reason struct {
	code, first string
	trials      []int
	differ      bool // in their words
}

func reasonsOf(s *summary.Summary, level summary.Validity) (all []*reason) {
	for i := range s.Trials {
		t := &s.Trials[i]
		for _, r := range t.Reasons {
			if r.Level != level {
				continue
			}
			n := slices.IndexFunc(all, func(x *reason) bool { return x.code == r.Code })
			if n < 0 {
				n = len(all)
				all = append(all, &reason{code: r.Code, first: r.Text})
			}
			x := all[n]
			x.differ = x.differ || x.first != r.Text
			if !slices.Contains(x.trials, t.ID) {
				x.trials = append(x.trials, t.ID)
			}
		}
	}
	return all
}

func (r *reason) text() string {
	text := fmt.Sprintf("%s (%s): %s", r.code, trialNumbers(r.trials), r.first)
	if r.differ {
		text += fmt.Sprintf(" (trial %d; the others are alike)", r.trials[0])
	}
	return text
}

// trialNumbers writes trial numbers, consecutive ones as ranges.
func trialNumbers(ids []int) string {
	var parts []string
	for i := 0; i < len(ids); {
		j := i
		for j+1 < len(ids) && ids[j+1] == ids[j]+1 {
			j++
		}
		switch j - i {
		case 0:
			parts = append(parts, fmt.Sprint(ids[i]))
		case 1:
			parts = append(parts, fmt.Sprint(ids[i]), fmt.Sprint(ids[j]))
		default:
			parts = append(parts, fmt.Sprintf("%d–%d", ids[i], ids[j]))
		}
		i = j + 1
	}
	if len(ids) == 1 {
		return "trial " + parts[0]
	}
	return "trials " + strings.Join(parts, ", ")
}

// end says how to repeat the run and where it is.
func (d *document) end(s *summary.Summary, o *Options) {
	e := d.section("Again")
	if len(s.Run.Command) > 0 {
		e.add(command(quoted(withSeed(s.Run.Command, s.Run.Seed))))
	}
	if o.Dir != "" {
		e.add(command("mqlab report " + quoted([]string{o.Dir})))
	}
}

// withSeed adds the seed to a command that does not name one, so that the same plan is made again.
func withSeed(args []string, seed uint64) []string {
	for _, a := range args {
		if name, _, _ := strings.Cut(a, "="); name == "--seed" {
			return args
		}
	}
	return append(slices.Clone(args), "--seed", strconv.FormatUint(seed, 10))
}

// quoted writes arguments for a shell.
func quoted(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$`!*?[]{}()<>|&;#~") {
			out[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// stateWords are how a trial ended, for tables.
func stateWords(t *summary.Trial) string {
	if t.State != run.Finished {
		return string(t.State)
	}
	return string(t.Validity)
}

package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mqlab/mqlab/internal/run"
	"github.com/mqlab/mqlab/internal/summary"
)

// configuration is what was measured with what, where.
func (p *page) configuration(r *run.Run) {
	sec := p.section("Configuration, host and versions")
	if len(p.s.Trials) > 0 {
		sec.say(plain, "How the generator spoke to each subject:")
		sec.add(explained{p.clients()})
		p.settings(sec)
	}
	if r.Manifest.Source != "" {
		sec.add(folded{words: "Scenario as written", blocks: []block{source(r.Manifest.Source)}})
	}
	sec.say(plain, "Host:")
	sec.add(explained{hostTable(&p.s.Run)})
}

// firsts are the first trials of each subject.
func (p *page) firsts() (trials []*summary.Trial) {
	for i := range p.s.Trials {
		t := &p.s.Trials[i]
		if !slices.ContainsFunc(trials, func(x *summary.Trial) bool { return x.Subject.Name == t.Subject.Name }) {
			trials = append(trials, t)
		}
	}
	return trials
}

// placement is empty where it is not known.
func placement(t *summary.Trial) run.Placement {
	if t.Placement == nil {
		return run.Placement{}
	}
	return *t.Placement
}

// clients has a row for each property and a column for each subject.
func (p *page) clients() *table {
	t := &table{head: []string{""}}
	properties := []struct {
		name string
		of   func(*summary.Trial) string
	}{
		{"version", func(t *summary.Trial) string { return t.Subject.Version }},
		{"runtime", func(t *summary.Trial) string { return t.Subject.Runtime }},
		{"variant", func(t *summary.Trial) string { return t.Subject.Variant }},
		{"URL", func(t *summary.Trial) string { return t.Subject.URL }},
		{"protocol", func(t *summary.Trial) string { return t.Client.Protocol }},
		{"client", func(t *summary.Trial) string { return t.Client.Name }},
		{"engine", func(t *summary.Trial) string { return t.Client.Engine }},
		{"loops", func(t *summary.Trial) string { return positive(t.Client.Loops) }},
		{"processes", func(t *summary.Trial) string { return positive(t.Generator.Processes) }},
		{"broker's cores", func(t *summary.Trial) string { return placement(t).BrokerCores }},
		{"generator's cores", func(t *summary.Trial) string { return placement(t).GeneratorCores }},
		{"pinned", func(t *summary.Trial) string { return placement(t).Why }},
		{"quantum", func(t *summary.Trial) string { return t.Client.Quantum }},
		{"sent by", func(t *summary.Trial) string { return t.Client.Send }},
		{"written together", func(t *summary.Trial) string { return t.Client.Writes }},
		{"kernel timestamps", func(t *summary.Trial) string { return yesNo(t.Client.KernelTimestamps) }},
		{"TCP_NODELAY", func(t *summary.Trial) string { return yesNo(t.Client.NoDelay) }},
		{"congestion control", func(t *summary.Trial) string { return t.Client.CongestionControl }},
		{"TLS", func(t *summary.Trial) string { return tlsWords(t.Client.TLS) }},
		{"guarantee", func(t *summary.Trial) string { return t.Guarantee }},
		{"durability", func(t *summary.Trial) string { return t.Durability }},
		{"window", func(t *summary.Trial) string { return positive(t.Client.Window) }},
		{"broker's receive maximum", func(t *summary.Trial) string { return positive(t.Client.ReceiveMaximum) }},
		{"more", func(t *summary.Trial) string { return strings.Join(t.Client.Settings, ", ") }},
	}
	trials := p.firsts()
	for _, x := range trials {
		t.head = append(t.head, x.Subject.Name)
	}
	for _, property := range properties {
		cells, known := []string{property.name}, false
		for _, x := range trials {
			v := property.of(x)
			known = known || v != ""
			cells = append(cells, orUnknown(v))
		}
		if known {
			t.row(cells...)
		}
	}
	t.left = len(t.head)
	return t
}

// settings are the brokers' own; one that differs between trials shows its values.
func (p *page) settings(sec *section) {
	t := &table{head: []string{"subject", "setting", "source", "value"}, left: 4}
	limits := &table{head: []string{"subject", "limit", "value"}, left: 2}
	var said folded
	for i := range p.s.Trials {
		x := &p.s.Trials[i]
		for _, c := range x.Broker.Config {
			t.also(c.Value, x.Subject.Name, c.Key, c.Source)
		}
		for _, name := range sortedNames(x.Broker.Limits) {
			limits.also(strconv.FormatInt(x.Broker.Limits[name], 10), x.Subject.Name, spaced(name))
		}
		if text := strings.TrimSpace(x.Broker.Stderr); text != "" {
			said.blocks = append(said.blocks, paragraph{fmt.Sprintf("%s, trial %d:", x.Subject.Name, x.ID), plain}, source(text))
		}
	}
	if len(t.rows) > 0 {
		sec.add(folded{words: "Settings of the brokers, as they told (effective) or as they were given (as written)", blocks: []block{t}})
	}
	if len(limits.rows) > 0 {
		sec.add(folded{words: "Limits of the brokers", blocks: []block{limits}})
	}
	if said.words = "Last lines of the brokers' error output"; len(said.blocks) > 0 {
		sec.add(said)
	}
}

// differing stands behind the value of the first trial where others have another one, as a listener's port.
const differing = " (differs between trials)"

// also adds a row of cells and a value, or notes that the row has another value, too.
func (t *table) also(value string, cells ...string) {
	n := len(cells)
	i := slices.IndexFunc(t.rows, func(r []string) bool { return slices.Equal(r[:n], cells) })
	switch {
	case i < 0:
		t.row(append(slices.Clone(cells), value)...)
	case strings.TrimSuffix(t.rows[i][n], differing) != value:
		t.rows[i][n] = strings.TrimSuffix(t.rows[i][n], differing) + differing
	}
}

func sortedNames(m map[string]int64) (names []string) {
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func hostTable(r *summary.Run) *table {
	h := &r.Host
	t := &table{head: []string{"", ""}, left: 2}
	for _, x := range []struct{ name, value string }{
		{"host", h.Hostname},
		{"system", strings.TrimSpace(h.OS + " " + h.Kernel)},
		{"architecture", h.Arch},
		{"CPU", h.CPUModel},
		{"cores", positive(h.Cores)},
		{"memory", known(h.MemoryBytes)},
		{"clock source", h.ClockSource},
		{"congestion control", h.CongestionControl},
		{"mqlab", h.Version},
		{"Go", h.GoVersion},
		{"GOMAXPROCS", positive(h.GoMaxProcs)},
		{"seed", strconv.FormatUint(r.Seed, 10)},
		{"run", r.ID},
		{"started", r.Started.Format("2006-01-02 15:04:05 MST")},
	} {
		if x.value != "" {
			t.row(x.name, x.value)
		}
	}
	return t
}

func orUnknown(s string) string {
	if s == "" {
		return unknown
	}
	return s
}

func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return summary.Count(uint64(n))
}

func known(n uint64) string {
	if n == 0 {
		return ""
	}
	return summary.Bytes(n)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func tlsWords(t *run.TLS) string {
	switch {
	case t == nil:
		return ""
	case !t.Verified:
		return strings.TrimSpace("not verified " + t.Version)
	}
	return strings.TrimSpace("verified " + t.Version + " " + t.Cipher)
}

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
		sec.add(p.clients())
		p.settings(sec)
	}
	if r.Manifest.Source != "" {
		sec.add(folded{words: "Scenario as written", blocks: []block{source(r.Manifest.Source)}})
	}
	sec.say(plain, "Host:")
	sec.add(hostTable(&p.s.Run))
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

func (p *page) clients() *table {
	t := &table{
		head: []string{"subject", "version", "runtime", "variant", "protocol", "client", "engine", "loops", "quantum", "kernel timestamps", "TCP_NODELAY", "congestion control", "TLS", "guarantee", "window", "broker's receive maximum", "more"},
		left: 17,
	}
	for _, x := range p.firsts() {
		c := &x.Client
		t.row(x.Subject.Name, orUnknown(x.Subject.Version), orUnknown(x.Subject.Runtime), orUnknown(x.Subject.Variant), orUnknown(c.Protocol), orUnknown(c.Name),
			orUnknown(c.Engine), positive(c.Loops), orUnknown(c.Quantum), yesNo(c.KernelTimestamps), yesNo(c.NoDelay), orUnknown(c.CongestionControl),
			tlsWords(c.TLS), orUnknown(c.Guarantee), positive(c.Window), positive(c.ReceiveMaximum), orUnknown(strings.Join(c.Settings, ", ")))
	}
	t.dropEmpty()
	return t
}

// settings are the brokers' own, each where it differs from that of the trials before.
func (p *page) settings(sec *section) {
	t := &table{head: []string{"subject", "setting", "value", "source"}, left: 4}
	limits := &table{head: []string{"subject", "limit", "value"}, left: 2}
	var said folded
	for i := range p.s.Trials {
		x := &p.s.Trials[i]
		for _, c := range x.Broker.Config {
			t.once(x.Subject.Name, c.Key, c.Value, c.Source)
		}
		for _, name := range sortedNames(x.Broker.Limits) {
			limits.once(x.Subject.Name, spaced(name), strconv.FormatInt(x.Broker.Limits[name], 10))
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

// once adds a row that is not there yet.
func (t *table) once(cells ...string) {
	if !slices.ContainsFunc(t.rows, func(r []string) bool { return slices.Equal(r, cells) }) {
		t.row(cells...)
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
	t := &table{head: []string{"", "value"}, left: 2}
	for _, x := range []struct{ name, value string }{
		{"host", h.Hostname}, {"system", strings.TrimSpace(h.OS + " " + h.Kernel)}, {"architecture", h.Arch}, {"CPU", h.CPUModel},
		{"cores", positive(h.Cores)}, {"memory", bytesOrUnknown(h.MemoryBytes)}, {"clock source", h.ClockSource},
		{"congestion control", h.CongestionControl}, {"mqlab", h.Version}, {"Go", h.GoVersion}, {"GOMAXPROCS", positive(h.GoMaxProcs)},
		{"seed", strconv.FormatUint(r.Seed, 10)}, {"run", r.ID}, {"started", r.Started.Format("2006-01-02 15:04:05 MST")},
	} {
		if x.value != "" && x.value != unknown {
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
		return unknown
	}
	return summary.Count(uint64(n))
}

func bytesOrUnknown(n uint64) string {
	if n == 0 {
		return unknown
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
		return unknown
	case !t.Verified:
		return strings.TrimSpace("not verified " + t.Version)
	}
	return strings.TrimSpace("verified " + t.Version + " " + t.Cipher)
}

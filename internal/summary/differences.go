package summary

import (
	"cmp"
	"slices"
)

// differences lists what is not the same in the runs, the machine first, then versions and configuration of each subject, then
// parameters.
func (m *merger) differences() {
	hosts := make([]facts, len(m.runs))
	for i, s := range m.runs {
		hosts[i] = factsOf(s.Run.Host)
	}
	m.differ("host.", hosts)
	for _, x := range m.matches {
		if !x.common() {
			continue
		}
		brokers, params := make([]facts, len(m.runs)), make([]facts, len(m.runs))
		for _, c := range x.members {
			t := c.best()
			params[c.run] = paramFacts(t)
			if x.subject != "" {
				brokers[c.run] = c.brokerFacts()
			}
		}
		if x.subject != "" {
			m.differ(x.subject+" ", brokers)
		}
		m.differ("params.", params)
	}
}

// best is a valid trial of the cell, if there is one: it knows the broker's version.
func (c *member) best() *Trial {
	return slices.MaxFunc(c.trials, func(a, b *Trial) int {
		return cmp.Compare(asInt(a.Validity != Invalid), asInt(b.Validity != Invalid))
	})
}

func asInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// paramFacts are the parameters that need not be the same.
func paramFacts(t *Trial) facts {
	f := factsOf(t.Params)
	for key := range t.load() {
		delete(f, key)
	}
	delete(f, "set")
	return f
}

// brokerFacts are version, configuration and client of a subject, as far as they are the same in all trials of the cell: a
// value that is not, such as a port or a folder, is no setting but chance.
func (c *member) brokerFacts() facts {
	f := brokerFacts(c.best())
	for _, t := range c.trials {
		for key, v := range brokerFacts(t) {
			if known, ok := f[key]; ok && known != v {
				delete(f, key)
			}
		}
	}
	return f
}

// listeners are the settings by which a broker of ours is told where to listen: a free port, another one each time.
var listeners = []string{"listen", "listener"}

func brokerFacts(t *Trial) facts {
	f := facts{}
	for key, v := range factsOf(t.Client) {
		f["client."+key] = v
	}
	for _, s := range t.Broker.Config {
		if !slices.Contains(listeners, s.Key) {
			f["config."+s.Key] = s.Value
		}
	}
	for _, s := range []struct{ key, value string }{
		{"version", t.Subject.Version}, {"runtime", t.Subject.Runtime}, {"variant", t.Subject.Variant}, {"url", t.Subject.URL},
	} {
		if s.value != "" {
			f[s.key] = s.value
		}
	}
	return f
}

// differ adds the keys whose values differ between those runs that have any.
func (m *merger) differ(prefix string, of []facts) {
	for _, key := range keysOf(of...) {
		d := Difference{What: prefix + key, Values: make([]string, len(of))}
		var known []string
		for i, f := range of {
			d.Values[i] = f.get(key)
			if f != nil {
				known = append(known, d.Values[i])
			}
		}
		same := func(x Difference) bool { return x.What == d.What && slices.Equal(x.Values, d.Values) }
		if slices.Max(known) != slices.Min(known) && !slices.ContainsFunc(m.out.Differences, same) {
			m.out.Differences = append(m.out.Differences, d)
		}
	}
}

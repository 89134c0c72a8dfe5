package summary

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mqlab/mqlab/internal/run"
)

// Whether results of two runs may be set beside each other: the load must be the same, and the promise, and the machine. All
// else that is known to differ is shown and left to the reader.

// loadKeys are the parameters, by their JSON names, that make another load: results under different loads are not compared.
var loadKeys = []string{
	"pattern", "publishers", "subscribers", "rate_per_s", "pacing", "ramp_to_per_s", "burst", "payload_bytes", "payload_form", "retain",
	"faults", "persistence", "instances", "link", "connect.hold_acks", "connect.read_bytes_per_s",
}

// hostKeys are the properties that make another machine.
var hostKeys = []string{"hostname", "os", "arch", "cpu_model", "cores"}

// facts are the values of a structure under their dotted JSON names; what is absent has none.
type facts map[string]string

// factsOf flattens v. Lists are values.
func factsOf(v any) facts {
	f := facts{}
	b, err := json.Marshal(v)
	if err != nil { // no structure of ours cannot be marshalled
		return f
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var tree any
	if d.Decode(&tree) == nil {
		f.add("", tree)
	}
	return f
}

func (f facts) add(key string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, below := range v {
			f.add(strings.TrimPrefix(key+"."+name, "."), below)
		}
	case string, json.Number, bool:
		f[key] = fmt.Sprint(v)
	default:
		b, _ := json.Marshal(v) // it was JSON before
		f[key] = string(b)
	}
}

// only keeps the keys named, and those below them.
func (f facts) only(keys []string) facts {
	kept := facts{}
	for key, v := range f {
		if slices.ContainsFunc(keys, func(k string) bool { return key == k || strings.HasPrefix(key, k+".") }) {
			kept[key] = v
		}
	}
	return kept
}

// absentWord stands where one side has no value.
const absentWord = "–"

func (f facts) get(key string) string {
	if v, ok := f[key]; ok {
		return v
	}
	return absentWord
}

// apart says in words where two sets of facts differ; "" if they do not.
func (f facts) apart(o facts, here, there string) string {
	var words []string
	for _, key := range keysOf(f, o) {
		if a, b := f.get(key), o.get(key); a != b {
			words = append(words, fmt.Sprintf("%s is %s in %s, %s in %s", key, a, here, b, there))
		}
	}
	return strings.Join(words, "; ")
}

// keysOf are all keys, sorted.
func keysOf(all ...facts) []string {
	seen := map[string]bool{}
	for _, f := range all {
		for key := range f {
			seen[key] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// load is what a trial must share with those it is compared with.
func (t *Trial) load() facts {
	f := factsOf(t.Params).only(loadKeys)
	f["guarantee"], f["durability"] = t.Guarantee, cmp.Or(t.Durability, "not known")
	return f
}

// everything is load, and all other parameters.
func (t *Trial) everything() facts {
	f := factsOf(t.Params)
	delete(f, "set")
	f["guarantee"], f["durability"] = t.Guarantee, cmp.Or(t.Durability, "not known")
	return f
}

// loadIn is what tells the cells of runs apart: the load, or every parameter where a run has several cells of one subject under
// one load.
func loadIn(runs ...*Summary) func(*Trial) facts {
	for _, s := range runs {
		seen := map[string][]facts{}
		for i := range s.Cells {
			trials := s.trialsOf(s.Cells[i].Cell)
			if len(trials) == 0 {
				continue
			}
			name, load := trials[0].Subject.Name, trials[0].load()
			if slices.ContainsFunc(seen[name], func(f facts) bool { return maps.Equal(f, load) }) {
				return (*Trial).everything
			}
			seen[name] = append(seen[name], load)
		}
	}
	return (*Trial).load
}

// HostsApart says in words in what two machines differ; "" if they are one and the same as far as is known.
func HostsApart(a, b *run.Host, here, there string) string {
	return factsOf(a).only(hostKeys).apart(factsOf(b).only(hostKeys), here, there)
}

// Counterparts are the trials of run o with the same subject under the same load as cell c of s. If there are none, why says so.
func (s *Summary) Counterparts(c *Cell, o *Summary) (trials []*Trial, why string) {
	i := slices.IndexFunc(s.Trials, func(t Trial) bool { return t.Cell == c.Cell })
	if i < 0 {
		return nil, "it was not measured"
	}
	loadOf, nearest := loadIn(s, o), ""
	load := loadOf(&s.Trials[i])
	for n := range o.Trials {
		t := &o.Trials[n]
		if t.Subject.Name != c.Subject.Name {
			continue
		}
		apart := load.apart(loadOf(t), "this run", "the baseline")
		if apart == "" {
			trials = append(trials, t)
		} else if nearest == "" || len(apart) < len(nearest) {
			nearest = apart
		}
	}
	switch {
	case len(trials) > 0:
		return trials, ""
	case nearest == "":
		return nil, "the baseline has no " + c.Subject.Name
	}
	return nil, "the baseline has no such cell: " + nearest
}

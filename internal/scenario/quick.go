package scenario

import (
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Overrides are keys with their values, in the order written.
type Overrides []Assignment

// overrides reads keys with their values. Each is tried out, so that a mistake is found without the flag that they are for.
func (d decoder) overrides(n ast.Node, key string, out *Overrides) {
	entries, ok := d.entries(n, key)
	if !ok {
		d.s.problems.Add(d.pos(n), key, "is a group of dotted keys, each with its value")
		return
	}
	for _, e := range entries {
		shown := join(key, e.name)
		text, ok := d.flow(e.value, shown)
		if !ok {
			continue
		}
		tried := &Scenario{Settings: Defaults(), source: d.source, at: map[string]Pos{}}
		tried.set(shown, e.name, text)
		for _, p := range tried.problems {
			d.s.problems.Add(d.pos(e.value), shown, "%s", p.Text)
		}
		*out = append(*out, Assignment{e.name, text})
	}
}

// flow is the text of a value, or of a list of values in YAML's short form.
func (d decoder) flow(n ast.Node, key string) (string, bool) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		return d.scalar(n, key)
	}
	items := make([]string, len(seq.Values))
	for i, item := range seq.Values {
		text, ok := d.scalar(item, indexed(key, i))
		if !ok {
			return "", false
		}
		items[i] = text
	}
	return "[" + strings.Join(items, ", ") + "]", true
}

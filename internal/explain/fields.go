package explain

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/capacity"
	"github.com/mqlab/mqlab/internal/clients"
	"github.com/mqlab/mqlab/internal/clients/idle"
	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/findings"
	"github.com/mqlab/mqlab/internal/gate"
	"github.com/mqlab/mqlab/internal/jitter"
	"github.com/mqlab/mqlab/internal/summary"
)

// field is a field of the JSON that reports print. Its path has the names with dots between; those of trials begin below
// "trials".
type field struct {
	path string
	of   string // of a distribution: the path of that; else empty
}

// fields lists all fields of the JSON of report, with a gate, those that compare has besides, and those of other verbs: of diagnose below
// "diagnosis", of run clients below "clients", of run clients idle below "idle", of
// run jitter below "jitter".
func fields() []field {
	list := fieldsOf(reflect.TypeFor[summary.Summary](), "", nil)
	list = append(list, field{path: "searches"})
	list = fieldsOf(reflect.TypeFor[capacity.Result](), "searches.", list)
	list = append(list, field{path: "gate"})
	list = fieldsOf(reflect.TypeFor[gate.Gate](), "gate.", list)
	for _, f := range fieldsOf(reflect.TypeFor[summary.Across](), "", nil) {
		if !slices.Contains(list, f) {
			list = append(list, f)
		}
	}
	list = append(list, field{path: "capacities"})
	list = fieldsOf(reflect.TypeFor[capacity.Change](), "capacities.", list)
	list = fieldsOf(reflect.TypeFor[diagnose.Said](), "diagnosis.", list)
	for _, f := range fieldsOf(reflect.TypeFor[findings.RunSaid](), "diagnosis.", nil) {
		if trial, ok := strings.CutPrefix(f.path, "diagnosis.trials."); !ok || !slices.Contains(list, field{path: "diagnosis." + trial}) {
			list = append(list, f)
		}
	}
	list = fieldsOf(reflect.TypeFor[clients.Result](), "clients.", list)
	list = fieldsOf(reflect.TypeFor[clients.Decision](), "clients.", list)
	list = fieldsOf(reflect.TypeFor[idle.Result](), "idle.", list)
	for _, f := range fieldsOf(reflect.TypeFor[idle.Changes](), "idle.", nil) {
		if !slices.Contains(list, f) {
			list = append(list, f)
		}
	}
	return fieldsOf(reflect.TypeFor[jitter.Report](), "jitter.", list)
}

func fieldsOf(t reflect.Type, prefix string, list []field) []field {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() {
		return list
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-", !f.IsExported() && !f.Anonymous:
			continue
		case name == "" && f.Anonymous:
			list = fieldsOf(f.Type, prefix, list)
			continue
		}
		x := field{path: prefix + name}
		if t == reflect.TypeFor[summary.Quantiles]() {
			x.of = strings.TrimSuffix(prefix, ".")
		}
		list = append(list, x)
		next := x.path + "."
		if x.path == "trials" {
			next = ""
		}
		list = fieldsOf(f.Type, next, list)
	}
	return list
}

// text explains a field that has no text of its own, by those of dotted words; "" if it cannot. A figure of a distribution
// is explained by the figure and the distribution; anything else by the longest end of its path, of two parts or more, that
// has a text: cells.counts.lost by counts.lost.
func (f *field) text(words map[string]string) string {
	if f.of != "" {
		figure, of := words[strings.TrimPrefix(f.path, f.of+".")], words[f.of]
		if figure == "" || of == "" {
			return ""
		}
		return figure + " Of " + f.of + ": " + of
	}
	for _, end := range endings(f.path, 2) {
		if text := words[end]; text != "" {
			return text
		}
	}
	return ""
}

// forms are the ways to write the path of such a field.
func (f *field) forms() []string {
	if f.of != "" {
		return endings(f.path, 2)
	}
	return []string{f.path}
}

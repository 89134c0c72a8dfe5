package scenario

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// maxPoints bounds the product of the matrix.
const maxPoints = 10_000

// Matrix are the swept keys, the slowest first.
type Matrix []Axis

// Axis is one swept key.
type Axis struct {
	Key    string // as written
	path   string // without short forms
	Values []Value
}

// Value is one value of an axis, as written.
type Value struct {
	Text string
	At   Pos
}

// Assignment is one matrix value of a point.
type Assignment struct{ Key, Value string }

// Point is one combination of the matrix: what all subjects are compared at.
type Point struct {
	Settings
	Set []Assignment // in the order of the matrix

	scenario *Scenario
	at       map[string]Pos
}

// At is where a key was written, or the group around it, or the file.
func (p *Point) At(key string) Pos {
	if pos, ok := p.at[key]; ok {
		return pos
	}
	return p.scenario.At(key)
}

// At is where a key was written outside the matrix, or the group around it, or the file.
func (s *Scenario) At(key string) Pos {
	for key != "" {
		if pos, ok := s.at[key]; ok {
			return pos
		}
		key = key[:max(0, strings.LastIndexByte(key, '.'))]
	}
	return Pos{s.source, 1, 1}
}

// matrix reads the map of swept keys.
func (d decoder) matrix(n ast.Node, key string, m *Matrix) {
	entries, ok := d.entries(n, key)
	if !ok {
		d.s.problems.Add(d.pos(n), key, "is a group of dotted keys, each with the list of its values")
		return
	}
	for _, e := range entries {
		d.axis(e, m)
	}
}

// axis reads one swept key. Its values are tried out, so that each problem is found where it was written.
func (d decoder) axis(e entry, m *Matrix) {
	shown := join("matrix", e.name)
	if e.name == "subjects" {
		f, _ := lookup(reflect.ValueOf(d.s).Elem(), "subjects")
		d.s.at[shown] = d.pos(e.value)
		d.list(e.value, f)
		return
	}
	trial := Defaults()
	f, err := lookup(reflect.ValueOf(&trial).Elem(), e.name)
	if err != nil {
		if _, outside := lookup(reflect.ValueOf(d.s).Elem(), e.name); outside == nil {
			err = errors.New("cannot be swept: it belongs to the whole scenario")
		}
		d.s.problems.Add(e.pos, shown, "%v", err)
		return
	}
	if !f.single() {
		d.s.problems.Add(e.pos, shown, "cannot be swept: it holds more than one value")
		return
	}
	if slices.ContainsFunc(*m, func(a Axis) bool { return a.path == f.key }) {
		d.s.problems.Add(e.pos, shown, "is written twice: %s is the same key", f.key)
		return
	}
	axis := Axis{Key: e.name, path: f.key}
	seq, ok := e.value.(*ast.SequenceNode)
	if !ok || len(seq.Values) == 0 {
		d.s.problems.Add(d.pos(e.value), shown, "needs a list of values, for example [1, 2]")
		return
	}
	for _, item := range seq.Values {
		text, ok := d.single(item, field{shown, f.value, f.tag})
		if !ok {
			continue
		}
		if err := f.set(text); err != nil {
			d.s.problems.Add(d.pos(item), shown, "%v", err)
			continue
		}
		if slices.ContainsFunc(axis.Values, func(v Value) bool { return v.Text == text }) {
			d.s.problems.Add(d.pos(item), shown, "%s is in the list twice", text)
			continue
		}
		axis.Values = append(axis.Values, Value{text, d.pos(item)})
	}
	if len(axis.Values) > 0 {
		*m = append(*m, axis)
	}
}

// Points expands the matrix in the order written, and returns everything that is wrong with the scenario. Every point is
// complete: what follows from other keys is filled in.
func (s *Scenario) Points() ([]Point, Errors) {
	problems := slices.Clone(s.problems)
	s.check(&problems)
	points := []Point{{Settings: s.Settings, scenario: s, at: map[string]Pos{}}}
	for _, axis := range s.Matrix {
		if len(points)*len(axis.Values) > maxPoints {
			problems.Add(s.At("matrix"), "matrix", "more than %d combinations", maxPoints)
			return nil, problems
		}
		points = axis.expand(points)
	}
	for i := range points {
		points[i].complete()
		points[i].check(&problems)
	}
	if s.Searches() {
		s.completeSearch()
		s.checkSearch(points, &problems)
	}
	return points, problems
}

// expand multiplies the points by the values of the axis. One value tells no points apart, and is not in their names.
func (a Axis) expand(points []Point) []Point {
	var product []Point
	for _, p := range points {
		for _, v := range a.Values {
			q := p
			if len(a.Values) > 1 {
				q.Set = append(slices.Clip(p.Set), Assignment{a.Key, v.Text})
			}
			q.at = map[string]Pos{a.path: v.At}
			for key, pos := range p.at {
				q.at[key] = pos
			}
			if f, err := lookup(reflect.ValueOf(&q.Settings).Elem(), a.path); err == nil && f.set(v.Text) == nil {
				product = append(product, q)
			}
		}
	}
	return product
}

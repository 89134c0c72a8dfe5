package scenario

import (
	"bytes"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// MaxBytes bounds a scenario file, in bytes.
const MaxBytes = 64 << 10

// byteOrderMark is what some editors write in front of UTF-8; YAML 1.2, section 5.2, allows it.
const byteOrderMark = "\ufeff"

// Decode reads the scenario in data; name is the file's name, for messages. What is wrong is kept in the scenario, and
// reported by Points and Err.
func Decode(name string, data []byte) *Scenario {
	s := &Scenario{
		Name:     nameOf(name),
		Settings: Defaults(),
		Repeat:   DefaultRepeat,
		source:   name,
		at:       map[string]Pos{},
	}
	d := decoder{s, name, false}
	if body := d.parse(bytes.TrimPrefix(data, []byte(byteOrderMark))); body != nil {
		d.group(body, field{value: reflect.ValueOf(s).Elem()})
	}
	if again, ok := s.at["matrix.subjects"]; ok && s.at["subjects"] != (Pos{}) {
		s.problems.Add(again, "matrix.subjects", "subjects are written outside the matrix, too: write them once")
	}
	if len(s.Subjects) == 0 {
		s.Subjects = []Subject{{Subject: defaultSubject, At: Pos{name, 1, 1}}}
	}
	return s
}

// Err returns what is known to be wrong so far.
func (s *Scenario) Err() error { return s.problems.Err() }

// nameOf turns a file's name into a scenario's: without folder and ending, and fit for a folder's name.
func nameOf(file string) string {
	base := filepath.Base(file)
	base = strings.TrimSuffix(base, filepath.Ext(base))
	return strings.Map(func(r rune) rune {
		if !inName(r) {
			return '-'
		}
		return r
	}, base)
}

func inName(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
}

// decoder reads syntax trees into a scenario and keeps where everything was written.
type decoder struct {
	s      *Scenario
	source string
	flag   bool // source is a command-line flag: positions inside it are not shown
}

// parse returns the syntax tree of one document, or nil if there is none.
func (d decoder) parse(data []byte) (body ast.Node) {
	start := Pos{Source: d.source, Line: 1, Column: 1}
	if d.flag {
		start = Pos{Source: d.source}
	}
	if len(data) > MaxBytes {
		d.s.problems.Add(start, "", "is too large for a scenario: at most %d bytes", MaxBytes)
		return nil
	}
	defer func() {
		if recover() != nil { // the YAML parser gives up on some malformed input
			d.s.problems.Add(start, "", "not valid YAML")
			body = nil
		}
	}()
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		d.syntax(start, err)
		return nil
	}
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil:
		case body == nil:
			body = doc.Body
		default:
			d.s.problems.Add(d.pos(doc.Body), "", "a second document: a scenario is one")
		}
	}
	return body
}

func (d decoder) syntax(pos Pos, err error) {
	text := "not valid YAML"
	if e, ok := err.(yaml.Error); ok {
		text += ": " + e.GetMessage()
		if t := e.GetToken(); t != nil && t.Position != nil && !d.flag {
			pos.Line, pos.Column = max(1, t.Position.Line), max(1, t.Position.Column)
		}
	}
	d.s.problems.Add(pos, "", "%s", text)
}

// pos is where a node starts.
func (d decoder) pos(n ast.Node) Pos {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		n = m.Values[0].Key
	}
	p := Pos{Source: d.source}
	if !d.flag {
		p.Line, p.Column = 1, 1
		if t := n.GetToken(); t != nil && t.Position != nil {
			p.Line, p.Column = max(1, t.Position.Line), max(1, t.Position.Column)
		}
	}
	return p
}

// value reads a node into a key of any kind.
func (d decoder) value(n ast.Node, f field) {
	pos := d.pos(n)
	d.s.at[f.key] = pos
	if d.refused(n, f.key) {
		return
	}
	if matrix, ok := f.value.Addr().Interface().(*Matrix); ok {
		d.matrix(n, f.key, matrix)
		return
	}
	if list, ok := f.value.Addr().Interface().(*Overrides); ok {
		d.overrides(n, f.key, list)
		return
	}
	_, isMap := n.(*ast.MappingNode)
	switch short := f.tag.Get("short"); {
	case f.value.Kind() == reflect.Slice:
		if word, ok := text(n); ok && f.faults() && word == noFaults {
			f.value.SetZero()
			return
		}
		d.list(n, f)
	case f.group() && !isMap && short != "":
		if m, err := member(f.value, f, short); err == nil {
			d.value(n, m)
		}
	case f.group() && (isMap || f.value.Type() != reflect.TypeFor[Fault]()):
		d.group(n, f)
	default:
		if text, ok := d.single(n, f); ok {
			if err := f.set(text); err != nil {
				d.s.problems.Add(pos, f.key, "%v", err)
			}
		}
	}
}

// group reads a map into a struct.
func (d decoder) group(n ast.Node, f field) {
	entries, ok := d.entries(n, f.key)
	if !ok {
		d.s.problems.Add(d.pos(n), f.key, "is a group of keys: %s", strings.Join(names(fields(f.key, f.value)), ", "))
		return
	}
	for _, e := range entries {
		m, err := member(reflect.ValueOf(d.s).Elem(), f, e.name)
		if err != nil {
			d.s.problems.Add(e.pos, join(f.key, e.name), "%v", err)
			continue
		}
		d.value(e.value, m)
	}
}

// list reads a sequence into a slice; one value is a list of one.
func (d decoder) list(n ast.Node, f field) {
	items := []ast.Node{n}
	if seq, ok := n.(*ast.SequenceNode); ok {
		items = seq.Values
	}
	if len(items) == 0 {
		d.s.problems.Add(d.pos(n), f.key, "the list is empty")
	}
	list := reflect.MakeSlice(f.value.Type(), len(items), len(items))
	for i, item := range items {
		elem := field{indexed(f.key, i), list.Index(i), f.tag}
		if subject, ok := elem.value.Addr().Interface().(*Subject); ok {
			subject.At = d.pos(item)
		}
		if limit, ok := elem.value.Addr().Interface().(*Limit); ok {
			limit.Text, limit.At = d.limit(item, elem.key), d.pos(item)
			continue
		}
		d.value(item, elem)
	}
	f.value.Set(list)
}

// limit is the text of a limit. That of one subject, "nats: p99 < 5ms", is a map to YAML where it is written without quotes.
func (d decoder) limit(n ast.Node, key string) string {
	if entries, ok := d.entries(n, key); ok && len(entries) == 1 {
		if bound, ok := text(entries[0].value); ok {
			return entries[0].name + ": " + bound
		}
	}
	line, ok := text(n)
	if !ok && !d.refused(n, key) {
		d.s.problems.Add(d.pos(n), key, "is one line of text, such as \"p99 < 5ms\" or \"nats: lost = 0\"")
	}
	return line
}

type entry struct {
	name  string
	pos   Pos
	value ast.Node
}

// entries are the keys of a map with their values, without those written twice; ok is false if n is no map.
func (d decoder) entries(n ast.Node, path string) (list []entry, ok bool) {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		return nil, false
	}
	first := map[string]Pos{}
	for _, v := range m.Values {
		pos := d.pos(v.Key)
		name, ok := text(v.Key)
		if !ok {
			d.s.problems.Add(pos, path, "a key must be a plain word")
			continue
		}
		if at, twice := first[name]; twice {
			d.s.problems.Add(pos, join(path, name), "is written twice; first at %s", at)
			continue
		}
		first[name] = pos
		list = append(list, entry{name, pos, v.Value})
	}
	return list, true
}

// refused reports whether n is something that has no meaning for any key.
func (d decoder) refused(n ast.Node, key string) bool {
	switch n.(type) {
	case *ast.NullNode:
		d.s.problems.Add(d.pos(n), key, "is empty: write a value or remove the key")
	case *ast.AliasNode, *ast.AnchorNode, *ast.TagNode:
		d.s.problems.Add(d.pos(n), key, "anchors, aliases and tags are not used in scenarios: write the value")
	default:
		return false
	}
	return true
}

// single is the text of a node that must hold one value. That of a machine may be a group of its parts.
func (d decoder) single(n ast.Node, f field) (string, bool) {
	if entries, ok := d.entries(n, f.key); ok && f.machine() {
		parts := make([]string, len(entries))
		for i, e := range entries {
			value, ok := d.scalar(e.value, join(f.key, e.name))
			if !ok {
				return "", false
			}
			parts[i] = e.name + ": " + value
		}
		return "{" + strings.Join(parts, ", ") + "}", true
	}
	return d.scalar(n, f.key)
}

// scalar is the text of a node that must hold one value.
func (d decoder) scalar(n ast.Node, key string) (string, bool) {
	text, ok := text(n)
	if !ok && !d.refused(n, key) {
		d.s.problems.Add(d.pos(n), key, "takes one value; lists of values stand under matrix")
	}
	return text, ok
}

// text is the text of a scalar node, as written.
func text(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return strings.TrimRight(n.Value.Value, "\n"), true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// indexed is the key of one element of a list.
func indexed(key string, i int) string { return fmt.Sprintf("%s[%d]", key, i) }

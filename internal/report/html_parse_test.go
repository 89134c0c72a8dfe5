package report

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
)

// node is an element of a parsed page.
type node struct {
	name  string
	attrs map[string]string
	text  string // all text below, in order
	kids  []*node
}

var code = regexp.MustCompile(`(?s)<(script|style)>.*?</(script|style)>`)

// parse reads a page, which must be well-formed but for its code.
func parse(t *testing.T, page string) *node {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(code.ReplaceAllString(page, "")))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	root := new(node)
	path := []*node{root}
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return root
		}
		if err != nil {
			t.Fatal(err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			n := &node{name: tok.Name.Local, attrs: map[string]string{}}
			for _, a := range tok.Attr {
				n.attrs[a.Name.Local] = a.Value
			}
			top := path[len(path)-1]
			top.kids, path = append(top.kids, n), append(path, n)
		case xml.EndElement:
			path = path[:len(path)-1]
		case xml.CharData:
			for _, n := range path {
				n.text += string(tok)
			}
		}
	}
}

// all returns the elements below n with that name, in order.
func (n *node) all(name string) (out []*node) {
	for _, k := range n.kids {
		if k.name == name {
			out = append(out, k)
		}
		out = append(out, k.all(name)...)
	}
	return out
}

// htmlTables reads the tables of a section as rows under their heads; of columns of the same name the first counts.
func htmlTables(sec *node) (tables []parsedTable) {
	for _, t := range sec.all("table") {
		var head []string
		parsed := parsedTable{kind: "cells"}
		for i, tr := range t.all("tr") {
			var cells []string
			for _, c := range tr.kids {
				cells = append(cells, c.text)
			}
			if i == 0 {
				head = cells
				if head[0] == "trial" {
					parsed.kind = "trials"
				}
				continue
			}
			row := map[string]string{}
			for c, cell := range cells {
				if _, twice := row[head[c]]; !twice {
					row[head[c]] = cell
				}
			}
			parsed.rows = append(parsed.rows, row)
		}
		tables = append(tables, parsed)
	}
	return tables
}

func htmlSection(root *node, id string) *node {
	for _, s := range root.all("section") {
		if s.attrs["id"] == id {
			return s
		}
	}
	return new(node)
}

func checkAttributes(t *testing.T, n *node) {
	t.Helper()
	for name := range n.attrs {
		if strings.HasPrefix(name, "on") {
			t.Errorf("<%s %s>", n.name, name)
		}
	}
	for _, k := range n.kids {
		checkAttributes(t, k)
	}
}

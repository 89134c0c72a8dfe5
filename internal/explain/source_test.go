package explain

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// parse reads the Go files of a pattern, tests excepted.
func parse(t *testing.T, pattern string) (all []*ast.File) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	if len(all) == 0 {
		t.Fatalf("there is no %s", pattern)
	}
	return all
}

// words is a set in the order of its first additions.
type words []string

func (w *words) add(more ...string) {
	for _, word := range more {
		if word != "" && !slices.Contains(*w, word) {
			*w = append(*w, word)
		}
	}
}

// text is the value of a string literal, or "".
func text(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	s, _ := strconv.Unquote(lit.Value)
	return s
}

// texts are the string literals in a composite literal.
func texts(e ast.Expr) (all []string) {
	list, ok := e.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	for _, item := range list.Elts {
		all = append(all, text(item))
	}
	return all
}

// called is the name of the function or method that is called.
func called(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// arguments are the n-th arguments of all calls of a function. They must be literals, or the field variable of something.
func arguments(t *testing.T, pattern, function string, n int, variable ...string) (found words) {
	t.Helper()
	for _, file := range parse(t, pattern) {
		ast.Inspect(file, func(node ast.Node) bool {
			c, ok := node.(*ast.CallExpr)
			if !ok || called(c) != function || len(c.Args) <= n {
				return true
			}
			word := text(c.Args[n])
			s, selected := c.Args[n].(*ast.SelectorExpr)
			if word == "" && !(selected && slices.Contains(variable, s.Sel.Name)) {
				t.Errorf("%s: %s is called with an argument that is no literal", pattern, function)
			}
			found.add(word)
			return true
		})
	}
	return found
}

// headings are the words above columns of the tables in package report: the field head of any struct, and what is appended
// to one.
func headings(t *testing.T) (found words) {
	t.Helper()
	files := parse(t, "../report/*.go")
	at := headFields(files)
	for _, file := range files {
		ast.Inspect(file, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "head" {
					found.add(texts(n.Value)...)
				}
			case *ast.CallExpr:
				if called(n) == "append" && isHead(n.Args[0]) {
					for _, a := range n.Args[1:] {
						found.add(text(a))
					}
				}
			case *ast.CompositeLit:
				if i, ok := at[elementOf(n)]; ok {
					for _, row := range n.Elts {
						if r, ok := row.(*ast.CompositeLit); ok && i < len(r.Elts) {
							found.add(text(r.Elts[i]))
						}
					}
				}
			}
			return true
		})
	}
	return found
}

func isHead(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "head"
}

// headFields says at which place a struct has a field head of type string; structs without a name are named by their fields.
func headFields(files []*ast.File) map[string]int {
	at := map[string]int{}
	for _, file := range files {
		ast.Inspect(file, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.TypeSpec:
				if s, ok := n.Type.(*ast.StructType); ok {
					place(at, n.Name.Name, s)
				}
			case *ast.ArrayType:
				if s, ok := n.Elt.(*ast.StructType); ok {
					place(at, fieldNames(s), s)
				}
			}
			return true
		})
	}
	return at
}

func place(at map[string]int, name string, s *ast.StructType) {
	i := 0
	for _, f := range s.Fields.List {
		for _, n := range f.Names {
			if kind, ok := f.Type.(*ast.Ident); n.Name == "head" && ok && kind.Name == "string" {
				at[name] = i
			}
			i++
		}
	}
}

func fieldNames(s *ast.StructType) string {
	var names words
	for _, f := range s.Fields.List {
		for _, n := range f.Names {
			names.add(n.Name)
		}
	}
	return strings.Join(names, " ")
}

// elementOf names the type of the elements of a slice literal.
func elementOf(list *ast.CompositeLit) string {
	a, ok := list.Type.(*ast.ArrayType)
	if !ok {
		return ""
	}
	switch e := a.Elt.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StructType:
		return fieldNames(e)
	}
	return ""
}

package explain

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// TestProbe: every question of a probe has a text, and every other text a word that its answers are made of.
func TestProbe(t *testing.T) {
	questions := constants(t, "../probe/questions.go", "")
	if len(questions) < 25 {
		t.Errorf("only %d questions are found: %v", len(questions), questions)
	}
	var said []string
	for _, file := range parse(t, "../probe/*.go") {
		ast.Inspect(file, func(node ast.Node) bool {
			if lit, ok := node.(*ast.BasicLit); ok {
				said = append(said, text(lit))
			}
			return true
		})
	}
	i := slices.IndexFunc(sources, func(s source) bool { return s.file == "probe" })
	var have words
	for _, e := range sources[i].read() {
		have.add(e.Word)
		if !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, e.Word) }) {
			t.Errorf("%q exists nowhere", e.Word)
		}
	}
	for _, q := range questions {
		if !slices.Contains(have, q) {
			t.Errorf("%q is not explained", q)
		}
	}
}

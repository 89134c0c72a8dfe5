package explain

import (
	"slices"
	"testing"

	"github.com/mqlab/mqlab/internal/check"
)

// TestChecks: the rules of a check and their texts are the same words.
func TestChecks(t *testing.T) {
	i := slices.IndexFunc(sources, func(s source) bool { return s.file == "checks" })
	var have []string
	for _, e := range sources[i].read() {
		have = append(have, e.Word)
	}
	if want := check.RuleNames(); !slices.Equal(have, want) {
		t.Errorf("%v are explained, there are %v", have, want)
	}
}

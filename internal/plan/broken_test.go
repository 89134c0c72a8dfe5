package plan_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/scenario"
	"github.com/mqlab/mqlab/scenarios"
)

// brokenBytes is how much of broken scenario files is tried.
const brokenBytes = 100 << 10

// Files that a slip of the hand or a bad disk has changed: each is read, or refused in lines that say where. Nothing panics.
func TestBrokenFiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	refused, tried := 0, 0
	for total := 0; total < brokenBytes; tried++ {
		names := scenarios.Names()
		text, err := scenarios.Read(names[rng.IntN(len(names))])
		if err != nil {
			t.Fatal(err)
		}
		broken := breakText(rng, text)
		total += len(broken)
		_, err = plan.Resolve(scenario.Decode("broken.yaml", broken), plan.Options{Seed: 1})
		if err == nil {
			continue
		}
		refused++
		var problems scenario.Errors
		if !errors.As(err, &problems) || len(problems) == 0 {
			t.Fatalf("refused without a place: %v\n%s", err, broken)
		}
		for _, p := range problems {
			if line := p.Error(); !strings.HasPrefix(line, "broken.yaml:") || strings.ContainsAny(line, "\n\r") || len(line) > 400 {
				t.Errorf("not one clear line: %q\n%s", line, broken)
			}
		}
	}
	if refused < tried/2 {
		t.Errorf("only %d of %d broken files were refused: they are not broken enough to show anything", refused, tried)
	}
}

// breakText returns text with up to five changes.
func breakText(rng *rand.Rand, text []byte) []byte {
	b := append([]byte(nil), text...)
	for range 1 + rng.IntN(5) {
		at := rng.IntN(len(b))
		switch rng.IntN(5) {
		case 0: // a byte changes
			b[at] = byte(rng.IntN(256))
		case 1: // a piece is missing
			b = append(b[:at], b[min(at+1+rng.IntN(20), len(b)):]...)
		case 2: // a piece stands twice
			piece := string(b[at:min(at+1+rng.IntN(40), len(b))])
			b = append(b[:at], append([]byte(piece+piece), b[at+len(piece):]...)...)
		case 3: // something of YAML's own
			marks := []string{"- ", "[", "}", "&a ", "*a", ": ", "|\n", "\t", "---\n", "'", "\"", "!!int ", "{", "#"}
			mark := marks[rng.IntN(len(marks))]
			b = append(b[:at], append([]byte(mark), b[at:]...)...)
		case 4: // the file is cut
			b = b[:max(at, 1)]
		}
		if len(b) == 0 {
			b = []byte("x")
		}
	}
	return b
}

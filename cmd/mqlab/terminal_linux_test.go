package main

import (
	"errors"
	"io"
	"os"
	"testing"
)

// TestTerminal: what a terminal shows depends on what it can do and on what its user wants, also behind the standard output of a
// verb.
func TestTerminal(t *testing.T) {
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no pseudo-terminal: ", err)
	}
	defer f.Close()
	for _, c := range []struct {
		term, noColor     string
		rewrites, colours bool
	}{
		{"xterm", "", true, true},
		{"xterm", "1", true, false},
		{"dumb", "", false, false},
	} {
		t.Setenv("TERM", c.term)
		t.Setenv("NO_COLOR", c.noColor)
		for _, w := range []io.Writer{f, &output{Writer: f}} {
			if rewrites(w) != c.rewrites || colours(w) != c.colours {
				t.Errorf("TERM=%s NO_COLOR=%s: rewrites %v, colours %v", c.term, c.noColor, rewrites(w), colours(w))
			}
		}
	}
	if w := new(output); rewrites(w) || colours(w) || terminalWidth(w) != defaultWidth {
		t.Error("no file is a terminal")
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestOutputKeepsFirstError: a later error hides nothing.
func TestOutputKeepsFirstError(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	o := &output{Writer: failing{first}}
	_, _ = o.Write(nil)
	o.Writer = failing{second}
	_, _ = o.Write(nil)
	o.Writer = io.Discard
	_, _ = o.Write(nil)
	if !errors.Is(o.err, first) {
		t.Errorf("kept %v", o.err)
	}
}

package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestHelpFits: the help of every verb is right on a terminal of 80 columns, and says in a line what the verb does.
func TestHelpFits(t *testing.T) {
	root := newRoot()
	for _, verb := range append(root.Commands(), root) {
		if verb.Short == "" {
			t.Errorf("%s has no description", verb.Name())
		}
		var out, complaints bytes.Buffer
		args := append(strings.Fields(verb.CommandPath())[1:], "--help")
		if code := execute(t.Context(), args, &out, &complaints); code != exitDone || complaints.Len() > 0 {
			t.Errorf("%v: exit code %d: %s", args, code, &complaints)
		}
		for line := range strings.Lines(out.String()) {
			if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > defaultWidth {
				t.Errorf("%v: wider than %d columns: %s", args, defaultWidth, line)
			}
		}
	}
}

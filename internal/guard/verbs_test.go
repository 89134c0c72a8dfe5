package guard

import (
	"io"
	"slices"
	"testing"
)

// TestVerbs: a verb is the first argument, and gets those behind it; anything else is left to the program.
func TestVerbs(t *testing.T) {
	var got []string
	v := Verbs{"echo": func(args []string, _ io.Reader, _ io.Writer) int { got = args; return 7 }}
	if code, asked := v.Do([]string{"echo", "a", "echo"}); code != 7 || !asked || !slices.Equal(got, []string{"a", "echo"}) {
		t.Errorf("exit code %d, asked %v, arguments %q", code, asked, got)
	}
	for _, args := range [][]string{nil, {"other"}, {"a", "echo"}} {
		if code, asked := v.Do(args); code != 0 || asked {
			t.Errorf("%q: exit code %d, asked %v", args, code, asked)
		}
	}
}

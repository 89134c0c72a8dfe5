package space

import (
	"os"
	"strings"
	"testing"
)

func TestProgramThatCannotEnter(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "usage: enter"},
		{[]string{"/nonesuch", "/bin/true", "true"}, "open network namespace: no such file"},
		{[]string{os.DevNull, "/bin/true", "true"}, "enter network namespace: "},
	} {
		if err := become(c.args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, expected %q", c.args, err, c.want)
		}
	}
}

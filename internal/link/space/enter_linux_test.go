package space

import (
	"errors"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/needs"
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

// TestClosed: who comes late is told so.
func TestClosed(t *testing.T) {
	s, err := New()
	if err != nil {
		needs.Root(t, err)
	}
	if err := s.Do(func() error { return errors.New("mine") }); err == nil || err.Error() != "mine" {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	p := &Place{Space: s}
	_, dialErr := p.Dial(t.Context(), "tcp", "127.0.0.1:1")
	_, listenErr := p.Listen(t.Context(), "tcp", "127.0.0.1:0")
	for what, err := range map[string]error{"do": s.Do(func() error { return nil }), "dial": dialErr, "listen": listenErr} {
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

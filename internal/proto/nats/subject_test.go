package nats

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, subject string
		want             bool
	}{
		{"a", "a", true},
		{"a", "b", false},
		{"a", "a.b", false},
		{"a.b", "a", false},
		{"*", "a", true},
		{"*", "a.b", false},
		{"*.*", "a.b", true},
		{"a.*.c", "a.b.c", true},
		{"a.*.c", "a.b.d", false},
		{">", "a", true},
		{">", "a.b.c", true},
		{"a.>", "a", false},
		{"a.>", "a.b", true},
		{"a.>", "a.b.c", true},
		{"a.>", "b.c", false},
		{"*.b.>", "a.b.c.d", true},
		{"a*", "ab", false},
		{"a*", "a*", true},
		{"ab", "a", false},
	} {
		if got := Match(c.pattern, []byte(c.subject)); got != c.want {
			t.Errorf("Match(%q, %q) = %v", c.pattern, c.subject, got)
		}
	}
}

// FuzzSubject compares with nats-server, which lets more control characters through.
func FuzzSubject(f *testing.F) {
	for _, s := range []string{"", "a", "a.b", "a..b", ".", "a.", "*", "a.*", ">", "a.>", ">.a", "a>", "a>.b", "*a", "a b", "a\x01"} {
		f.Add(s, "a.b")
		f.Add("a.*", s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, s := range []string{a, b} {
			if len(s) > 1000 {
				return
			}
			control := false
			for _, c := range []byte(s) {
				control = control || c <= ' '
			}
			if got, want := checkPattern([]byte(s)) == nil, server.IsValidSubject(s) && !control; got != want {
				t.Errorf("checkPattern(%q) passes: %v, want %v", s, got, want)
			}
			if got, want := checkSubject([]byte(s)) == nil, server.IsValidLiteralSubject(s) && server.IsValidSubject(s) && !control; got != want {
				t.Errorf("checkSubject(%q) passes: %v, want %v", s, got, want)
			}
		}
		if checkPattern([]byte(a)) != nil || checkSubject([]byte(b)) != nil {
			return
		}
		// A subject has no wildcards, so that colliding and matching are the same.
		if got, want := Match(a, b), server.SubjectsCollide(a, b); got != want {
			t.Errorf("Match(%q, %q) = %v, nats-server says %v", a, b, got, want)
		}
	})
}

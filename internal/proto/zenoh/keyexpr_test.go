package zenoh

import "testing"

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		expr, key string
		want      bool
	}{
		{"a", "a", true},
		{"a", "b", false},
		{"a", "a/b", false},
		{"a/b", "a", false},
		{"*", "a", true},
		{"*", "a/b", false},
		{"a/*", "a", false},
		{"a/*/c", "a/b/c", true},
		{"a/*/c", "a/b/d", false},
		{"**", "a/b/c", true},
		{"a/**", "a", true},
		{"a/**", "a/b/c", true},
		{"a/**", "b", false},
		{"**/c", "c", true},
		{"**/c", "a/b/c", true},
		{"**/c", "a/b", false},
		{"a/**/c/*", "a/x/c/y/c/z", true},
		{"**/**", "a", true},
		{"*", "@a", false}, // what begins with @ is matched by itself only
		{"**", "a/@b/c", false},
		{"a/@b/*", "a/@b/c", true},
		{"*", "/a", false},
	} {
		if got := Match(c.expr, []byte(c.key)); got != c.want {
			t.Errorf("Match(%q, %q) = %v", c.expr, c.key, got)
		}
	}
}

func TestCut(t *testing.T) {
	for key, want := range map[string][2]string{
		"a/b": {"a/b", ""}, "a/*/b": {"a", "/*/b"}, "**": {"", "**"}, "a/b/**": {"a/b", "/**"},
	} {
		if prefix, suffix := cut(key); prefix != want[0] || suffix != want[1] {
			t.Errorf("%s is cut to %q and %q", key, prefix, suffix)
		}
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("a/**/c", "a/b/c")
	f.Fuzz(func(t *testing.T, expr, key string) {
		Match(expr, []byte(key)) // no panic
		if checkKey(key, false) == nil && !Match(key, []byte(key)) {
			t.Errorf("%q does not match itself", key)
		}
	})
}

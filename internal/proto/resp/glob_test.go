package resp

import "testing"

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true},
		{"", "a", false},
		{"a", "a", true},
		{"a", "", false},
		{"a", "b", false},
		{"*", "", true},
		{"*", "a/b", true},
		{"a/*", "a/b/c", true},
		{"a/*", "a", false},
		{"*/b", "x/y/b", true},
		{"a*b*c", "a1b2b3c", true},
		{"a*b*c", "a1b2b3", false},
		{"**a", "xa", true},
		{"*a*", "bab", true},
		{"?", "a", true},
		{"?", "", false},
		{"a?c", "abc", true},
		{"a?c", "ac", false},
		{"[abc]", "b", true},
		{"[abc]", "d", false},
		{"[^abc]", "d", true},
		{"[^abc]", "a", false},
		{"[a-c]x", "bx", true},
		{"[c-a]", "b", true},
		{"[a-c]", "d", false},
		{"[a-]", "-", false},
		{"[a-]", "^", true},
		{`[\]]`, "]", true},
		{"[ab", "a", true},
		{"[ab", "c", false},
		{"[", "a", false},
		{`\*`, "*", true},
		{`\*`, "a", false},
		{`a\`, `a\`, true},
	} {
		if got := Match(c.pattern, c.s); got != c.want {
			t.Errorf("Match(%q, %q) = %v", c.pattern, c.s, got)
		}
	}
}

// FuzzMatch compares with the plain recursive definition.
func FuzzMatch(f *testing.F) {
	f.Add("a*b?[c-e]*", "aabxdd")
	f.Add(`*\*[^x]`, "**y")
	f.Fuzz(func(t *testing.T, pattern, s string) {
		if len(pattern) > 12 || len(s) > 12 {
			return
		}
		if got, want := Match(pattern, s), matchPlainly(pattern, s); got != want {
			t.Errorf("Match(%q, %q) = %v, want %v", pattern, s, got, want)
		}
	})
}

func matchPlainly(pattern, s string) bool {
	switch {
	case pattern == "":
		return s == ""
	case pattern[0] == '*':
		return matchPlainly(pattern[1:], s) || s != "" && matchPlainly(pattern, s[1:])
	case s == "":
		return false
	}
	size, ok := matchOne(pattern, 0, s[0])
	return ok && matchPlainly(pattern[size:], s[1:])
}

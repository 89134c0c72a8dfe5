package amqp091

import (
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	for binding, c := range map[string]struct{ yes, no string }{
		"a":         {"a", "b a.a aa"},
		"a.*":       {"a.b a.", "a a.b.c b.a"},
		"*.b":       {"a.b .b", "b a.b.b a.c"},
		"a.#":       {"a a.b a.b.c", "b b.a aa"},
		"#":         {"a a.b a.b.c .", ""},
		"#.b":       {"b a.b a.b.b a.b.c.b", "a b.a bb"},
		"a.#.z":     {"a.z a.b.z a.z.z a.z.b.z", "a z a.z.b"},
		"#.b.#.c.#": {"b.c a.b.c b.x.c.y b.b.c c.b.c", "c.b b c"},
		"*.#":       {"a a.b", ""},
		"#.*":       {"a a.b", ""},
		"*.#.*":     {"a.b a.b.c", "a"},
		"a*":        {"a*", "a ab"},
	} {
		for _, key := range strings.Fields(c.yes) {
			if !Match(binding, key) {
				t.Errorf("%s does not match %s", binding, key)
			}
		}
		for _, key := range strings.Fields(c.no) {
			if Match(binding, []byte(key)) {
				t.Errorf("%s matches %s", binding, key)
			}
		}
	}
	for binding, want := range map[string]bool{"": true, "#": true, "#.#": true, "a": false, "*": false} {
		if Match(binding, "") != want {
			t.Errorf("Match(%q, empty) is %v", binding, !want)
		}
	}
	if Match("", "a") {
		t.Error("the empty binding matches a")
	}
	if hard := strings.Repeat("#.a.", 30) + "b"; Match(hard, strings.Repeat("a.", 200)+"c") {
		t.Error("a hard one matches")
	}
}

// FuzzMatch compares with the definition, by recursion over words.
func FuzzMatch(f *testing.F) {
	f.Add("a.#.b.*", "a.b.c.b.x")
	f.Add("#.#", "")
	f.Fuzz(func(t *testing.T, binding, key string) {
		if len(binding) > 12 || len(key) > 12 {
			return
		}
		if got, want := Match(binding, key), matchWords(words(binding), words(key)); got != want {
			t.Errorf("Match(%q, %q) is %v", binding, key, got)
		}
	})
}

func words(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ".")
}

func matchWords(binding, key []string) bool {
	switch {
	case len(binding) == 0:
		return len(key) == 0
	case binding[0] == "#":
		return matchWords(binding[1:], key) || (len(key) > 0 && matchWords(binding, key[1:]))
	}
	return len(key) > 0 && (binding[0] == "*" || binding[0] == key[0]) && matchWords(binding[1:], key[1:])
}

package mqtt

import (
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	tests := []struct {
		filter, topic string
		want          bool
	}{
		{"a/b", "a/b", true},
		{"a/b", "a/c", false},
		{"a/b", "a", false},
		{"a", "a/b", false},
		{"a/b", "a/bc", false},
		{"a/+", "a/b", true},
		{"a/+", "a", false},
		{"a/+", "a/", true},
		{"a/+", "a/b/c", false},
		{"+", "a", true},
		{"+", "/a", false},
		{"+/+", "/a", true},
		{"/+", "/a", true},
		{"+/b/+", "a/b/c", true},
		{"#", "a/b/c", true},
		{"#", "/", true},
		{"a/#", "a", true},
		{"a/#", "a/", true},
		{"a/#", "a/b/c", true},
		{"a/#", "ab", false},
		{"a/+/#", "a", false},
		{"a/+/#", "a/b", true},
		{"+/#", "a", true},
		{"sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon", true},
		{"#", "$SYS/x", false},
		{"+/x", "$SYS/x", false},
		{"$SYS/#", "$SYS/x", true},
		{"$SYS/+", "$SYS/x", true},
		{"$share/g/a/+", "a/b", true},
		{"$share/g/a/+", "b/b", false},
		{"$share/g/#", "a", true},
		{"$share/g/#", "$SYS/x", false},
		{"A", "a", false},
		{"//", "//", true},
		{"//", "/", false},
	}
	for _, tt := range tests {
		if got := Match(tt.filter, tt.topic); got != tt.want {
			t.Errorf("Match(%q, %q) = %v", tt.filter, tt.topic, got)
		}
		if got := Match([]byte(tt.filter), []byte(tt.topic)); got != tt.want {
			t.Errorf("Match of bytes (%q, %q) = %v", tt.filter, tt.topic, got)
		}
	}
	if n := testing.AllocsPerRun(100, func() { Match("a/+/c/#", "a/b/c/d/e") }); n != 0 {
		t.Errorf("Match allocates %v times", n)
	}
}

func TestCheckTopic(t *testing.T) {
	for _, topic := range []string{"a", "/", "a/b", "$SYS/x", "ä/€", "a b", strings.Repeat("x", 65535)} {
		if err := checkTopic([]byte(topic)); err != nil {
			t.Errorf("%.20q: %v", topic, err)
		}
	}
	for _, topic := range []string{"", "a/+", "#", "a\x00b", "a\xff", "\xed\xa0\x80", strings.Repeat("x", 65536)} {
		if checkTopic([]byte(topic)) == nil {
			t.Errorf("%.20q is accepted", topic)
		}
	}
}

func TestCheckFilter(t *testing.T) {
	for _, filter := range []string{"a", "/", "#", "+", "a/#", "+/a/+", "a/+/#", "$SYS/#", "$share/g/a", "$share/g/#", "$share"} {
		if err := checkFilter(filter); err != nil {
			t.Errorf("%q: %v", filter, err)
		}
	}
	for _, filter := range []string{"", "a#", "a/#/b", "#/a", "a+", "a/b+/c", "a\x00", "\xff", "$share/", "$share/g", "$share/g/", "$share//a", "$share/+/a", "$share/g/a+", strings.Repeat("x", 65536)} {
		if checkFilter(filter) == nil {
			t.Errorf("%.20q is accepted", filter)
		}
	}
}

// FuzzMatch compares Match with a definition by recursion over levels.
func FuzzMatch(f *testing.F) {
	f.Add("a/+/#", "a/b/c")
	f.Add("#", "$x")
	f.Add("a/#", "a")
	f.Fuzz(func(t *testing.T, filter, topic string) {
		if checkFilter(filter) != nil || checkTopic([]byte(topic)) != nil || strings.HasPrefix(filter, "$share/") {
			t.Skip()
		}
		want := matchLevels(strings.Split(filter, "/"), strings.Split(topic, "/"))
		if topic[0] == '$' && (filter[0] == '+' || filter[0] == '#') {
			want = false
		}
		if got := Match(filter, topic); got != want {
			t.Errorf("Match(%q, %q) = %v", filter, topic, got)
		}
	})
}

func matchLevels(filter, topic []string) bool {
	switch {
	case len(filter) == 0:
		return len(topic) == 0
	case filter[0] == "#":
		return true
	case len(topic) == 0:
		return false
	}
	return (filter[0] == "+" || filter[0] == topic[0]) && matchLevels(filter[1:], topic[1:])
}

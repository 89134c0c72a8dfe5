package scenario

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestLimits(t *testing.T) {
	for text, want := range map[string][]string{
		"limits: [p99 < 5ms, lost = 0]":                     {"p99 < 5ms", "lost = 0"},
		"limits: p99 < 5ms":                                 {"p99 < 5ms"},
		"limits:\n- 'nats: p99 < 5ms'\n- nats: lost = 0\n":  {"nats: p99 < 5ms", "nats: lost = 0"},
		"limits:\n- p99 not worse than baseline * 1.1\n":    {"p99 not worse than baseline * 1.1"},
		"limits:\n- mqtt://host:1883: lost = 0\n":           {"mqtt://host:1883: lost = 0"},
		"limits:\n- \"delivered_per_s >= 9500\"\nrepeat: 3": {"delivered_per_s >= 9500"},
	} {
		s := Decode("x.yaml", []byte(text))
		var got []string
		for _, l := range s.Limits {
			got = append(got, l.Text)
		}
		if s.Err() != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", text, got, s.Err())
		}
	}
}

func TestLimitProblemsHaveTheirPlace(t *testing.T) {
	for text, want := range map[string]string{
		"limits:\n- p99 < 5ms\n- bad\n":        "x.yaml:3:3: limits[1]: is bad",
		"limits:\n- [a, b]\n":                  "x.yaml:2:3: limits[0]: is one line of text",
		"limits:\n- {a: 1, b: 2}\n":            "x.yaml:2:3: limits[0]: is one line of text",
		"limits:\n- {a: [1]}\n":                "x.yaml:2:3: limits[0]: is one line of text",
		"limits:\n-\n":                         "x.yaml:2:3: limits[0]: is empty",
		"limits: []\n":                         "limits: the list is empty",
		"limits:\n":                            "limits: is empty",
		"matrix: {limits: [p99 < 5ms, bad]}\n": "cannot be swept",
	} {
		s := Decode("x.yaml", []byte(text))
		s.CheckLimits(func(text string) error {
			if text == "bad" {
				return errors.New("is bad")
			}
			return nil
		})
		if err := s.Err(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	s := Decode("x.yaml", nil)
	s.Limit("bad")
	s.CheckLimits(func(string) error { return errors.New("is bad") })
	if err := s.Err(); err == nil || err.Error() != "--limit bad: is bad" {
		t.Error(err)
	}
}

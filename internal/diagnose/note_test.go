package diagnose

import (
	"strings"
	"testing"
)

// Every remark is there in every language, and has room for the same things.
func TestNotesOfAllLanguages(t *testing.T) {
	notes := func(language string) map[string]int {
		list := map[string]int{}
		for key, text := range texts()[language] {
			if strings.HasPrefix(key, "note.") {
				list[key] = strings.Count(strings.ReplaceAll(text, "%%", ""), "%")
			}
		}
		return list
	}
	want := notes("en")
	if len(want) == 0 {
		t.Fatal("there are no notes")
	}
	for _, language := range Languages[1:] {
		got := notes(language)
		for key, n := range want {
			if m, ok := got[key]; !ok || m != n {
				t.Errorf("%s of %s has room for %d things, in English for %d", key, language, m, n)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s has %d notes, English %d", language, len(got), len(want))
		}
	}
}

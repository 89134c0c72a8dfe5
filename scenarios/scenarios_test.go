package scenarios

import (
	"slices"
	"strings"
	"testing"
)

func TestEveryFileIsNamed(t *testing.T) {
	entries, err := files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		found = append(found, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	if want := slices.Sorted(slices.Values(Names())); !slices.Equal(found, want) {
		t.Errorf("files %v, names %v", found, want)
	}
	if !slices.Contains(Names(), Default) {
		t.Errorf("default %s is not there", Default)
	}
}

func TestRead(t *testing.T) {
	if _, err := Read("quick"); err != nil {
		t.Error(err)
	}
	if _, err := Read("../scenarios"); err == nil || !strings.Contains(err.Error(), "latency") {
		t.Errorf("unknown scenario: %v", err)
	}
}

package prototest

import (
	"strings"
	"testing"
)

// Says wants an error with all of these words; several in one are separated by "|". "" wants no error.
func Says(t testing.TB, err error, words ...string) {
	t.Helper()
	if len(words) == 1 && words[0] == "" {
		if err != nil {
			t.Errorf("error %v", err)
		}
		return
	}
	for _, some := range words {
		for w := range strings.SplitSeq(some, "|") {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("error %v does not say %q", err, w)
			}
		}
	}
}

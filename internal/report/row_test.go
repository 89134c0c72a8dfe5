package report

import (
	"strings"
	"testing"
	"time"
)

func TestWriteRows(t *testing.T) {
	var unknown *float64
	var none *bool
	known := uint64(1 << 60)
	for _, c := range []struct {
		value any
		want  string
	}{
		{1e6, "1000000"}, // as JSON has it, not 1e+06
		{0.1, "0.1"},
		{&known, "1152921504606846976"},
		{unknown, ""},
		{none, ""},
		{time.Time{}, ""},
		{false, "false"},
		{`a,"b`, `"a,""b"`},
	} {
		empty, full := new(Row), new(Row)
		for _, r := range []*Row{empty, full} {
			r.Add("name", "x")
		}
		empty.Add("value", "")
		full.Add("value", c.value)
		var out strings.Builder
		if err := WriteRows(&out, empty, 1, func(int) *Row { return full }); err != nil {
			t.Fatal(err)
		}
		if want := "name,value\nx," + c.want + "\n"; out.String() != want {
			t.Errorf("%v: wrote %q, want %q", c.value, out.String(), want)
		}
	}
}

package stamp

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestFillDependsOnPositionOnly(t *testing.T) {
	long := make([]byte, 3*fillPeriod+17)
	Fill(long)
	for _, n := range []int{0, 1, 40, fillPeriod - 1, fillPeriod, fillPeriod + 1} {
		short := make([]byte, n)
		Fill(short)
		if !bytes.Equal(short, long[:n]) {
			t.Errorf("%d bytes differ from the start of more", n)
		}
	}
	for _, c := range long {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			t.Fatalf("%q needs an escape in JSON", c)
		}
	}
}

func TestShiftedFillIsDamage(t *testing.T) {
	p := make([]byte, 4*fillPeriod)
	Fill(p)
	for _, shift := range []int{1, 16, 512, 1460, 4096, 1 << 16} {
		if bytes.Equal(p[shift:shift+100], p[:100]) {
			t.Errorf("a shift by %d is not seen", shift)
		}
	}
}

// TestFillJSON: the payload is valid JSON; its filler is that of Fill at the same place, where there is room for any.
func TestFillJSON(t *testing.T) {
	for extra := range 40 {
		p, fill := make([]byte, JSONSize+extra), make([]byte, JSONSize+extra)
		PutJSON(p, &Stamp{Run: 1})
		FillJSON(p)
		Fill(fill)
		var got struct{ Fill string }
		if err := json.Unmarshal(p, &got); err != nil {
			t.Errorf("+%d: %v: %s", extra, err, p)
		}
		from := JSONSize - 1 + len(fillMember)
		to := max(from, len(p)-len(fillMemberEnd))
		if want := string(fill[min(from, len(fill)):min(to, len(fill))]); got.Fill != want {
			t.Errorf("+%d: filler %q, want %q", extra, got.Fill, want)
		}
	}
}

func BenchmarkFill(b *testing.B) {
	p := make([]byte, 1<<20)
	b.SetBytes(int64(len(p)))
	for b.Loop() {
		Fill(p)
	}
}

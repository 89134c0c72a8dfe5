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

func TestCheckFillSeesEveryByte(t *testing.T) {
	p := make([]byte, fillPeriod+300)
	Fill(p)
	Put(p, &Stamp{})
	if CheckFill(p, 0) {
		t.Error("the stamp is not filler")
	}
	for _, from := range []int{Size, fillPeriod - 1, fillPeriod, fillPeriod + 1, len(p), len(p) + 5} {
		if !CheckFill(p, from) {
			t.Errorf("good filler from %d refused", from)
		}
	}
	for _, i := range []int{Size, Size + 1, 1000, fillPeriod - 1, fillPeriod, len(p) - 1} {
		p[i] ^= 1
		if CheckFill(p, Size) {
			t.Errorf("damage at %d not seen", i)
		}
		if !CheckFill(p, i+1) {
			t.Errorf("damage at %d seen behind it", i)
		}
		p[i] ^= 1
	}
}

func TestShiftedFillIsDamage(t *testing.T) {
	p := make([]byte, 4*fillPeriod)
	Fill(p)
	for _, shift := range []int{1, 16, 512, 1460, 4096, 1 << 16} {
		if CheckFill(p[shift:shift+100], 0) {
			t.Errorf("a shift by %d is not seen", shift)
		}
	}
}

func TestFillJSON(t *testing.T) {
	for extra := range 40 {
		p := make([]byte, JSONSize+extra)
		PutJSON(p, &Stamp{Run: 1})
		FillJSON(p)
		if !json.Valid(p) {
			t.Errorf("+%d: no JSON: %s", extra, p)
		}
		if !CheckFillJSON(p) {
			t.Errorf("+%d: good filler refused", extra)
		}
		for i := JSONSize - 1; i < len(p); i++ {
			p[i] ^= 1
			if CheckFillJSON(p) {
				t.Errorf("+%d: damage at %d not seen", extra, i)
			}
			p[i] ^= 1
		}
		if extra > 0 && CheckFillJSON(p[:len(p)-1]) {
			t.Errorf("+%d: cut filler accepted", extra)
		}
	}
	for n := range JSONSize {
		if CheckFillJSON(make([]byte, n)) {
			t.Errorf("%d bytes are too short for any", n)
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

func BenchmarkCheckFill(b *testing.B) {
	p := make([]byte, 1<<20)
	Fill(p)
	b.SetBytes(int64(len(p)))
	for b.Loop() {
		if !CheckFill(p, Size) {
			b.Fatal("damaged")
		}
	}
}

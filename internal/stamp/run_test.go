package stamp

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
)

// unit is a message with a stamp at place at of it.
func unit(size, at int, s *Stamp) []byte {
	b := make([]byte, size)
	Fill(b)
	Put(b[at:], s)
	return b
}

// each are n such messages behind the first, each stamped by itself.
func each(size, at, n int, s Stamp) []byte {
	var all []byte
	for range n {
		s.Seq++
		all = append(all, unit(size, at, &s)...)
	}
	return all
}

func TestRepeatIsEachStampedByItself(t *testing.T) {
	for _, seq := range []uint64{0, 1, 2, 7, 1<<20 - 3, 1<<32 - 5, 1<<63 - 4, math.MaxUint64 - 2} {
		for _, shape := range [][2]int{{Size, 0}, {Size + 1, 1}, {75, 11}, {1100, 13}} {
			for _, n := range []int{0, 1, 2, 3, 100} {
				s := Stamp{Run: 7, Stream: 9, Seq: seq, Due: 1234567890123, Sent: 1234567890999, Flags: 3}
				first := unit(shape[0], shape[1], &s)
				want := each(shape[0], shape[1], n, s)
				got := Repeat(append([]byte("before"), first...), shape[0], shape[1], n)
				if !bytes.Equal(got, append(append([]byte("before"), first...), want...)) {
					t.Fatalf("%d from number %d, shape %v", n, seq, shape)
				}
				if k := Run(first, shape[1], want); k != n {
					t.Fatalf("a run of %d, not %d, from number %d, shape %v", k, n, seq, shape)
				}
			}
		}
	}
}

func TestRunEndsAtTheFirstThatDiffers(t *testing.T) {
	const size, at, n = 75, 11, 20
	rng := rand.New(rand.NewPCG(1, 2))
	s := Stamp{Run: 7, Seq: 1<<40 - 8, Due: 5, Sent: 6}
	first, all := unit(size, at, &s), each(size, at, n, s)
	for i := range all {
		all[i] ^= byte(1 + rng.IntN(255))
		if k := Run(first, at, all); k != i/size {
			t.Fatalf("byte %d of message %d is another: a run of %d", i%size, i/size, k)
		}
		copy(all, each(size, at, n, s))
	}
	for cut := range len(all) {
		if k := Run(first, at, all[:cut]); k != cut/size {
			t.Fatalf("%d bytes: a run of %d", cut, k)
		}
	}
	if k := Run(first, at, all[size:]); k != 0 { // one is missing
		t.Error(k)
	}
}

func TestRunsAllocateNothing(t *testing.T) {
	s := Stamp{Run: 1}
	first := unit(75, 11, &s)
	out := make([]byte, 0, 100*75)
	if n := testing.AllocsPerRun(100, func() {
		out = Repeat(append(out[:0], first...), 75, 11, 99)
		if Run(first, 11, out[75:]) != 99 {
			t.Fatal("no run")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzRun(f *testing.F) {
	f.Add([]byte("some bytes"), uint8(3), uint64(4), uint8(5))
	f.Fuzz(func(t *testing.T, tail []byte, at uint8, seq uint64, n uint8) {
		s := Stamp{Seq: seq}
		size := int(at) + Size + len(tail)%7
		first, all := unit(size, int(at), &s), each(size, int(at), int(n), s)
		k := Run(first, int(at), append(all, tail...))
		if k < int(n) || !bytes.Equal(append(all, tail...)[:k*size], each(size, int(at), k, s)) {
			t.Fatalf("a run of %d, not %d", k, n)
		}
	})
}

func BenchmarkRepeat(b *testing.B) {
	s := Stamp{Run: 1}
	out := append(make([]byte, 0, 64<<10), unit(75, 11, &s)...)
	for b.Loop() {
		out = Repeat(out[:75], 75, 11, 800)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/800, "ns/msg")
}

func BenchmarkRun(b *testing.B) {
	s := Stamp{Run: 1}
	first, all := unit(75, 11, &s), each(75, 11, 800, s)
	for b.Loop() {
		Run(first, 11, all)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/800, "ns/msg")
}

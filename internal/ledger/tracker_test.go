package ledger

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// model is what a Tracker must agree with: it remembers every number.
type model struct {
	seen map[uint64]bool
	next uint64
}

func (m *model) record(seq uint64) (Outcome, uint64) {
	switch {
	case m.seen[seq]:
		return Duplicate, 0
	case seq < m.next:
		m.seen[seq] = true
		return Reordered, m.next - 1 - seq
	}
	m.seen[seq] = true
	m.next = seq + 1
	return New, 0
}

func (m *model) missing(from, to uint64) (n uint64) {
	for seq := from; seq < to; seq++ {
		if !m.seen[seq] {
			n++
		}
	}
	return n
}

// checkSame records seqs in both and compares every answer.
func checkSame(t *testing.T, seqs []uint64, end uint64) {
	t.Helper()
	m := model{seen: make(map[uint64]bool)}
	var tr Tracker
	for i, seq := range seqs {
		o, d := tr.Record(seq)
		if wo, wd := m.record(seq); o != wo || d != wd {
			t.Fatalf("receipt %d, number %d: %v at distance %d, want %v at %d", i, seq, o, d, wo, wd)
		}
		checkHoles(t, &tr)
	}
	if tr.Next() != m.next {
		t.Fatalf("next %d, want %d", tr.Next(), m.next)
	}
	for seq := range end {
		if tr.Received(seq) != m.seen[seq] {
			t.Fatalf("received(%d) = %v", seq, tr.Received(seq))
		}
	}
	for _, r := range [][2]uint64{{0, end}, {0, m.next}, {end / 3, 2 * end / 3}, {end / 2, end / 2}, {end / 2, end/2 + 1}, {end, 0}, {m.next, end + 5}, {1, end + 9}} {
		if got, want := tr.Missing(r[0], r[1]), m.missing(r[0], r[1]); got != want {
			t.Fatalf("missing in [%d, %d): %d, want %d", r[0], r[1], got, want)
		}
	}
}

func checkHoles(t *testing.T, tr *Tracker) {
	t.Helper()
	last := uint64(0)
	for i, h := range tr.holes {
		if h.from >= h.to || i > 0 && h.from <= last || h.to >= tr.next {
			t.Fatalf("holes %v below %d are not in order", tr.holes, tr.next)
		}
		last = h.to
	}
}

// arrivals returns the numbers below n as a broken network might deliver them.
func arrivals(rng *rand.Rand, n int) []uint64 {
	loss, dup, reach := rng.Float64()*0.5, rng.Float64()*0.3, 1+rng.IntN(n)
	var seqs []uint64
	for seq := range uint64(n) {
		if rng.Float64() < loss {
			continue
		}
		seqs = append(seqs, seq)
		for rng.Float64() < dup {
			seqs = append(seqs, seq)
		}
	}
	switch rng.IntN(3) {
	case 0:
		rng.Shuffle(len(seqs), func(i, j int) { seqs[i], seqs[j] = seqs[j], seqs[i] })
	case 1:
		for i := range seqs {
			j := min(len(seqs)-1, i+rng.IntN(reach))
			seqs[i], seqs[j] = seqs[j], seqs[i]
		}
	}
	return seqs
}

func TestTrackerAgreesWithModel(t *testing.T) {
	for seed := range uint64(1500) {
		rng := rand.New(rand.NewPCG(seed, 9))
		n := 1 + rng.IntN(200)
		checkSame(t, arrivals(rng, n), uint64(n)+3)
	}
}

func TestTrackerByHand(t *testing.T) {
	var tr Tracker
	if tr.Next() != 0 || tr.Received(0) || tr.Missing(0, 10) != 10 {
		t.Fatal("an empty tracker has received something")
	}
	for i, step := range []struct {
		seq      uint64
		outcome  Outcome
		distance uint64
	}{
		{0, New, 0},
		{1, New, 0},
		{5, New, 0},
		{2, Reordered, 3},
		{5, Duplicate, 0},
		{0, Duplicate, 0},
		{2, Duplicate, 0},
		{9, New, 0},
		{7, Reordered, 2},
		{6, Reordered, 3},
		{8, Reordered, 1},
		{10, New, 0},
	} {
		if o, d := tr.Record(step.seq); o != step.outcome || d != step.distance {
			t.Errorf("step %d, number %d: %v at %d, want %v at %d", i, step.seq, o, d, step.outcome, step.distance)
		}
	}
	if tr.Missing(0, 11) != 2 || tr.Missing(4, 20) != 10 || tr.Next() != 11 {
		t.Errorf("missing %d and %d, next %d", tr.Missing(0, 11), tr.Missing(4, 20), tr.Next())
	}
}

func TestTrackerBound(t *testing.T) {
	var tr Tracker
	for i := range uint64(maxHoles - 1) {
		if o, _ := tr.Record(10*i + 9); o != New {
			t.Fatalf("hole %d: %v", i, o)
		}
	}
	if o, _ := tr.Record(4); o != Reordered { // splits a hole: the last that may be open
		t.Fatal(o)
	}
	next := tr.Next()
	missing := tr.Missing(0, next)
	for _, seq := range []uint64{next + 1, next + 1000, 14} {
		if o, d := tr.Record(seq); o != Overflow || d != 0 {
			t.Errorf("number %d beyond the bound: %v at %d", seq, o, d)
		}
		if tr.Received(seq) {
			t.Errorf("number %d was not recorded, and yet received", seq)
		}
	}
	if tr.Next() != next || tr.Missing(0, next) != missing {
		t.Error("an overflow changed the tracker")
	}
	for _, step := range []struct {
		seq  uint64
		want Outcome
	}{{next, New}, {10, Reordered}, {18, Reordered}, {4, Duplicate}} { // needs no further hole
		if o, _ := tr.Record(step.seq); o != step.want {
			t.Errorf("number %d: %v, want %v", step.seq, o, step.want)
		}
	}
}

func TestTrackerRefusesImpossibleNumbers(t *testing.T) {
	for _, seq := range []uint64{math.MaxUint64, math.MaxUint64 - 1, maxSeq} {
		var tr Tracker
		if o, _ := tr.Record(seq); o != Overflow || tr.Next() != 0 {
			t.Errorf("%d: %v, next %d", seq, o, tr.Next())
		}
		if o, _ := tr.Record(0); o != New || tr.Next() != 1 {
			t.Error("unusable afterwards")
		}
	}
	var tr Tracker
	tr.Record(maxSeq - 1)
	if tr.Missing(0, math.MaxUint64) != math.MaxUint64-1 {
		t.Error("missing in the widest range")
	}
}

func TestTrackerIsSmall(t *testing.T) {
	if n := unsafe.Sizeof(Tracker{}); n > 32 {
		t.Errorf("%d bytes", n)
	}
	var tr Tracker
	seq := uint64(0)
	if n := testing.AllocsPerRun(1000, func() { tr.Record(seq); seq++ }); n != 0 || tr.holes != nil {
		t.Errorf("%v allocations in order", n)
	}
	if n := testing.AllocsPerRun(1000, func() { tr.Record(seq + 1); tr.Record(seq); seq += 2 }); n != 0 {
		t.Errorf("%v allocations per swapped pair", n)
	}
}

func FuzzTracker(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3})
	f.Add([]byte{9, 3, 3, 4, 2, 1, 0, 8, 7, 5, 6, 10})
	f.Add([]byte{200, 100, 50, 25, 150, 175, 101, 99})
	f.Fuzz(func(t *testing.T, b []byte) {
		seqs := make([]uint64, len(b))
		for i, c := range b {
			seqs[i] = uint64(c)
		}
		checkSame(t, seqs, 258)
	})
}

func TestARunIsRecordedAsEachAlone(t *testing.T) {
	var one, run Tracker
	for _, tr := range []*Tracker{&one, &run} {
		tr.Record(3) // leaves a hole
	}
	for seq := uint64(4); seq < 14; seq++ {
		one.Record(seq)
	}
	if !run.RecordRun(10) || run.Next() != one.Next() || run.Missing(0, 20) != one.Missing(0, 20) {
		t.Errorf("%+v, not %+v", run, one)
	}
	if far := (Tracker{next: maxSeq - 1}); far.RecordRun(2) || far.Next() != maxSeq-1 || !far.RecordRun(1) {
		t.Errorf("%+v", far)
	}
}

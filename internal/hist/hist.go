// Package hist records times into histograms of fixed relative precision, merges them and reads quantiles.
//
// A Hist counts values from 0 ns to one hour with three significant digits, in the same slots as HdrHistogram with a
// lowest value of 1 and 2048 sub-buckets (hdrhistogram.org), so that its encoded form and its logs (LogWriter, ReadLog) are read by
// HdrHistogram's own tools. Histograms merge without loss; quantiles never do.
package hist

import (
	"iter"
	"math"
	"math/bits"
)

// MaxValue is the largest value in nanoseconds that is recorded as it is: one hour.
const MaxValue = int64(3_600_000_000_000)

// The layout: slots come in segments of 1024. Segments 0 and 1 have slots of one nanosecond; in each further segment
// slots are twice as wide as in the one before.
const (
	segmentBits = 10
	segmentLen  = 1 << segmentBits
	segments    = 33 // the first 33 reach beyond MaxValue
	slots       = segments * segmentLen
	lastSlot    = slots - 1
)

// segmentMask is larger than any segment number; masking with it spares a bounds check.
const segmentMask = 63

type segment [segmentLen]int64

// Hist is a histogram for a single writer. The zero value is empty and ready; it allocates each part of its range, 8 KiB,
// when first used. One made by New never allocates again.
type Hist struct {
	total int64
	used  uint64 // bit i: segment i may hold counts
	parts [segmentMask + 1]*segment
}

// New returns an empty histogram that will not allocate when recording. It takes 264 KiB of address space, of which only
// the pages used are ever touched.
func New() *Hist {
	h := new(Hist)
	all := new([segments]segment)
	for i := range all {
		h.parts[i] = &all[i]
	}
	return h
}

// slotOf returns the slot of v, 0 <= v <= MaxValue.
func slotOf(v int64) uint {
	shift := uint(bits.Len64(uint64(v)|(2*segmentLen-1))) - segmentBits - 1
	return shift<<segmentBits + uint(v>>shift)
}

// lowest returns the smallest value of a slot, and width how many values share it.
func lowest(slot int) (v, width int64) {
	if slot < 2*segmentLen {
		return int64(slot), 1
	}
	shift := slot>>segmentBits - 1
	return int64(slot-shift<<segmentBits) << shift, 1 << shift
}

// highest returns the largest value of a slot.
func highest(slot int) int64 {
	v, width := lowest(slot)
	return v + width - 1
}

// Record counts v nanoseconds. A negative v is not recorded and Record returns false: the caller counts it as clock skew.
// A v above MaxValue is counted in the last slot and by Overflow.
func (h *Hist) Record(v int64) bool {
	if uint64(v) > uint64(MaxValue) {
		return h.RecordN(v, 1)
	}
	slot := slotOf(v)
	part := h.parts[slot>>segmentBits&segmentMask]
	if part == nil {
		return h.RecordN(v, 1)
	}
	part[slot%segmentLen]++
	h.used |= 1 << (slot >> segmentBits & segmentMask)
	h.total++
	return true
}

// RecordN is n times Record(v). It returns false, and records nothing, if v or n is negative.
func (h *Hist) RecordN(v, n int64) bool {
	switch {
	case v < 0 || n < 0:
		return false
	case v > MaxValue:
		h.add(lastSlot, n)
	default:
		h.add(int(slotOf(v)), n)
	}
	return true
}

func (h *Hist) add(slot int, n int64) {
	i := slot >> segmentBits & segmentMask
	h.part(i)[slot%segmentLen] += n
	h.total += n
	if n > 0 {
		h.used |= 1 << i
	}
}

// part returns segment i for writing.
func (h *Hist) part(i int) *segment {
	if h.parts[i] == nil {
		h.parts[i] = new(segment)
	}
	return h.parts[i]
}

// Count returns how many values were recorded.
func (h *Hist) Count() int64 { return h.total }

// Overflow returns how many of the values recorded were above MaxValue.
func (h *Hist) Overflow() int64 {
	if part := h.parts[lastSlot>>segmentBits]; part != nil {
		return part[lastSlot%segmentLen]
	}
	return 0
}

// each calls f for every slot that holds counts, in ascending order, until f returns false.
func (h *Hist) each(f func(slot int, count int64) bool) {
	for rest := h.used; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		for j, n := range h.parts[i] {
			if n != 0 && !f(i<<segmentBits+j, n) {
				return
			}
		}
	}
}

// All are the values recorded, each slot by its lowest one, ascending, with their counts.
func (h *Hist) All() iter.Seq2[int64, int64] {
	return func(yield func(value, count int64) bool) {
		h.each(func(slot int, count int64) bool {
			v, _ := lowest(slot)
			return yield(v, count)
		})
	}
}

// Min returns the lowest value that shares a slot with the smallest one recorded; 0 if there is none.
func (h *Hist) Min() (v int64) {
	h.each(func(slot int, _ int64) bool {
		v, _ = lowest(slot)
		return false
	})
	return v
}

// Max returns the highest value that shares a slot with the largest one recorded; 0 if there is none.
func (h *Hist) Max() int64 {
	if h.used == 0 {
		return 0
	}
	i := bits.Len64(h.used) - 1
	for j := segmentLen - 1; j >= 0; j-- {
		if h.parts[i][j] != 0 {
			return highest(i<<segmentBits + j)
		}
	}
	return 0
}

// middle returns the value that stands for all values of a slot, as HdrHistogram defines it.
func middle(slot int) float64 {
	v, width := lowest(slot)
	return float64(v + width/2)
}

// Mean returns the mean of the values recorded, each taken as the middle of its slot; 0 if there is none.
func (h *Hist) Mean() float64 {
	if h.total == 0 {
		return 0
	}
	sum := 0.0
	h.each(func(slot int, n int64) bool {
		sum += float64(n) * middle(slot)
		return true
	})
	return sum / float64(h.total)
}

// StdDev returns the standard deviation of the values recorded, as a population, each taken as the middle of its slot; 0
// if there is none.
func (h *Hist) StdDev() float64 {
	if h.total == 0 {
		return 0
	}
	mean, sum := h.Mean(), 0.0
	h.each(func(slot int, n int64) bool {
		d := middle(slot) - mean
		sum += float64(n) * d * d
		return true
	})
	return math.Sqrt(sum / float64(h.total))
}

// Reset forgets everything recorded and keeps the memory. It touches only what was used.
func (h *Hist) Reset() {
	for rest := h.used; rest != 0; rest &= rest - 1 {
		*h.parts[bits.TrailingZeros64(rest)] = segment{}
	}
	h.total, h.used = 0, 0
}

// Merge adds what o recorded to h.
func (h *Hist) Merge(o *Hist) {
	for rest := o.used; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		part := h.part(i)
		for j, n := range o.parts[i] {
			part[j] += n
		}
	}
	h.total += o.total
	h.used |= o.used
}

// Clone returns a copy of h that takes no more memory than what was recorded needs.
func (h *Hist) Clone() *Hist {
	c := new(Hist)
	c.Merge(h)
	return c
}

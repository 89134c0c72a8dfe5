package jitter

import (
	"fmt"
	"math"
	"strings"
)

// columns of a drawing.
const columns = 60

// overTime draws the largest and the median round trip over time, on one scale of ratios.
func (p *printer) overTime(o *Round) {
	slots := merge(o.Timeline, columns)
	low, high := math.Inf(1), 0.0
	for _, s := range slots {
		if s.Count > 0 {
			low, high = min(low, float64(max(s.P50, 1))), max(high, float64(s.Max))
		}
	}
	if high == 0 {
		return
	}
	row := func(of func(*Slot) int64) string {
		var b strings.Builder
		for i := range slots {
			if slots[i].Count == 0 {
				b.WriteString(map[bool]string{true: "×", false: " "}[slots[i].Lost > 0])
				continue
			}
			b.WriteString(level(float64(of(&slots[i])), low, high))
		}
		return b.String()
	}
	p.say("%smax %s\n", p.label("over time"), row(func(s *Slot) int64 { return s.Max }))
	p.say("             p50 %s\n", row(func(s *Slot) int64 { return s.P50 }))
	p.say("                 %s\n", p.in.say("%s; ▁ is %s, █ is %s", Duration(float64(slots[len(slots)-1].To)), Duration(low), Duration(high)))
}

var levels = []rune("▁▂▃▄▅▆▇█")

func level(v, low, high float64) string {
	if high <= low {
		return string(levels[0])
	}
	at := math.Log(max(v, low)/low) / math.Log(high/low)
	return string(levels[min(len(levels)-1, int(at*float64(len(levels))))])
}

// merge makes at most n slots of them. A merged median is the largest of its parts', which is no median: it is only drawn.
func merge(slots []Slot, n int) []Slot {
	if len(slots) <= n {
		return slots
	}
	out := make([]Slot, n)
	for i, s := range slots {
		o := &out[i*n/len(slots)]
		if o.To == 0 {
			o.From = s.From
		}
		o.To, o.Count, o.Lost = s.To, o.Count+s.Count, o.Lost+s.Lost
		o.Max, o.P50 = max(o.Max, s.Max), max(o.P50, s.P50)
	}
	return out
}

// mostRows of a histogram in text.
const mostRows = 12

func (p *printer) histogram(bins []Bin, count uint64) {
	for len(bins) > mostRows {
		var half []Bin
		for i := 0; i < len(bins); i += 2 {
			b := bins[i]
			if i+1 < len(bins) {
				b.To, b.Count = bins[i+1].To, b.Count+bins[i+1].Count
			}
			half = append(half, b)
		}
		bins = half
	}
	most := 0
	for _, b := range bins {
		most = max(most, b.Count)
	}
	for i, b := range bins {
		head := p.label("")
		if i == 0 {
			head = p.label("histogram")
		}
		bar := strings.Repeat("█", int(math.Round(float64(b.Count)/float64(most)*32)))
		if bar == "" && b.Count > 0 {
			bar = "▏"
		}
		p.say("%s\n", strings.TrimRight(fmt.Sprintf("%s%8s – %-8s %s %s", head[:len(head)-1], Duration(float64(b.From)), Duration(float64(b.To)), bar, share(b.Count, count)), " "))
	}
}

package diagnose

import (
	"cmp"
	"math"
	"slices"
)

// backlog: latency grows with the run, and deliveries take longer than sends: the queue in between grows. Its claim is all of it.
func backlog(s *series) (Finding, []int64) {
	n := len(s.messages)
	if !s.timed || n < 2*fewest {
		return Finding{}, nil
	}
	rho := spearman(s.latency)
	arrivals := s.byArrival()
	sending := s.messages[n-1].Sent - s.messages[0].Sent
	delivering := s.messages[arrivals[n-1]].Recv - s.messages[arrivals[0]].Recv
	stretch := float64(delivering) / float64(max(1, sending))
	growth := float64(middle(s.latency[n-n/10:])) / float64(max(middle(s.latency[:n/10]), millisecond/10))
	if rho < 0.9 || stretch < 1.02 || growth < 3 {
		return Finding{}, nil
	}
	f := Finding{Cause: Backlog, Evidence: []Evidence{{"backlog_grows", []any{figure(rho), factor(growth), factor(stretch)}}}}
	var callbacks, gaps []int64
	for k, i := range arrivals {
		if m := s.messages[i]; m.Done > 0 {
			callbacks = append(callbacks, m.Done-m.Recv)
		}
		if k > 0 {
			gaps = append(gaps, s.messages[i].Recv-s.messages[arrivals[k-1]].Recv)
		}
	}
	if c, g := middle(callbacks), middle(gaps); len(callbacks) > 0 && 10*c > 6*g {
		f.Side = "client"
		f.Evidence = append(f.Evidence, Evidence{"backlog_callback", []any{ns(c), ns(g)}})
	}
	memory := &s.in.Facts
	if memory.SwapIns != nil && *memory.SwapIns > 0 || memory.MemoryGrowth != nil && memory.MemoryBytes != nil && s.doubles(*memory.MemoryGrowth, *memory.MemoryBytes) {
		f.Evidence = append(f.Evidence, memoryEvidence(memory)...)
		if memory.SwapIns != nil && *memory.SwapIns > 0 {
			f.Cause = MemoryGrowth
		}
	}
	return f, slices.Clone(s.excess)
}

// doubles: at this growth, in bytes per second, memory was less than half at the begin.
func (s *series) doubles(growth, bytes float64) bool {
	from, to := s.span()
	return growth*float64(to-from)/float64(second) > bytes/2
}

func memoryEvidence(f *Facts) (list []Evidence) {
	if f.MemoryGrowth != nil && f.MemoryBytes != nil {
		list = append(list, Evidence{"memory_grew", []any{size(*f.MemoryGrowth), size(*f.MemoryBytes)}})
	}
	if f.SwapIns != nil && *f.SwapIns > 0 {
		list = append(list, Evidence{"swap", []any{*f.SwapIns}})
	}
	return list
}

// sentLate claims what messages waited before the client even tried to send them.
func sentLate(s *series) (Finding, []int64) {
	parts := make([]int64, len(s.messages))
	var late []int64
	for i, m := range s.messages {
		l := m.Sent - s.start[i]
		parts[i] = min(s.excess[i], l)
		if l > millisecond {
			late = append(late, l)
		}
	}
	if len(late) == 0 {
		return Finding{}, nil
	}
	return Finding{Cause: GeneratorLate, Side: "client", Evidence: []Evidence{
		{"sent_late", []any{percent(s.share(parts)), len(late), ns(slices.Max(late))}},
	}}, parts
}

// handshake: only the first messages, at most one in twenty, are slow: they waited for the connection.
func handshake(s *series) (Finding, []int64) {
	parts := make([]int64, len(s.messages))
	slow := 0
	for slow < len(s.messages)/20 && s.excess[slow] > 0 {
		parts[slow] = s.excess[slow]
		slow++
	}
	if slow == 0 || s.share(parts) < 0.8 {
		return Finding{}, nil
	}
	return Finding{Cause: Handshake, Evidence: []Evidence{{"handshake_first", []any{slow, ns(slices.Max(s.latency[:slow])), ns(at(s.sorted, 0.5))}}}}, parts
}

// spearman is the rank correlation of values with their order, ties at their mean rank.
func spearman(values []int64) float64 {
	n := len(values)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	rank := make([]float64, n)
	for i := 0; i < n; {
		j := i
		for j < n && values[order[j]] == values[order[i]] {
			j++
		}
		for k := i; k < j; k++ {
			rank[order[k]] = float64(i+j-1) / 2
		}
		i = j
	}
	mean := float64(n-1) / 2
	var xy, xx, yy float64
	for i, r := range rank {
		x, y := float64(i)-mean, r-mean
		xy, xx, yy = xy+x*y, xx+x*x, yy+y*y
	}
	if yy == 0 {
		return 0
	}
	return xy / math.Sqrt(xx*yy)
}

func middle(list []int64) int64 { return at(slices.Sorted(slices.Values(list)), 0.5) }

func quartiles(list []int64) (low, mid, high int64) {
	sorted := slices.Sorted(slices.Values(list))
	return at(sorted, 0.25), at(sorted, 0.5), at(sorted, 0.75)
}

package monitor

// counters only grow while their owner lives.
type counters struct {
	cpu, wait              float64
	voluntary, involuntary uint64
}

func (c *counters) add(o counters) {
	c.cpu += o.cpu
	c.wait += o.wait
	c.voluntary += o.voluntary
	c.involuntary += o.involuntary
}

// less reports whether any counter is below that of o, which means that it belongs to a new owner.
func (c counters) less(o counters) bool {
	return c.cpu < o.cpu || c.wait < o.wait || c.voluntary < o.voluntary || c.involuntary < o.involuntary
}

// owner is a process (tid 0) or a thread. The start time of the process tells apart processes that had the same number.
type owner struct {
	pid, tid int
	started  uint64
}

// sum adds up the counters of owners that come and go. Who has gone keeps the last value, and is not counted twice
// should it only have been out of sight.
type sum struct {
	last     map[owner]counters
	replaced counters // of threads whose number was given to another
}

// update takes the counters of those seen now and returns the sum over all there ever were.
func (s *sum) update(now map[owner]counters) (total counters) {
	if s.last == nil {
		s.last = make(map[owner]counters, len(now))
	}
	for o, c := range now {
		if last := s.last[o]; c.less(last) {
			s.replaced.add(last)
		}
		s.last[o] = c
	}
	total = s.replaced
	for _, c := range s.last {
		total.add(c)
	}
	return total
}

// busiest returns the owner that used most CPU since the last update, and how much it used and waited. ok is false where nobody seen now
// was seen before.
func (s *sum) busiest(now map[owner]counters) (who owner, used counters, ok bool) {
	for o, c := range now {
		last, known := s.last[o]
		if !known || c.less(last) {
			continue
		}
		if cpu := c.cpu - last.cpu; !ok || cpu > used.cpu {
			who, used, ok = o, counters{cpu: cpu, wait: c.wait - last.wait}, true
		}
	}
	return who, used, ok
}

package diagnose

import "slices"

// backlog: what arrives later waited longer, up to the end, and less is delivered than is due: the queue in between grows.
func (c *course) backlog() claim {
	var middles []int64
	var offered, delivered int
	var last int64
	for i := range c.Stretches {
		s := &c.Stretches[i]
		if s.Offered == 0 { // the drain
			continue
		}
		last = s.To
		offered, delivered = offered+s.Offered, delivered+s.Delivered
		if m, ok := medianOf(s.Times); ok {
			middles = append(middles, m)
		}
	}
	n := len(middles)
	if n < 3 || last == 0 {
		return claim{}
	}
	rho := spearman(middles)
	growth := float64(middles[n-1]) / float64(max(middles[0], millisecond/10))
	most := 0.98 // of what was due, delivered in time
	if n < fewSeconds {
		most = 0.9
	}
	if rho < 0.9 || growth < 3 || float64(delivered) > most*float64(offered)*c.copies() {
		return claim{}
	}
	parts := make([]int64, len(c.bins))
	for i := range c.bins {
		parts[i] = c.bins[i].excess
	}
	f := Finding{Cause: Backlog, Evidence: []Evidence{{"backlog_seconds", []any{
		figure(rho), ns(middles[0]), ns(middles[n-1]), percent(float64(delivered) / (float64(offered) * c.copies())),
	}}}}
	if b := c.Busiest; b != nil && b.Running >= 0.85 {
		f.Side = "broker"
		f.Evidence = append(f.Evidence, Evidence{"busiest_thread", []any{percent(b.Running)}})
	}
	return claim{parts: parts, finding: f}
}

// fewSeconds rise by chance now and then.
const fewSeconds = 5

// copies is how many deliveries a message should have.
func (c *course) copies() float64 {
	for i := range c.Stretches {
		if n := c.Stretches[i].Copies; n > 0 {
			return n
		}
	}
	return 1
}

func medianOf(times []Bin) (m int64, ok bool) {
	n := int64(0)
	for _, b := range times {
		n += b.Count
	}
	left := n / 2
	for _, b := range times {
		if left -= b.Count; left < 0 {
			return b.mean(), true
		}
	}
	return 0, false
}

// What a stall looks like: of an open loop it delays as many messages as were due meanwhile, all evenly between nothing and its length.
const (
	stallMessages = 5   // at least
	stallFit      = 0.3 // how far their number may be off
	stallMiddle   = 0.15
)

// stood: everything that was due in a stretch of time came at its end. Where the generator sent and read on time, no packet was sent
// again and nobody waited for a core, it is the broker that stood still; otherwise who did is not known.
func (c *course) stood() claim {
	if !c.Local && (c.Retransmitted == nil || *c.Retransmitted > 0) {
		return claim{}
	}
	parts := make([]int64, len(c.bins))
	var spans []Span
	var lengths []int64
	for i := range c.Stretches {
		length, ok := c.stallIn(i)
		if !ok {
			continue
		}
		lengths = append(lengths, length)
		spans = append(spans, c.stallSpan(i, length))
		from, to := c.binsOf(i)
		for k := from; k < to; k++ {
			parts[k] = c.bins[k].excess
		}
	}
	if len(lengths) == 0 {
		return claim{}
	}
	return claim{basis: inferred, parts: parts, finding: Finding{
		Cause: BrokerStall, Side: "broker", Spans: longest(merged(spans)), Evidence: []Evidence{
			{"stood", []any{percent(c.share(parts)), len(lengths), ns(slices.Max(lengths))}},
			{"stood_alone", nil},
		},
	}}
}

// stallIn is how long everything stood before a moment of a stretch, if what arrived in it looks like that.
func (c *course) stallIn(stretch int) (length int64, ok bool) {
	s := &c.Stretches[stretch]
	from, to := c.binsOf(stretch)
	var slow, sum, arrived int64
	for k := from; k < to; k++ {
		slow, sum = slow+c.bins[k].count, sum+c.bins[k].latency*c.bins[k].count
		length = max(length, c.bins[k].latency)
	}
	rate := 0.0
	for i := max(0, stretch-int(length/max(1, s.To-s.From))-1); i <= stretch; i++ {
		rate += float64(c.Stretches[i].Offered)
		arrived += c.Stretches[i].To - c.Stretches[i].From
	}
	if slow < stallMessages || length < bigEvent || !s.ReadAll || 2*s.Reading.Max > length || 2*s.Late.Max > length {
		return 0, false
	}
	due := rate / float64(max(1, arrived)) * c.copies() * float64(length)
	mean := float64(sum) / float64(slow) / float64(length)
	return length, float64(slow) > (1-stallFit)*due && float64(slow) < (1+stallFit)*due && mean > 0.5-stallMiddle && mean < 0.5+stallMiddle
}

// stallSpan is where a stall was that ended within a stretch: exactly if it was longer, for then the stretch before it began tells by how
// much it delivered too little.
func (c *course) stallSpan(stretch int, length int64) Span {
	s := &c.Stretches[stretch]
	if length < s.To-s.From || stretch == 0 {
		return Span{max(s.From-length, c.Stretches[0].From), s.To}
	}
	for i := stretch - 1; i >= 0; i-- {
		b := &c.Stretches[i]
		due := float64(b.Offered) * c.copies()
		if b.Delivered > 0 && due > 0 {
			begin := b.From + int64(min(1, float64(b.Delivered)/due)*float64(b.To-b.From))
			if end := begin + length; end >= s.From && end <= s.To {
				return Span{begin, end}
			}
			break
		}
	}
	return Span{s.From - length, s.To}
}

// heldByAck: with Nagle's algorithm on, most of the slow messages waited about as long as Linux delays an acknowledgement, and few a
// little less or more.
func (c *course) heldByAck() claim {
	if is(c.Facts.ClientNoDelay, true) && is(c.Facts.BrokerNoDelay, true) {
		return claim{}
	}
	parts := make([]int64, len(c.bins))
	var inside, beside int64
	for i := range c.bins {
		switch l := c.bins[i].latency - c.floor; {
		case once40.has(l):
			inside += c.bins[i].count
			parts[i] = c.bins[i].excess
		case l >= once40.from/2 && l < 2*once40.to:
			beside += c.bins[i].count
		}
	}
	if inside < 10 || inside < 4*beside {
		return claim{}
	}
	return claim{basis: inferred, parts: parts, finding: Finding{
		Cause: DelayedAck, Side: nagleSide(c.Facts.ClientNoDelay, c.Facts.BrokerNoDelay), Evidence: []Evidence{
			{"around_40", []any{inside, c.slowCount}}, {"nodelay", []any{known(c.Facts.ClientNoDelay), known(c.Facts.BrokerNoDelay)}},
		},
	}}
}

// A rhythm of seconds must be slow beside them, and kept to for long: by chance nearly any few seconds have one.
const (
	rhythmSeconds = 8
	rhythmSpikes  = 6
	rhythmFit     = 0.9
)

// rhythmic claims the excess of single stretches that are a fixed time apart.
func (c *course) rhythmic() claim {
	excess := make([]int64, len(c.Stretches))
	most := int64(0)
	for i := range c.bins {
		b := &c.bins[i]
		excess[b.stretch] += b.open
		most = max(most, excess[b.stretch])
	}
	var list []spike
	slow := map[int]bool{}
	for i, e := range excess {
		if 5*e >= most && e > 0 {
			list, slow[i] = append(list, spike{at: c.Stretches[i].From}), true
		}
	}
	if len(list) < rhythmSpikes {
		return claim{}
	}
	width := c.Stretches[0].To - c.Stretches[0].From
	period, fit := rhythm(list, width/2)
	if period < rhythmSeconds*width || fit < rhythmFit {
		return claim{}
	}
	parts := make([]int64, len(c.bins))
	for i := range c.bins {
		if slow[c.bins[i].stretch] {
			parts[i] = c.bins[i].open
		}
	}
	f := Finding{Cause: Periodic, Evidence: []Evidence{{"periodic", []any{len(list), ns(period), percent(fit)}}}}
	if k := int64(c.KeepAlive); k > 0 && 10*max(period-k, k-period) < k && concentration(list, k) > 0.85 {
		f.Cause = KeepAlivePeriod
		f.Evidence = append(f.Evidence, Evidence{"keepalive_period", []any{ns(k), figure(concentration(list, k))}})
	}
	return claim{basis: inferred, parts: parts, finding: f}
}

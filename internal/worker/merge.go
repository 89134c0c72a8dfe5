package worker

import "cmp"

// Merge puts together what the workers of one trial know, in the order of their shares: the result that one worker would have had.
func Merge(parts []*Result) *Result {
	sum := *parts[0]
	for _, r := range parts[1:] {
		sum.Books = append(sum.Books, r.Books...)
		sum.Receipts = append(sum.Receipts, r.Receipts...)
		sum.Members = append(sum.Members, r.Members...)
		sum.Connections.Add(r.Connections)
		sum.Recovery.Add(r.Recovery)
		sum.TLS = bothOf(sum.TLS, r.TLS)
		sum.Stages = allOf(sum.Stages, r.Stages)
		sum.Measured, sum.Ended = min(sum.Measured, r.Measured), max(sum.Ended, r.Ended)
		sum.Visits = cmp.Or(sum.Visits, r.Visits) // one has all
		sum.Spun += r.Spun
		sum.Used.Add(r.Used)
		sum.Facts.Loops += r.Facts.Loops
		sum.Facts.KernelTimestamps = sum.Facts.KernelTimestamps && r.Facts.KernelTimestamps
		if sum.TCP != nil && r.TCP != nil {
			both := *sum.TCP
			both.Publishers.Add(r.TCP.Publishers)
			both.Subscribers.Add(r.TCP.Subscribers)
			sum.TCP = &both
		} else {
			sum.TCP = nil // a part is no whole
		}
	}
	return &sum
}

// bothOf are all handshakes; a worker without any has none to add.
func bothOf(a, b *Handshakes) *Handshakes {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	sum := *a
	sum.Add(*b)
	return &sum
}

// allOf are those of both; a part is no whole.
func allOf(a, b *Stages) *Stages {
	if a == nil || b == nil {
		return nil
	}
	sum := *a
	sum.Final.Add(b.Final)
	if sum.AtEnd = nil; a.AtEnd != nil && b.AtEnd != nil {
		both := *a.AtEnd
		both.Add(*b.AtEnd)
		sum.AtEnd = &both
	}
	return &sum
}

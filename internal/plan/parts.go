package plan

import "cmp"

// Span is a range of numbers [From, To).
type Span struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Len returns how many numbers the span holds.
func (s Span) Len() int { return max(s.To-s.From, 0) }

// Part is what one process of the generator has of a trial.
type Part struct{ Publishers, Subscribers Span }

// Parts deals out a trial to n processes, or fewer if it has less to deal out: a pair stays together, and so do all
// members of a shared subscription, which have one account of what came.
func (t *Trial) Parts(n int) []Part {
	p := &t.Params
	if p.Pattern == PatternShared && n > 1 && p.Publishers > 0 {
		parts := []Part{{Subscribers: Span{0, p.Subscribers}}}
		n = min(n-1, p.Publishers)
		for i := range n {
			parts = append(parts, Part{Publishers: cut(p.Publishers, i, n)})
		}
		return parts
	}
	n = max(min(n, max(p.Publishers, p.Subscribers)), 1)
	var parts []Part
	for i := range n {
		parts = append(parts, Part{cut(p.Publishers, i, n), cut(p.Subscribers, i, n)})
	}
	return parts
}

// cut is the i-th of n parts of total, each as large as the others or one larger.
func cut(total, i, n int) Span { return Span{total * i / n, total * (i + 1) / n} }

// usualVisitors is how many clients that come and leave there may be at a time, unless the scenario says otherwise.
const usualVisitors = 64

// largest is how many connections the fullest of n processes has.
func (t *Trial) largest(n int) (connections int) {
	for _, part := range t.Parts(n) {
		c := part.Publishers.Len() + part.Subscribers.Len()
		if t.Subject.Bridge != nil {
			c += part.Subscribers.Len()
		}
		connections = max(connections, c)
	}
	return connections + t.Params.Connect.visitors()
}

// visitors is how many clients that come and leave there are at a time, at most.
func (c *Connect) visitors() int {
	if c.ChurnPerS == 0 {
		return 0
	}
	return cmp.Or(c.AtOnce, usualVisitors)
}

// maxGenerators is how many processes one trial may have.
const maxGenerators = 64

// generators is the least number of processes in which none has more than so many connections; 1 if no number is enough, or
// if a link is emulated, which only one can use.
func (t *Trial) generators(connections int) int {
	if connections <= 0 || t.Params.Link.Emulated() {
		return 1
	}
	for n := 1; n <= maxGenerators; n++ {
		if t.largest(n) <= connections {
			return n
		}
	}
	return 1
}

// generators decides how many processes generate the load at a point, the same number for all subjects: as many as were
// asked for, or as the limit of open files demands.
func (r *resolver) generators(asked int, p Params, subjects []Subject) int {
	if asked > 0 {
		return asked
	}
	most := 1
	for _, s := range subjects {
		t := Trial{Subject: s, Params: p}
		most = max(most, t.generators(r.options.Sockets))
	}
	if most == 1 {
		return 0
	}
	return most
}

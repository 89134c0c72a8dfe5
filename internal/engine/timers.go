package engine

import "math"

// timers is a binary heap of connections, by number, ordered by their next deadline. One that has none is not in it.
type timers struct {
	heap    []int32
	clients *[]client
}

// client is the one at place i.
func (t *timers) client(i int) *client { return &(*t.clients)[t.heap[i]] }

func (t *timers) next() int64 {
	if len(t.heap) == 0 {
		return math.MaxInt64
	}
	return t.client(0).at
}

// set moves cl to deadline at; math.MaxInt64 takes it out.
func (t *timers) set(cl *client, at int64) {
	old := cl.at
	cl.at = at
	switch {
	case cl.slot < 0 && at == math.MaxInt64:
	case cl.slot < 0:
		cl.slot = int32(len(t.heap))
		t.heap = append(t.heap, cl.id)
		t.up(int(cl.slot))
	case at == old:
	case at == math.MaxInt64:
		t.remove(cl)
	case at < old:
		t.up(int(cl.slot))
	default:
		t.down(int(cl.slot))
	}
}

// popDue takes out and appends to due the clients whose deadline is not after now, the longest overdue first, up to a turn.
func (t *timers) popDue(now int64, due []*client) []*client {
	for len(t.heap) > 0 && len(due) < turn {
		cl := t.client(0)
		if cl.at > now {
			break
		}
		t.remove(cl)
		due = append(due, cl)
	}
	return due
}

func (t *timers) remove(cl *client) {
	i, last := int(cl.slot), len(t.heap)-1
	t.swap(i, last)
	t.heap = t.heap[:last]
	cl.slot = -1
	if i < last {
		t.up(i)
		t.down(i)
	}
}

func (t *timers) swap(i, j int) {
	t.heap[i], t.heap[j] = t.heap[j], t.heap[i]
	t.client(i).slot, t.client(j).slot = int32(i), int32(j)
}

func (t *timers) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if t.client(parent).at <= t.client(i).at {
			return
		}
		t.swap(i, parent)
		i = parent
	}
}

func (t *timers) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(t.heap) {
			return
		}
		if r := child + 1; r < len(t.heap) && t.client(r).at < t.client(child).at {
			child = r
		}
		if t.client(i).at <= t.client(child).at {
			return
		}
		t.swap(i, child)
		i = child
	}
}

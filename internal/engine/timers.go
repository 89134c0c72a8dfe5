package engine

import "math"

// timers hold connections, by number, in the order of their next deadlines: a binary heap, and a line beside it for publishers
// whose deadlines come in order by themselves, as those of equal rates do. The line costs the same however many wait. A
// connection that has no deadline is in neither.
type timers struct {
	heap    []int32
	line    []waiting
	head    int // the first in the line
	clients *[]client
}

// waiting is a place in the line. It is void if its client is not in the line any more, or has another deadline.
type waiting struct {
	at int64
	id int32
}

// What a client's slot is when it is not the place in the heap.
const (
	nowhere = -1
	inLine  = -2
)

// client is the one at place i.
func (t *timers) client(i int) *client { return &(*t.clients)[t.heap[i]] }

// void tells whether nobody waits at a place any more.
func (t *timers) void(w *waiting) bool {
	cl := &(*t.clients)[w.id]
	return cl.slot != inLine || cl.at != w.at
}

func (t *timers) next() int64 {
	for t.head < len(t.line) && t.void(&t.line[t.head]) {
		t.head++
	}
	at := int64(math.MaxInt64)
	if t.head < len(t.line) {
		at = t.line[t.head].at
	}
	if len(t.heap) > 0 {
		at = min(at, t.client(0).at)
	}
	return at
}

// set moves cl to deadline at; math.MaxInt64 takes it out.
func (t *timers) set(cl *client, at int64) {
	old := cl.at
	cl.at = at
	switch {
	case at == old && cl.slot != nowhere:
	case cl.slot < 0 && at == math.MaxInt64:
		cl.slot = nowhere
	case cl.slot < 0:
		if cl.pub == nil || !t.queue(cl) {
			t.push(cl)
		}
	case at == math.MaxInt64:
		t.remove(cl)
	case at < old:
		t.up(int(cl.slot))
	default:
		t.down(int(cl.slot))
	}
}

// queue puts cl at the end of the line, unless its deadline is not the last there. A few that are later are not in the way.
func (t *timers) queue(cl *client) bool {
	const few = 4
	for range few {
		if len(t.line) == t.head {
			t.line, t.head = t.line[:0], 0
		}
		if len(t.line) == 0 || t.line[len(t.line)-1].at <= cl.at {
			break
		}
		last := t.line[len(t.line)-1]
		t.line = t.line[:len(t.line)-1]
		if !t.void(&last) {
			t.push(&(*t.clients)[last.id])
		}
	}
	if n := len(t.line); n > 0 && t.line[n-1].at > cl.at {
		return false
	}
	if len(t.line) == cap(t.line) && t.head > len(t.line)/2 {
		t.line, t.head = t.line[:copy(t.line, t.line[t.head:])], 0
	}
	t.line = append(t.line, waiting{cl.at, cl.id})
	cl.slot = inLine
	return true
}

// push puts cl into the heap.
func (t *timers) push(cl *client) {
	cl.slot = int32(len(t.heap))
	t.heap = append(t.heap, cl.id)
	t.up(int(cl.slot))
}

// popDue takes out and appends to due the clients whose deadline is not after now, the longest overdue first, up to a turn.
func (t *timers) popDue(now int64, due []*client) []*client {
	for len(due) < turn {
		at := t.next()
		if at > now || at == math.MaxInt64 {
			break
		}
		var cl *client
		if len(t.heap) > 0 && t.client(0).at == at {
			cl = t.client(0)
			t.remove(cl)
		} else {
			cl = &(*t.clients)[t.line[t.head].id]
			cl.slot = nowhere
			t.head++
		}
		due = append(due, cl)
	}
	return due
}

func (t *timers) remove(cl *client) {
	i, last := int(cl.slot), len(t.heap)-1
	t.swap(i, last)
	t.heap = t.heap[:last]
	cl.slot = nowhere
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

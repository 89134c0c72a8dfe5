package trial

import (
	"sync"

	"github.com/mqlab/mqlab/internal/ledger"
)

// windowQueue brings windows from the engines' threads, which must not wait, to the run folder.
type windowQueue struct {
	mu     sync.Mutex
	full   *sync.Cond
	queue  []*ledger.Window
	closed bool
	done   chan struct{}
	err    error // the first of take; valid after close
}

func newWindowQueue(take func(*ledger.Window) error) *windowQueue {
	q := &windowQueue{done: make(chan struct{})}
	q.full = sync.NewCond(&q.mu)
	go q.run(take)
	return q
}

func (q *windowQueue) add(w *ledger.Window) {
	q.mu.Lock()
	q.queue = append(q.queue, w)
	q.mu.Unlock()
	q.full.Signal()
}

func (q *windowQueue) run(take func(*ledger.Window) error) {
	defer close(q.done)
	for {
		q.mu.Lock()
		for len(q.queue) == 0 && !q.closed {
			q.full.Wait()
		}
		todo := q.queue
		q.queue = nil
		q.mu.Unlock()
		if len(todo) == 0 {
			return
		}
		for _, w := range todo {
			if err := take(w); err != nil && q.err == nil {
				q.err = err
			}
		}
	}
}

// close returns when everything added has been taken.
func (q *windowQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.full.Signal()
	<-q.done
}

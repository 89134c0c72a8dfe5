// Package queue hands values from threads that must not wait to one that may.
package queue

import "sync"

// Queue hands on what is added to it, in order and without a bound, from a goroutine of its own.
type Queue[T any] struct {
	mu      sync.Mutex
	some    *sync.Cond
	waiting []T
	closed  bool
	done    chan struct{}
	err     error // the first of take; valid when done
}

// New makes a queue whose values take is given, one at a time, also after it has returned an error.
func New[T any](take func(T) error) *Queue[T] {
	q := &Queue[T]{done: make(chan struct{})}
	q.some = sync.NewCond(&q.mu)
	go q.run(take)
	return q
}

// Add returns at once.
func (q *Queue[T]) Add(v T) {
	q.mu.Lock()
	q.waiting = append(q.waiting, v)
	q.mu.Unlock()
	q.some.Signal()
}

func (q *Queue[T]) run(take func(T) error) {
	defer close(q.done)
	for {
		q.mu.Lock()
		for len(q.waiting) == 0 && !q.closed {
			q.some.Wait()
		}
		todo := q.waiting
		q.waiting = nil
		q.mu.Unlock()
		if len(todo) == 0 {
			return
		}
		for _, v := range todo {
			if err := take(v); err != nil && q.err == nil {
				q.err = err
			}
		}
	}
}

// Close returns when everything added has been taken, with the first error of that.
func (q *Queue[T]) Close() error {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.some.Signal()
	<-q.done
	return q.err
}

package worker

import (
	"os"
	"sync"
	"time"
)

// inboxBytes is how much may wait for one client of a shared connection: then all of them wait.
const inboxBytes = 1 << 20

// inbox holds what has come for one client of a shared connection and was not read yet.
type inbox struct {
	mu      sync.Mutex
	changed *sync.Cond
	buf     []byte
	err     error // behind buf
	timer   *time.Timer
	late    bool // the deadline has passed
}

func newInbox() *inbox {
	i := &inbox{}
	i.changed = sync.NewCond(&i.mu)
	return i
}

// add puts b behind what waits.
func (i *inbox) add(b []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.err == nil {
		i.buf = append(i.buf, b...)
	}
	i.changed.Broadcast()
}

// drain waits until there is room again.
func (i *inbox) drain() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for len(i.buf) > inboxBytes && i.err == nil {
		i.changed.Wait()
	}
}

// end makes err what is read once nothing waits any more.
func (i *inbox) end(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.err == nil {
		i.err = err
	}
	i.changed.Broadcast()
}

func (i *inbox) read(b []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for len(i.buf) == 0 {
		switch {
		case i.err != nil:
			return 0, i.err
		case i.late:
			return 0, os.ErrDeadlineExceeded
		}
		i.changed.Wait()
	}
	n := copy(b, i.buf)
	i.buf = i.buf[:copy(i.buf, i.buf[n:])]
	i.changed.Broadcast()
	return n, nil
}

// deadline ends waiting at t; the zero time never.
func (i *inbox) deadline(t time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.timer != nil {
		i.timer.Stop()
		i.timer = nil
	}
	i.late = false
	if t.IsZero() {
		return
	}
	i.timer = time.AfterFunc(time.Until(t), func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.late = true
		i.changed.Broadcast()
	})
}

//go:build linux

package loop

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/clock"
)

// patience is how long the loop waits, at its end, for one more broker's end of a connection to which goodbye was said.
const patience = int64(250 * time.Millisecond)

// Hangup implements engine.Wire. After a goodbye the other end has the first word in closing: who closes first keeps
// the port busy for a minute (TIME_WAIT), and a generator needs its ports again.
func (l *Loop) Hangup(id int) {
	s := &l.socks[id]
	if s.fd < 0 || s.leaving {
		return
	}
	if s.queued && !s.polite {
		_ = l.flush() // the loop's next turn meets the same error
	}
	switch {
	case !l.Core.Stopping():
		l.shut(id)
		return
	case !s.polite:
		l.free(id) // its protocol has no goodbye
		return
	}
	s.leaving = true
	l.forget(id, s)
	l.leaving++
	if s.stopped {
		s.stopped = false
		l.rearm(id, s)
	}
}

// free closes a connection so that its port is free at once, unless something has yet to leave.
func (l *Loop) free(id int) {
	s := &l.socks[id]
	if left, err := unix.IoctlGetInt(int(s.fd), unix.TIOCOUTQ); err == nil && left == 0 {
		toReset(int(s.fd))
	}
	l.shut(id)
}

// shut closes a connection.
func (l *Loop) shut(id int) {
	s := &l.socks[id]
	if s.fd < 0 {
		return
	}
	l.unplace(id)
	_ = unix.Close(int(s.fd)) // takes it out of epoll, too
	if s.leaving {
		l.leaving--
	}
	l.forget(id, s)
	*s = sock{fd: -1}
}

// readOut drops what still arrives on a connection that is being left, and closes it at its end.
func (l *Loop) readOut(id int, s *sock) {
	n, _, err := l.receive(int(s.fd), l.buf)
	if n > 0 || errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return
	}
	l.free(id)
}

// part waits for the ends of the connections to which goodbye was said, until none has come for a while.
func (l *Loop) part(events []unix.EpollEvent) error {
	for until := clock.Now() + patience; l.leaving > 0; {
		now, before := clock.Now(), l.leaving
		if now >= until {
			return nil
		}
		n, err := l.poll(events, until-now, true)
		if err != nil {
			return err
		}
		for i := range n {
			l.serve(&events[i])
		}
		if l.leaving < before {
			until = now + patience
		}
	}
	return nil
}

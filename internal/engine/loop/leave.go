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
	if s.queued {
		_ = l.flush() // the loop's next turn meets the same error
	}
	if !s.polite {
		l.shut(s)
		return
	}
	s.leaving, s.part = true, nil
	l.leaving++
	if s.stopped {
		s.stopped = false
		l.rearm(id, s)
	}
}

// shut closes a connection. One that has nothing left to send is reset, which leaves no port busy.
func (l *Loop) shut(s *sock) {
	if s.fd < 0 {
		return
	}
	if left, err := unix.IoctlGetInt(int(s.fd), unix.TIOCOUTQ); err == nil && left == 0 && l.Core.Stopping() {
		_ = unix.SetsockoptLinger(int(s.fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}) // else it lingers
	}
	_ = unix.Close(int(s.fd)) // takes it out of epoll, too
	if s.leaving {
		l.leaving--
	}
	*s = sock{fd: -1}
}

// readOut drops what still arrives on a connection that is being left, and shuts it at its end.
func (l *Loop) readOut(s *sock) {
	n, _, err := l.receive(int(s.fd), l.buf)
	if n > 0 || errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return
	}
	l.shut(s)
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

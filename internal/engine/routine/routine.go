// Package routine drives an engine.Core by goroutines over net.Conn: on every system, and for TLS and WebSocket.
//
// One mutex guards the Core. Each connection has a goroutine that reads and one that writes, so that a full socket blocks
// neither the schedule nor other connections; one goroutine keeps the schedule.
package routine

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/engine"
)

// Routines is an engine.Wire over net.Conn. Make one with New, fill its Core, then Run it.
type Routines struct {
	Core *engine.Core

	dialer engine.Dialer
	mu     sync.Mutex
	conns  []*conn
	alarm  *alarm // wakes the goroutine that keeps the schedule; guarded by mu
	wg     sync.WaitGroup
	over   bool

	abandoned []net.Conn // that nobody reads or writes any more, and whose peers do not know; guarded by mu
}

// conn is one connection of the Core; link is nil while it is down.
type conn struct {
	*link
	pace   *engine.ReadPace
	dialer engine.Dialer
}

// link is one socket of a conn, with its two goroutines.
type link struct {
	net  net.Conn
	out  []byte        // what the writer writes; its own while busy
	busy bool          // guarded by the mutex
	wake chan struct{} // tells the writer that out is to be written
	gone chan struct{} // closed by Hangup
	left bool          // Abandon was there: the writer does not close it; guarded by the mutex
}

// New returns Routines whose Core uses settings and whose connections are made by dialer.
func New(settings engine.Settings, dialer engine.Dialer) (*Routines, error) {
	alarm, err := newAlarm()
	if err != nil {
		return nil, err
	}
	r := &Routines{dialer: dialer, alarm: alarm}
	r.Core = engine.New(settings, r)
	return r, nil
}

// Expect makes room for n connections.
func (r *Routines) Expect(n int) { r.Core.Expect(n) }

// Add registers a connection; pace limits how fast it reads (nil = as fast as it can). It must be called before Run.
func (r *Routines) Add(s engine.ClientSpec, pace *engine.ReadPace) int {
	c := &conn{pace: pace, dialer: r.dialer}
	if s.Dialer != nil {
		c.dialer = s.Dialer
	}
	r.conns = append(r.conns, c)
	return r.Core.Add(s)
}

// Do runs f with the Core to itself, and lets the schedule look again.
func (r *Routines) Do(f func(now int64)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(clock.Now())
	r.wake()
}

// wake lets the schedule look again. When Run has ended there is nothing to wake.
func (r *Routines) wake() { _ = r.alarm.set(0) }

// Progress returns how far the Core is.
func (r *Routines) Progress() engine.Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Core.Progress()
}

// Spun returns 0: goroutines do not spin.
func (r *Routines) Spun() time.Duration { return 0 }

// Run keeps the schedule until ctx is done, then closes what is open and waits for every goroutine.
func (r *Routines) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		r.mu.Lock() // else a time set by a round that has not seen the end could replace this one
		defer r.mu.Unlock()
		r.wake()
	})
	defer stop()
	var err error
	for more := true; more && err == nil; {
		if more, err = r.round(ctx); more && err == nil {
			err = r.alarm.wait()
		}
	}
	r.mu.Lock()
	r.over = true
	for id := range r.conns {
		r.Hangup(id)
	}
	r.Bury()
	r.mu.Unlock()
	r.wg.Wait()
	return errors.Join(err, r.alarm.close())
}

// round does what is due and sets the alarm to the next time, unless ctx is done.
func (r *Routines) round(ctx context.Context) (more bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() != nil {
		return false, nil
	}
	return true, r.alarm.set(r.Core.Advance(clock.Now()))
}

// Dial implements engine.Wire.
func (r *Routines) Dial(id int, at int64) {
	r.conns[id].dialer.Dial(at, func(began int64) {
		r.Do(func(int64) { r.Core.Dialling(id, began) })
	}, func(d engine.Dialled, err error) {
		r.Do(func(now int64) {
			switch {
			case r.over && err == nil:
				_ = d.Conn.Close() // nobody wants it any more
			case r.over:
			case err != nil:
				r.Core.Lost(id, now, err)
			default:
				r.attach(id, d.Conn)
				r.Core.Connected(id, now, d.TCP, d.TLS)
			}
		})
	})
}

func (r *Routines) attach(id int, nc net.Conn) {
	c := r.conns[id]
	l := &link{net: nc, wake: make(chan struct{}, 1), gone: make(chan struct{})}
	c.link = l
	r.wg.Go(func() { r.read(id, l, c.pace) })
	r.wg.Go(func() { r.write(id, l) })
}

const (
	firstRead = 4 << 10
	maxRead   = 64 << 10
)

// read feeds the Core until the connection ends.
func (r *Routines) read(id int, l *link, pace *engine.ReadPace) {
	buf := make([]byte, firstRead)
	have := 0
	for {
		room := buf[have:]
		if pace != nil {
			room = room[:min(len(room), allowed(pace, l.gone))]
		}
		n, err := l.net.Read(room)
		now := clock.Now()
		have += n
		used, open := r.took(id, l, now, buf[:have], n, err)
		if !open {
			return
		}
		full := n == len(room)
		have = copy(buf, buf[used:have])
		if have == len(buf) || (full && len(buf) < maxRead) {
			buf = append(buf, make([]byte, len(buf))...)
		}
	}
}

// took gives the Core what was read, and says whether there is more to come.
func (r *Routines) took(id int, l *link, now int64, in []byte, fresh int, err error) (used int, open bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if isClosed(l.gone) {
		return 0, false
	}
	if fresh > 0 {
		if pace := r.conns[id].pace; pace != nil {
			pace.Took(fresh)
		}
		used = r.Core.Receive(id, now, 0, in)
	}
	if err != nil && !isClosed(l.gone) {
		if errors.Is(err, io.EOF) {
			err = engine.ErrClosed
		}
		r.Core.Lost(id, now, err)
	}
	return used, err == nil && !isClosed(l.gone)
}

// allowed waits until the pace lets something be read; a closed connection reads on, to notice.
func allowed(pace *engine.ReadPace, gone chan struct{}) int {
	for {
		now := clock.Now()
		at := pace.Next(now)
		if n := pace.Allow(now); at <= now && n > 0 {
			return n
		}
		select {
		case <-gone:
			return 1
		case <-time.After(time.Duration(at - now)):
		}
	}
}

// write writes what Send left until the connection ends.
func (r *Routines) write(id int, l *link) {
	defer r.closeUnlessLeft(l) // also ends the reader
	for {
		select {
		case <-l.wake:
		case <-l.gone:
			select {
			case <-l.wake: // a last word, such as a graceful goodbye
				_, _ = l.net.Write(l.out)
			default:
			}
			return
		}
		_, err := l.net.Write(l.out)
		r.mu.Lock()
		if !isClosed(l.gone) {
			l.busy = false
			if err != nil {
				r.Core.Lost(id, clock.Now(), err)
			} else {
				r.Core.Writable(id, clock.Now())
			}
		}
		r.mu.Unlock()
	}
}

// Send implements engine.Wire: the writer takes one batch at a time.
func (r *Routines) Send(id int, b []byte) (n int, more bool, err error) {
	l := r.conns[id].link
	switch {
	case l == nil:
		return 0, false, net.ErrClosed
	case l.busy:
		return 0, false, nil
	}
	l.out = append(l.out[:0], b...)
	l.busy = true
	l.wake <- struct{}{}
	return len(b), false, nil
}

// Hangup implements engine.Wire.
func (r *Routines) Hangup(id int) {
	c := r.conns[id]
	if c.link == nil {
		return
	}
	_ = c.net.SetDeadline(time.Now().Add(time.Second)) // ends a write that is stuck
	close(c.gone)
	c.link = nil
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

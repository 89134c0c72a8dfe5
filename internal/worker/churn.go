package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/converse"
	"github.com/mqlab/mqlab/internal/engine"
	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/ledger"
	"github.com/mqlab/mqlab/internal/proto"
)

// visitorGroup is the group of the window that holds the times of visits.
const visitorGroup = "visitors"

// Visits counts clients that came and left again. Those that were due and are neither made nor failed never began: as many as may be on
// their way at one time were.
type Visits struct {
	Due, Made, Failed int
	Failures          map[string]int // by reason
}

// visitors are clients that connect at a rate, from the start of the schedule to its end, and leave as soon as the broker has
// accepted them. Like messages they keep their schedule whatever the broker does: time counts from when a visit was due.
type visitors struct {
	by      *dialer
	session func(n int) proto.Client
	gap     time.Duration // from one visit to the next
	timeout time.Duration
	free    chan struct{} // holds one for each visit that may begin

	under sync.WaitGroup
	mu    sync.Mutex // guards what follows
	conns engine.Connections
	took  *hist.Hist
}

// newVisitors returns nil where none are wanted of this share: one worker of a trial makes them all.
func (w *Local) newVisitors(s *sessions) *visitors {
	c := &w.share.Trial.Params.Connect
	if c.ChurnPerS == 0 || w.share.Nth > 0 || w.share.Publishers.From > 0 || w.share.Subscribers.From > 0 {
		return nil
	}
	v := &visitors{
		by: w.dial, gap: time.Duration(float64(time.Second) / c.ChurnPerS), timeout: c.Timeout, took: hist.New(),
		session: func(n int) proto.Client { return s.pub.pub(s.clientID("visit", n)) },
		free:    make(chan struct{}, cmp.Or(c.AtOnce, usualAtOnce)),
	}
	for range cap(v.free) {
		v.free <- struct{}{}
	}
	return v
}

// run keeps the schedule until end or ctx is done; visits due from measure on are counted.
func (v *visitors) run(ctx context.Context, start, measure, end int64) {
	schedule, cancel := context.WithTimeout(ctx, time.Duration(end-clock.Now()))
	defer cancel()
	for n := 0; ; n++ {
		due := start + int64(n)*int64(v.gap)
		if due >= end || clock.Pause(schedule, time.Duration(due-clock.Now())) != nil {
			return
		}
		select {
		case <-v.free:
		case <-schedule.Done():
			return
		}
		v.under.Go(func() {
			took, err := v.visit(ctx, n, due)
			v.free <- struct{}{}
			if due >= measure && ctx.Err() == nil {
				v.book(took, err)
			}
		})
	}
}

func (v *visitors) book(took int64, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		v.conns.Add(engine.Connections{Failed: 1, Failures: map[string]int{err.Error(): 1}})
		return
	}
	v.conns.Established++
	v.took.Record(took)
}

// visit connects, waits for the broker's consent, which came so long after the visit was due, and leaves.
func (v *visitors) visit(ctx context.Context, n int, due int64) (took int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, v.timeout)
	defer cancel()
	d, err := v.by.connect(ctx, clock.Now())
	if err != nil {
		return 0, err
	}
	defer func() { _ = d.Conn.Close() }() // nothing more is wanted of it
	stop := context.AfterFunc(ctx, func() { _ = d.Conn.SetDeadline(time.Now()) })
	defer stop()
	session := v.session(n)
	if _, err := accepted(d.Conn, session); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%s accepts connections, but does not answer", v.by.addr)
		}
		return 0, err
	}
	took = clock.Now() - due
	if bye := session.Close(nil); len(bye) > 0 {
		if _, err := d.Conn.Write(bye); err == nil {
			farewell(d.Conn)
		}
	}
	return took, nil
}

// accepted brings the session to where the broker has agreed to it. What the broker has said beyond that is returned.
func accepted(conn net.Conn, session proto.Client) (rest []byte, err error) {
	c := converse.Conversation{Conn: conn, Session: session, Out: session.Open(clock.Now(), nil)}
	for {
		ev, err := c.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, engine.ErrClosed
		case err != nil:
			return nil, err
		case ev.Kind == proto.Ready:
			return c.In, nil
		case ev.Kind == proto.Closed:
			return nil, cmp.Or(ev.Err, engine.ErrClosed)
		}
	}
}

// farewell lets the broker close a connection on which goodbye was said, so that the port is the broker's to remember.
func farewell(conn net.Conn) {
	const patience = 200 * time.Millisecond
	if conn.SetReadDeadline(time.Now().Add(patience)) == nil {
		_, _ = io.Copy(io.Discard, conn) // its end is what is waited for
	}
}

// due is how many visits are due from start until the given time.
func (v *visitors) due(start, until int64) int {
	return int(max(0, until-start+int64(v.gap)-1) / int64(v.gap))
}

// finish waits for the visits under way and returns what became of all that were due from measure until end. Their times go into a
// window behind the measure window.
func (v *visitors) finish(start, measure, end int64, emit func(*ledger.Window)) *Visits {
	v.under.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	w := &ledger.Window{Group: visitorGroup, Phase: "close", Start: end - measure, End: end - measure}
	w.Hists[ledger.Visit] = v.took
	emit(w)
	return &Visits{
		Due: v.due(start, end) - v.due(start, measure), Made: v.conns.Established, Failed: v.conns.Failed, Failures: v.conns.Failures,
	}
}

package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mqlab/mqlab/internal/guard"
)

const (
	graceful  = 10 * time.Second // from SIGTERM to SIGKILL
	reapLimit = 5 * time.Second  // from SIGKILL to the end of the process
)

// Instance is a broker that answers.
type Instance struct {
	URL          string // where publishers connect; without credentials
	SubscribeURL string // where subscribers connect
	Version      string // empty = not known
	Config       []Setting
	// Limits are what the broker can take at most: open_files, max_payload_bytes, max_connections, … What is not there
	// is unlimited or not known; Config tells which.
	Limits map[string]int64
	// PIDs are the roots of its process tree; none for an external broker. Up changes them: while it may be called, ask Roots.
	PIDs []int

	publish, subscribe string // schemes of their URLs
	name               string
	dir                string
	program            *program
	guard              *guard.Guard
	stderr             *tail
	vessel             vessel // nil = external
	cell               *cell  // nil = not limited by us

	site      *site // where it runs; nil = it cannot be started again
	listeners []endpoint
	down      bool // ended by Down

	life   sync.Mutex    // guards PIDs and exited, which change when it is started again
	done   chan struct{} // closed when it has ended
	end    exit          // how; valid when done is closed
	exited chan error

	stopping atomic.Bool // its end is wanted

	mu      sync.Mutex // one Stop at a time
	stopped bool
	result  error // of the first Stop
}

// vessel is what a broker runs in: a process with its descendants, or a container.
type vessel interface {
	pause() error
	resume() error
	terminate() error // ask it to end
	// serves returns nil if it is this broker that listens at address, and at none that other hosts reach.
	serves(address string) error
	clear() error // kill what is left of it, and leave no trace
}

// ended notes how the broker ended, and tells if nobody asked for it.
func (i *Instance) ended(end exit) {
	i.end = end
	close(i.done)
	if !i.stopping.Load() {
		i.exited <- i.crashed()
	}
	close(i.exited)
}

func (i *Instance) crashed() error {
	if i.end.memory {
		return i.outOfMemory("during the trial")
	}
	text := fmt.Sprintf("%s %s during the trial", i.name, i.end)
	if last := i.stderr.lastLine(); last != "" {
		text += "; it last said: " + last
	}
	return errors.New(text)
}

func (i *Instance) outOfMemory(when string) error {
	limit := i.Limits["memory_bytes"]
	if limit == 0 && i.cell != nil { // it ended before limits were read back
		limit = i.cell.asked.MemoryBytes
	}
	if i.end.heap {
		limit /= heapShare
	}
	return &MemoryError{Broker: i.name, Limit: limit, Heap: i.end.heap, When: when}
}

// Exited brings one error that says how the broker ended, if it ended by itself, and is closed when it has ended. The
// channel of an external broker brings nothing. A broker that is started again by Up has a new channel.
func (i *Instance) Exited() <-chan error {
	i.life.Lock()
	defer i.life.Unlock()
	return i.exited
}

// StderrTail returns the last lines that the broker wrote.
func (i *Instance) StderrTail() string {
	if i.stderr == nil {
		return ""
	}
	return i.stderr.String()
}

// Pause stops the broker in its tracks (SIGSTOP to all its processes) until Resume. Its connections stay open.
func (i *Instance) Pause() error { return i.signal("paused", vessel.pause) }

// Resume lets a paused broker run again.
func (i *Instance) Resume() error { return i.signal("resumed", vessel.resume) }

func (i *Instance) signal(what string, send func(vessel) error) error {
	if i.vessel == nil {
		return fmt.Errorf("%s is not ours to be %s", i.name, what)
	}
	select {
	case <-i.done:
		return fmt.Errorf("%s cannot be %s: it %s", i.name, what, i.end)
	default:
	}
	if err := send(i.vessel); err != nil {
		return fmt.Errorf("%s cannot be %s: %w", i.name, what, err)
	}
	return nil
}

// Stop ends the broker and removes its folder: SIGTERM, after 10 seconds (or at the end of ctx) SIGKILL to all its
// processes. It returns an error if the broker had to be killed, did not end in order, or had ended before. Stopping
// again returns the same.
func (i *Instance) Stop(ctx context.Context) error {
	if i.vessel == nil {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.stopped {
		i.stopped = true
		i.result = i.stop(ctx)
	}
	return i.result
}

func (i *Instance) stop(ctx context.Context) error {
	if i.down {
		return i.clear()
	}
	select {
	case <-i.done:
		return errors.Join(i.crashed(), i.clear())
	default:
	}
	i.stopping.Store(true)
	return errors.Join(i.terminate(ctx), i.clear())
}

// terminate asks the broker to end and waits for it. The error says what is wrong with the way in which it ended, or that it did
// not.
func (i *Instance) terminate(ctx context.Context) error {
	_ = i.vessel.resume() // a paused process does not hear SIGTERM
	_ = i.vessel.terminate()
	late := time.NewTimer(graceful)
	defer late.Stop()
	select {
	case <-i.done:
		return i.orderly()
	case <-late.C:
		return fmt.Errorf("%s did not end within %v of SIGTERM and was killed", i.name, graceful)
	case <-ctx.Done():
		return fmt.Errorf("%s was killed: %w", i.name, context.Cause(ctx))
	}
}

// orderly says what is wrong with the way in which the broker ended when asked to.
func (i *Instance) orderly() error {
	if i.end.signal == syscall.SIGTERM || i.end.signal == 0 && (i.end.code == 0 || slices.Contains(i.program.exits, i.end.code)) {
		return nil
	}
	text := fmt.Sprintf("%s %s when asked to end", i.name, i.end)
	if last := i.stderr.lastLine(); last != "" {
		text += ": " + last
	}
	return errors.New(text)
}

// clear kills what is left of the broker and removes its cell and folder.
func (i *Instance) clear() error {
	return errors.Join(i.sweep(), i.cell.remove(i), i.guard.RemoveDir(i.dir))
}

// sweep kills what is left of the broker.
func (i *Instance) sweep() error {
	err := i.vessel.clear()
	select {
	case <-i.done:
	case <-time.After(reapLimit):
		err = errors.Join(err, fmt.Errorf("%s could not be ended", i.name))
	}
	return err
}

// kill ends a broker that did not become ready.
func (i *Instance) kill() {
	i.stopping.Store(true)
	_ = i.clear()
}

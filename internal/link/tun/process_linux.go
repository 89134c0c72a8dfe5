package tun

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/hist"
	"github.com/mqlab/mqlab/internal/link"
)

// The carrier is a process of its own, in the real-time class with all its threads. Threads of the lab would not do: now and then one
// needs something of the Go runtime that an ordinary thread holds, which does not run while the machine is busy; two hundred
// milliseconds of lateness were seen, against two of a process. It ends when the lab does, however that ends.

// self is the name by which this program knows that it was started to be something else.
const self = "mqlab-network"

// What it was started to be.
const (
	carryVerb = "carry" // the carrier, before it is in the real-time class
	moveVerb  = "move"  // the carrier
)

// init makes every program that opens a network, tests included, able to be the other processes that it takes.
func init() {
	if len(os.Args) < 2 || os.Args[0] != self {
		return
	}
	switch os.Args[1] {
	case carryVerb:
		os.Exit(carry())
	case moveVerb:
		os.Exit(move(os.Args[2:]))
	case probeVerb:
		os.Exit(probe())
	}
}

// Descriptors that a carrier is started with.
const (
	deviceFD = 3 + iota
	brokerFD
	controlFD
)

// priority is that of the carrier in the real-time class: the lowest will do, ordinary threads come after it.
const priority = 1

// carry enters the real-time class, where that is allowed, and starts again so that all threads are in it.
func carry() int {
	runtime.LockOSThread()
	scheduler, why := "rr", ""
	if err := enterRealTime(); err != nil {
		scheduler, why = "other", fmt.Sprintf("SCHED_RR is refused (%v): packets may be late when this machine is busy", err)
	}
	err := syscall.Exec("/proc/self/exe", []string{self, moveVerb, scheduler, why}, os.Environ())
	fmt.Fprintln(os.Stderr, "carrier of the link:", err)
	return 1
}

// enterRealTime puts this thread, and those that it will start, before all that are not real-time, in turn among each other (SCHED_RR).
// SCHED_FIFO would let a thread run until it waits for something, which Go's background sweeper does not while another thread sweeps (see
// bgsweep in the runtime's mgcsweep.go): where that one is behind it on the same core it spins for good.
func enterRealTime() error {
	return unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: priority}, 0)
}

// move carries packets until the lab has gone.
func move(args []string) int {
	runtime.GOMAXPROCS(8)                                        // never to wait for another thread of ours
	debug.SetGCPercent(800)                                      // packets need no memory of their own, so that little is ever collected
	_ = os.WriteFile("/proc/self/comm", []byte("mqlab-link"), 0) // for those who look at processes; else it is "exe"
	control := os.NewFile(controlFD, "control")
	if err := boundRealTime(); err != nil {
		fmt.Fprintln(os.Stderr, "carrier of the link:", err)
		return 1
	}
	if err := serve(control, args); err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, "carrier of the link:", err)
		return 1
	}
	return 0
}

// mover is the carrier's process: both directions.
type mover struct {
	up, down *carrier
	seen     *sightings
	class    class
	out      io.Writer
	outMu    sync.Mutex
}

func serve(control io.ReadWriter, args []string) error {
	_, body, err := readFrame(control)
	if err != nil {
		return err
	}
	var t task
	if err := json.Unmarshal(body, &t); err != nil {
		return err
	}
	if err := errors.Join(unix.SetNonblock(deviceFD, true), unix.SetNonblock(brokerFD, true)); err != nil {
		return err
	}
	m := &mover{out: control, seen: newSightings(), class: class{scheduler: args[0], why: args[1]}}
	if m.up, err = newCarrier(link.Up, deviceFD, brokerFD, link.New(t.Up, t.Seed), m.seen); err != nil {
		return err
	}
	if m.down, err = newCarrier(link.Down, brokerFD, deviceFD, link.New(t.Down, ^t.Seed), m.seen); err != nil {
		return err
	}
	ended := make(chan error, 5)
	go func() { ended <- m.up.run() }()
	go func() { ended <- m.down.run() }()
	go func() { ended <- m.report() }()
	go func() { ended <- m.class.watch() }()
	go func() { ended <- m.listen(control) }()
	return <-ended
}

// listen answers requests, the first without being asked.
func (m *mover) listen(control io.Reader) error {
	var first answer
	m.class.tell(&first)
	if err := m.answer(first); err != nil {
		return err
	}
	for {
		_, body, err := readFrame(control)
		if err != nil {
			return err
		}
		var q request
		if err := json.Unmarshal(body, &q); err != nil {
			return err
		}
		var a answer
		if err := m.carryOut(q); err != nil {
			a.Error = err.Error()
		}
		a.Up, a.Down, a.Late = m.up.counters(), m.down.counters(), hist.New()
		m.up.lateness(a.Late)
		m.down.lateness(a.Late)
		m.class.tell(&a)
		if err := m.answer(a); err != nil {
			return err
		}
	}
}

func (m *mover) carryOut(q request) error {
	if q.Observe != nil {
		m.seen.want(*q.Observe)
	}
	var errs []error
	for _, c := range []*carrier{m.up, m.down} {
		errs = append(errs, c.do(func(now int64, machine *link.Machine) error {
			if q.Change != nil {
				machine.Change(now, q.Change.Params(c.way))
			}
			if down, ok := q.Down[c.way]; ok {
				machine.SetDown(now, down)
			}
			if q.Schedule != nil {
				return machine.Schedule(now, *q.Schedule)
			}
			return nil
		}))
	}
	return errors.Join(errs...)
}

// answer sends what was seen before, and the answer.
func (m *mover) answer(a answer) error {
	m.outMu.Lock()
	defer m.outMu.Unlock()
	if err := m.flush(); err != nil {
		return err
	}
	return writeJSON(m.out, answerFrame, a)
}

// flush sends what was seen.
func (m *mover) flush() error {
	b := m.seen.take()
	if len(b) == 0 {
		return nil
	}
	return writeFrame(m.out, sightingFrame, b)
}

// pace is how long a sighting waits for others.
const pace = 10 * time.Millisecond

// report sends what is seen as long as somebody wants it.
func (m *mover) report() error {
	for {
		m.seen.await()
		time.Sleep(pace)
		m.outMu.Lock()
		err := m.flush()
		m.outMu.Unlock()
		if err != nil {
			return err
		}
	}
}

// sightings are what an observer is to be told.
type sightings struct {
	mu     sync.Mutex
	wanted bool
	some   *sync.Cond
	all    []byte
	spare  []byte
}

func newSightings() *sightings {
	s := &sightings{}
	s.some = sync.NewCond(&s.mu)
	return s
}

func (s *sightings) want(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted = on
}

func (s *sightings) add(way link.Direction, at int64, packet []byte, v link.Verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.wanted {
		return
	}
	s.all = appendSighting(s.all, way, at, packet, v)
	s.some.Signal()
}

// await returns when there are some.
func (s *sightings) await() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.all) == 0 {
		s.some.Wait()
	}
}

// take returns those there are. They are valid until the next call but one.
func (s *sightings) take() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.all
	s.all, s.spare = s.spare[:0], b
	return b
}

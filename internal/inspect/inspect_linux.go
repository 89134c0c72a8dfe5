package inspect

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/cgroup"
	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/procstat"
)

// look is a process being looked at.
type look struct {
	o       Options
	pidfd   int
	group   *cgroup.Group    // that has a CPU quota; nil = none
	sockets map[int]*watched // by descriptor
	looks   int
	waiting int // looks that found a thread waiting for a socket
	asleep  int // and a thread in a sleep, and none waiting
	writing int // and a thread in a synchronous write
	unread  int // and received bytes nobody had read
	unsent  int
	// Of the look before, and what happened since.
	at           int64
	ran, waited  time.Duration
	throttled    time.Duration
	stored       uint64 // bytes
	onQueue      []diagnose.Span
	quota        []diagnose.Span
	written      []diagnose.Span
	idle         []diagnose.Span // bytes lay unread at both looks
	unreadBefore bool
	memory       []uint64 // resident bytes, at each look
}

// Process looks at a process for a while.
func Process(ctx context.Context, o Options) (*Report, error) {
	l := &look{o: o, sockets: map[int]*watched{}}
	var err error
	if l.pidfd, err = unix.PidfdOpen(o.PID, 0); err != nil {
		if errors.Is(err, unix.ESRCH) {
			return nil, ErrNoProcess
		}
		return nil, os.NewSyscallError("pidfd_open", err)
	}
	defer func() { _ = unix.Close(l.pidfd) }()
	if err := l.findSockets(); err != nil {
		return nil, err
	}
	l.group, _ = cgroup.Of(o.PID)
	before, err := l.counters()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := l.watch(ctx, began); err != nil {
		return nil, err
	}
	r := &Report{PID: o.PID, For: time.Since(began), Looks: l.looks}
	after, err := l.counters()
	if err != nil {
		return nil, errEnded
	}
	l.report(r, before, after)
	return r, nil
}

// watch looks again and again.
func (l *look) watch(ctx context.Context, began time.Time) error {
	every := time.NewTicker(l.o.Every)
	defer every.Stop()
	for {
		if err := l.once(); err != nil {
			return err
		}
		if time.Since(began) >= l.o.For {
			return nil
		}
		select {
		case <-l.o.Until:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-every.C:
		}
	}
}

// once looks at every thread and socket.
func (l *look) once() error {
	states, err := threadStates(l.o.PID, l.sockets)
	if err != nil {
		return err
	}
	l.looks++
	switch {
	case slices.Contains(states, waitsForSocket):
		l.waiting++
	case slices.Contains(states, sleeps):
		l.asleep++
	}
	writing := l.stores() || slices.Contains(states, writes) // in this order: each look counts what was stored since the one before
	if writing {
		l.writing++
	}
	unread, unsent := false, false
	for fd, s := range l.sockets {
		in, out := s.ask(l.pidfd, fd)
		unread, unsent = unread || in, unsent || out
	}
	if unread {
		l.unread++
	}
	if unsent {
		l.unsent++
	}
	l.since(writing, unread)
	return nil
}

// muchStored is how many bytes, from one look to the next, make the process one that was busy writing: the kernel does not tell in which
// system call a thread is that runs, as it does all the time where the disk is fast.
const muchStored = 128 << 10

func (l *look) stores() bool {
	stored, err := procstat.Host.Stored(l.o.PID)
	if err != nil {
		return false
	}
	much := l.at > 0 && stored-l.stored >= muchStored
	l.stored = stored
	return much
}

// since notes what happened between the look before and this one.
func (l *look) since(writing, unread bool) {
	now := clock.Now()
	ran, waited, _ := procstat.Host.TotalScheduled(l.o.PID)
	quota := l.heldBack()
	if l.at > 0 {
		byQuota := quota - l.throttled
		if byQuota > 0 {
			l.quota = append(l.quota, diagnose.Span{From: now - int64(byQuota), To: now})
		}
		// Threads of one process that queue behind each other are not held up by others: what they ran is taken off. What a quota
		// holds back waits for no core either.
		if held := int64(waited - l.waited - (ran - l.ran) - byQuota); held > 0 { // the kernel tells of it when it is over
			l.onQueue = append(l.onQueue, diagnose.Span{From: now - held, To: now})
		}
		if writing {
			l.written = append(l.written, diagnose.Span{From: l.at, To: now})
		}
		if unread && l.unreadBefore {
			l.idle = append(l.idle, diagnose.Span{From: l.at, To: now})
		}
	}
	l.at, l.ran, l.waited, l.throttled, l.unreadBefore = now, ran, waited, quota, unread
	if rss, err := procstat.Host.Resident(l.o.PID); err == nil {
		l.memory = append(l.memory, rss)
	}
}

func (l *look) report(r *Report, before, after *counters) {
	r.Command = after.command
	part := func(n int) *float64 { return new(float64(n) / float64(max(l.looks, 1))) }
	f := &r.Facts
	f.SocketWait, f.Asleep, f.Unread, f.Unsent = part(l.waiting), part(l.asleep), part(l.unread), part(l.unsent)
	r.DiskWrite = *part(l.writing)
	for _, s := range l.sockets {
		r.Sockets = append(r.Sockets, s.said(l.looks))
	}
	slices.SortFunc(r.Sockets, func(a, b Socket) int { return a.Local.Compare(b.Local) })
	allOn := !slices.ContainsFunc(r.Sockets, func(s Socket) bool { return !s.NoDelay })
	f.ClientNoDelay = &allOn
	seconds := r.For.Seconds()
	ran, waited := after.Ran-before.Ran, after.Waited-before.Waited
	if after.Scheduled {
		// Threads of one process that queue behind each other are not held up by others: what they ran is taken off.
		r.WaitCore = max(0, (waited-ran).Seconds()/seconds)
		r.Sources = append(r.Sources, diagnose.RunQueue)
	}
	r.Signals = l.signals()
	r.Voluntary = float64(after.Voluntary-before.Voluntary) / seconds
	r.Involuntary = float64(after.Involuntary-before.Involuntary) / seconds
	r.MajorFaults = after.majorFaults - before.majorFaults
	r.Throttled = after.throttled - before.throttled
	f.MemoryGrowth = new((float64(after.rss) - float64(before.rss)) / seconds)
	f.MemoryBytes = new(float64(after.rss))
	f.SwapIns = new(r.MajorFaults)
	r.MemorySteady = steadily(l.memory)
	if l.o.Broker {
		r.Sources = append(r.Sources, diagnose.Sockets, diagnose.Broker)
	} else {
		r.Sources = append(r.Sources, diagnose.Threads, diagnose.Sockets, diagnose.Memory)
	}
}

// signals are what was seen going on. A wait for a core or for a quota is as long as its span, so that it held the process up however much
// of the time such spans are.
func (l *look) signals() (list []diagnose.Signal) {
	side := "client"
	if l.o.Broker {
		side, l.written = "broker", nil // its writes matter when it does not read meanwhile
	} else {
		l.idle = nil
	}
	var resent []diagnose.Span
	for _, w := range l.sockets {
		resent = append(resent, w.resent...)
	}
	for _, s := range []diagnose.Signal{
		{Cause: diagnose.CPUContention, Side: side, Spans: l.onQueue, Certain: true},
		{Cause: diagnose.Throttling, Side: side, Spans: l.quota, Certain: true},
		{Cause: diagnose.PacketLoss, Side: "network", Spans: resent},
		{Cause: diagnose.DiskWrite, Side: side, Spans: l.written},
		{Cause: diagnose.BrokerStall, Side: side, Spans: without(l.idle, l.onQueue, l.quota)},
	} {
		if len(s.Spans) > 0 {
			list = append(list, s)
		}
	}
	return list
}

// without are the spans during less than half of which any of the others was on: a process that waits for a core does not stand still.
func without(spans []diagnose.Span, others ...[]diagnose.Span) (list []diagnose.Span) {
	for _, s := range spans {
		covered := int64(0)
		for _, o := range slices.Concat(others...) {
			covered += max(0, min(s.To, o.To)-max(s.From, o.From))
		}
		if 2*covered < s.To-s.From {
			list = append(list, s)
		}
	}
	return list
}

const parts = 10

// steadily is in how many of ten parts of its time memory grew, as a part of them.
func steadily(memory []uint64) *float64 {
	if len(memory) < 10*parts {
		return nil
	}
	grew := 0
	for i := range parts {
		if from, to := memory[i*(len(memory)-1)/parts], memory[(i+1)*(len(memory)-1)/parts]; to > from {
			grew++
		}
	}
	return new(float64(grew) / parts)
}

// counters are totals of a process.
type counters struct {
	procstat.Total
	command          string
	throttled        time.Duration
	majorFaults, rss uint64
}

func (l *look) counters() (*counters, error) {
	pid := l.o.PID
	c := &counters{throttled: l.heldBack()}
	comm, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	if err != nil {
		return nil, err
	}
	c.command = strings.TrimSpace(string(comm))
	if c.Total, err = procstat.Host.Total(pid); err != nil {
		return nil, err
	}
	if _, c.majorFaults, err = procstat.Host.Faults(pid); err != nil {
		return nil, err
	}
	c.rss, err = procstat.Host.Resident(pid)
	return c, err
}

// heldBack is how long the process's control group was stopped by its CPU quota, since it exists; 0 without a quota.
func (l *look) heldBack() time.Duration {
	if l.group == nil {
		return 0
	}
	u, err := l.group.Throttling()
	if err != nil {
		return 0 // the group ends with its last process
	}
	return u.ThrottledTime
}

// read is a file's content, "" if there is none.
func read(name string) string {
	b, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(b)
}

package monitor

import (
	"errors"
	"os"
	"slices"
	"time"

	"github.com/prometheus/procfs"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/guard/proctree"
	"github.com/mqlab/mqlab/internal/procstat"
)

// rest bounds the cost of what can be costly: something that took d is not done again before rest × d has passed. It
// shows on hosts with many hundreds of processes, where the search for new members of a tree is left out of some
// samples, and for processes of many gigabytes, whose page tables the kernel walks to tell their PSS.
const rest = 200

// Monitor samples what it was made for.
type Monitor struct {
	proc       procstat.Proc
	fs         procfs.FS
	err        error // there is no /proc
	targets    []*watched
	nextSearch int64
}

// watched is a target and what is remembered of it.
type watched struct {
	Target
	tree               []owner // its processes, as last searched for
	processes, threads sum
	lastT              int64 // of the sample before; 0 = there was none
	nextPSS            int64
}

func (t *watched) roots() []int {
	if t.Roots != nil {
		return t.Roots()
	}
	return t.PIDs
}

// New makes a monitor of the host and targets.
func New(targets ...Target) *Monitor {
	return newMonitor(procstat.Host, targets)
}

func newMonitor(proc procstat.Proc, targets []Target) *Monitor {
	m := &Monitor{proc: proc}
	m.fs, m.err = procfs.NewFS(string(proc))
	for _, t := range targets {
		w := &watched{Target: t}
		for _, pid := range w.roots() {
			w.tree = append(w.tree, owner{pid: pid})
		}
		m.targets = append(m.targets, w)
	}
	return m
}

func (m *Monitor) sample(report func(Sample)) {
	if m.err != nil {
		return
	}
	if s, ok := m.host(); ok {
		report(s)
	}
	m.search()
	for _, t := range m.targets {
		if s, ok := t.sample(m); ok {
			report(s)
		}
	}
}

// search looks for new members of the trees.
func (m *Monitor) search() {
	began := clock.Now()
	if began < m.nextSearch || !slices.ContainsFunc(m.targets, func(t *watched) bool { return !t.Alone }) {
		return
	}
	all, err := proctree.List(m.fs)
	if err != nil {
		return
	}
	for _, t := range m.targets {
		if t.Alone {
			continue
		}
		t.tree = t.tree[:0]
		for _, p := range proctree.Tree(all, t.roots()...) {
			t.tree = append(t.tree, owner{pid: p.PID, started: p.Starttime})
		}
	}
	ended := clock.Now()
	m.nextSearch = ended + rest*(ended-began)
}

// host reads how busy the machine is; false if it does not tell.
func (m *Monitor) host() (Sample, bool) {
	s := Sample{T: clock.Now(), Role: Host}
	stat, err := m.fs.Stat()
	if err != nil {
		return s, false
	}
	// Time of guests is part of user and nice already (proc_stat(5)).
	c := stat.CPUTotal
	s.HostBusySeconds = c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ
	s.StealSeconds = c.Steal
	s.Cores = len(stat.CPU)
	if l, err := m.fs.LoadAvg(); err == nil {
		s.Load1 = l.Load1
	}
	if p, err := m.fs.PSIStatsForResource("cpu"); err == nil && p.Some != nil {
		s.CPUPressure10 = &p.Some.Avg10
	}
	return s, true
}

// sample reads the tree; false if none of it is left or it could not be read.
func (t *watched) sample(m *Monitor) (Sample, bool) {
	fs := m.fs
	s := Sample{T: clock.Now(), Role: t.Role}
	tree, err := t.alive(fs)
	if err != nil || len(tree) == 0 {
		return s, false
	}
	processes, threads := make(map[owner]counters), make(map[owner]counters)
	for _, p := range tree {
		s.RSSBytes += uint64(p.ResidentMemory())
		s.Threads += p.NumThreads
		processes[owner{pid: p.PID, started: p.Starttime}] = counters{cpu: p.CPUTime()}
		if err := readThreads(m.proc, p, threads); err != nil {
			return s, false
		}
	}
	s.Processes = len(tree)
	s.FDs = descriptors(fs, tree)
	s.CPUSeconds = t.processes.update(processes).cpu
	s.Busiest = t.busiest(fs, threads, s.T)
	c := t.threads.update(threads)
	s.CtxVoluntary, s.CtxInvoluntary, s.RunWaitSeconds = c.voluntary, c.involuntary, c.wait
	s.PSSBytes = t.pss(fs, tree)
	if t.TCP != nil {
		if totals, ok := t.TCP(); ok {
			s.TCP = &totals
		}
	}
	return s, true
}

// busiest is the thread that used most CPU since the sample before.
func (t *watched) busiest(fs procfs.FS, threads map[owner]counters, now int64) *Thread {
	before := t.lastT
	t.lastT = now
	who, used, ok := t.threads.busiest(threads)
	if before == 0 || !ok || used.cpu == 0 && used.wait == 0 {
		return nil
	}
	thread := &Thread{Seconds: time.Duration(now - before).Seconds(), CPUSeconds: used.cpu, RunWaitSeconds: used.wait}
	if p, err := fs.Thread(who.pid, who.tid); err == nil {
		thread.Name, _ = p.Comm() // "" where it has just ended
	}
	return thread
}

// alive returns the processes of the tree that have not ended.
func (t *watched) alive(fs procfs.FS) (tree []procfs.ProcStat, err error) {
	for _, o := range t.tree {
		s, err := stat(fs, o.pid)
		switch {
		case proctree.Unseen(err):
		case err != nil:
			return nil, err
		case s.State != "Z" && (o.started == 0 || o.started == s.Starttime):
			tree = append(tree, s)
		}
	}
	return tree, nil
}

func stat(fs procfs.FS, pid int) (procfs.ProcStat, error) {
	p, err := fs.Proc(pid)
	if err != nil {
		return procfs.ProcStat{}, err
	}
	return p.Stat()
}

// descriptors counts the open files of tree; 0 if it is not known of all.
func descriptors(fs procfs.FS, tree []procfs.ProcStat) (total int) {
	for _, s := range tree {
		p, err := fs.Proc(s.PID)
		if err != nil {
			continue // it has ended
		}
		n, err := p.FileDescriptorsLen()
		switch {
		case err == nil:
			total += n
		case !errors.Is(err, os.ErrNotExist):
			return 0
		}
	}
	return total
}

// readThreads adds the counters of p's threads: what /proc/PID/status and schedstat say of them is true for the main
// thread alone.
func readThreads(proc procstat.Proc, p procfs.ProcStat, into map[owner]counters) error {
	threads, err := proc.Threads(p.PID)
	if proctree.Unseen(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, tid := range threads {
		var c counters
		// Read first: where status is there after it, a missing schedstat is one that this kernel does not offer.
		if ran, waited, err := proc.Scheduled(p.PID, tid); err == nil {
			c.cpu, c.wait = ran.Seconds(), waited.Seconds()
		} else if !proctree.Unseen(err) {
			return err
		}
		c.voluntary, c.involuntary, err = proc.Switches(p.PID, tid)
		if proctree.Unseen(err) {
			continue
		}
		if err != nil {
			return err
		}
		into[owner{pid: p.PID, tid: tid, started: p.Starttime}] = c
	}
	return nil
}

// pss sums up the proportional set size of tree; 0 if it is not known, or was read too recently for its cost.
func (t *watched) pss(fs procfs.FS, tree []procfs.ProcStat) (total uint64) {
	began := clock.Now()
	if began < t.nextPSS {
		return 0
	}
	for _, p := range tree {
		proc, err := fs.Proc(p.PID)
		if err != nil {
			continue // it has ended
		}
		m, err := proc.ProcSMapsRollup()
		if err != nil {
			return 0 // a part of the sum would flatter
		}
		total += m.Pss
	}
	ended := clock.Now()
	t.nextPSS = ended + rest*(ended-began)
	return total
}

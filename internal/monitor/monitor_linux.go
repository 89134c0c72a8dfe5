package monitor

import (
	"slices"
	"time"

	"github.com/prometheus/procfs"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/guard/proctree"
)

// pssShare bounds the cost of reading PSS, for which the kernel walks the page tables: a reading that took d is not
// followed by another before pssShare × d has passed. It shows for processes of many gigabytes only.
const pssShare = 200

// Monitor samples what it was made for.
type Monitor struct {
	fs      procfs.FS
	err     error // there is no /proc
	targets []*watched
}

// watched is a target and what is remembered of it.
type watched struct {
	Target
	processes, threads sum
	nextPSS            int64
}

// New makes a monitor of the host and targets.
func New(targets ...Target) *Monitor {
	fs, err := procfs.NewDefaultFS()
	return newMonitor(fs, err, targets)
}

func newMonitor(fs procfs.FS, err error, targets []Target) *Monitor {
	m := &Monitor{fs: fs, err: err}
	for _, t := range targets {
		m.targets = append(m.targets, &watched{Target: t})
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
	var all []procfs.ProcStat
	if slices.ContainsFunc(m.targets, func(t *watched) bool { return !t.Alone }) {
		var err error
		if all, err = proctree.List(m.fs); err != nil {
			return
		}
	}
	for _, t := range m.targets {
		if s, ok := t.sample(m.fs, all); ok {
			report(s)
		}
	}
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

// sample reads the tree, of which all holds the candidates; false if none of it is left or it could not be read.
func (t *watched) sample(fs procfs.FS, all []procfs.ProcStat) (Sample, bool) {
	s := Sample{T: clock.Now(), Role: t.Role}
	tree := t.alive(fs, all)
	if len(tree) == 0 {
		return s, false
	}
	processes, threads := make(map[owner]counters), make(map[owner]counters)
	for _, p := range tree {
		s.RSSBytes += uint64(p.ResidentMemory())
		s.Threads += p.NumThreads
		processes[owner{pid: p.PID, started: p.Starttime}] = counters{cpu: p.CPUTime()}
		if err := readThreads(fs, p, threads); err != nil {
			return s, false
		}
		if proc, err := fs.Proc(p.PID); err == nil {
			if n, err := proc.FileDescriptorsLen(); err == nil {
				s.FDs += n
			}
		}
	}
	s.Processes = len(tree)
	s.CPUSeconds = t.processes.update(processes).cpu
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

// alive picks the processes to be watched.
func (t *watched) alive(fs procfs.FS, all []procfs.ProcStat) (tree []procfs.ProcStat) {
	if !t.Alone {
		tree = proctree.Tree(all, t.PIDs...)
		return slices.DeleteFunc(tree, func(s procfs.ProcStat) bool { return s.State == "Z" })
	}
	for _, pid := range t.PIDs {
		p, err := fs.Proc(pid)
		if err != nil {
			continue
		}
		if s, err := p.Stat(); err == nil {
			tree = append(tree, s)
		}
	}
	return tree
}

// readThreads adds the counters of p's threads: what /proc/PID/status and schedstat say of them is true for the main
// thread alone.
func readThreads(fs procfs.FS, p procfs.ProcStat, into map[owner]counters) error {
	threads, err := fs.AllThreads(p.PID)
	if proctree.Unseen(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, t := range threads {
		status, err := t.NewStatus()
		if proctree.Unseen(err) {
			continue
		}
		if err != nil {
			return err
		}
		c := counters{voluntary: status.VoluntaryCtxtSwitches, involuntary: status.NonVoluntaryCtxtSwitches}
		if sched, err := t.Schedstat(); err == nil {
			c.wait = time.Duration(sched.WaitingNanoseconds).Seconds()
		}
		into[owner{pid: p.PID, tid: t.PID, started: p.Starttime}] = c
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
	t.nextPSS = ended + pssShare*(ended-began)
	return total
}

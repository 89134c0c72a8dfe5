package broker

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mqlab/mqlab/internal/cgroup"
	"github.com/mqlab/mqlab/internal/plan"
)

// LimitedVerb is the first argument by which main knows that it shall put itself under limits and become a broker: it
// then calls Limited with the arguments after it.
const LimitedVerb = "limited"

// exitLimits is the exit code of Limited where the limits cannot be set, as env(1) and others use it for their own failures.
const exitLimits = 125

// cell is the control group of one broker, or of several on one machine, and the file limit of its processes.
type cell struct {
	group     *cgroup.Group
	openFiles int
	asked     plan.Profile
	users     atomic.Int32 // brokers inside
}

// confinement is what Limited is told.
type confinement struct {
	Groups    []string `json:"groups"`
	OpenFiles int      `json:"open_files,omitempty"`
}

// CanLimit tells why a broker that runs as runtime cannot be held to p on this host, which has cores and memory (bytes;
// 0 = not known); nil = it can. It makes a control group and removes it.
func CanLimit(p plan.Profile, runtime string, cores int, memory uint64) error {
	switch {
	case p.Off || !p.Limited() || runtime == External:
		return nil
	case p.CPUs > float64(cores):
		return fmt.Errorf("machine %s has %s; this host has %d", p.Name, coreCount(p.CPUs), cores)
	case memory > 0 && uint64(p.MemoryBytes) > memory:
		return fmt.Errorf("machine %s has %s of memory; this host has %s", p.Name, memoryWords(p.MemoryBytes), memoryWords(int64(memory)))
	case runtime == Docker:
		return nil // the engine sets the limits
	}
	var made []string
	g, err := cgroup.Make("check-"+strconv.Itoa(os.Getpid()), limitsOf(p), func(dir string) { made = append(made, dir) })
	if err == nil {
		err = g.Remove()
	}
	if err != nil {
		return fmt.Errorf("machine %s: the broker cannot be held to it: %w", p.Name, err)
	}
	return nil
}

func limitsOf(p plan.Profile) cgroup.Limits {
	return cgroup.Limits{CPUs: p.CPUs, Memory: p.MemoryBytes}
}

// confine makes the control group of a broker, or enters it into that of another; nil where it is not to be limited.
func (i *Instance) confine(p plan.Profile, name string, beside *Instance) error {
	if p.Off || !p.Limited() {
		return nil
	}
	if beside != nil && beside.cell != nil {
		i.cell = beside.cell
		i.cell.users.Add(1)
		return nil
	}
	g, err := cgroup.Make(name, limitsOf(p), i.guard.TrackGroup)
	if err != nil {
		return err
	}
	i.cell = &cell{group: g, openFiles: p.OpenFiles, asked: p}
	i.cell.users.Add(1)
	return nil
}

// command is the command line by which path is run inside the cell: this program, which enters it and then becomes path.
// So everything the broker does, from its first instruction on, is inside.
func (c *cell) command(path string, args []string) (string, []string, error) {
	if c == nil {
		return path, args, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	spec, err := json.Marshal(confinement{Groups: c.group.Dirs(), OpenFiles: c.openFiles})
	if err != nil {
		return "", nil, err
	}
	return self, append([]string{LimitedVerb, string(spec), path}, args...), nil
}

// readBack notes the limits in force.
func (c *cell) readBack(i *Instance) error {
	if c == nil {
		return nil
	}
	l, err := c.group.Effective()
	if err != nil {
		return fmt.Errorf("the limits of %s cannot be read back: %w", i.name, err)
	}
	version := fmt.Sprintf("control group v%d: ", c.group.Version())
	if l.CPUs > 0 {
		i.Limits["cpu_millicores"] = int64(math.Round(l.CPUs * 1000))
		i.Config = append(i.Config, Setting{version + "cpu quota", coreCount(l.CPUs), effective})
	}
	if l.Memory > 0 {
		i.Limits["memory_bytes"] = l.Memory
		i.Config = append(i.Config, Setting{version + "memory limit, no swap", memoryWords(l.Memory), effective})
	}
	return nil
}

// remove ends what is left in the cell and removes its control group, when the last broker inside has ended.
func (c *cell) remove(i *Instance) (err error) {
	if c == nil || c.users.Add(-1) > 0 {
		return nil
	}
	for _, dir := range c.group.Dirs() {
		if e := i.guard.RemoveGroup(dir); e != nil && err == nil {
			err = e
		}
	}
	return err
}

// Usage is what a limited broker has used and missed so far.
type Usage struct {
	Periods       uint64        // of 100 ms, in which it wanted to run
	Throttled     uint64        // of these, in which it used up its CPU and had to wait
	ThrottledTime time.Duration // that it waited so, summed over cores
	MemoryPeak    int64         // bytes since its start, page cache included; 0 = not known
	MemoryKills   uint64        // of its processes, by the kernel, for want of memory
}

// Usage reads what the broker has used; false where it is not limited by us, or that is not known.
func (i *Instance) Usage() (Usage, bool) {
	if i.cell == nil {
		return Usage{}, false
	}
	u, err := i.cell.group.Usage()
	if err != nil {
		return Usage{}, false
	}
	return Usage{
		Periods: u.Periods, Throttled: u.Throttled, ThrottledTime: u.ThrottledTime, MemoryPeak: u.MemoryPeak, MemoryKills: u.Kills,
	}, true
}

// killed tells whether the kernel ended a process of the cell for want of memory. Where it does not count that, a limit
// that was reached and a root process that was killed tell the same.
func (c *cell) killed(root exit) bool {
	if c == nil {
		return false
	}
	u, err := c.group.Usage()
	switch {
	case err != nil:
		return false
	case u.KillsKnown:
		return u.Kills > 0
	}
	return u.LimitHits > 0 && root.killed()
}

// MemoryError says that a broker was ended for want of memory: it reached the limit of its machine. It is a result, not a
// failure of the lab.
type MemoryError struct {
	Broker string
	Limit  int64 // bytes; 0 = not known
	Heap   bool  // it was the heap of its Java runtime that was full
	When   string
}

// Error names the broker and its limit.
func (e *MemoryError) Error() string {
	text := e.Broker + " was killed for memory"
	if e.When != "" {
		text += " " + e.When
	}
	switch {
	case e.Heap && e.Limit > 0:
		text += ": its Java heap of " + memoryWords(e.Limit) + " is full"
	case e.Limit > 0:
		text += ": its limit is " + memoryWords(e.Limit)
	}
	return text
}

// coreCount writes a number of cores.
func coreCount(n float64) string {
	text := strconv.FormatFloat(n, 'f', -1, 64)
	if n == 1 {
		return text + " core"
	}
	return text + " cores"
}

// memoryWords writes an amount of memory to a tenth of its unit.
func memoryWords(n int64) string {
	unit, size := " MiB", float64(1<<20)
	if n >= 1<<30 {
		unit, size = " GiB", 1<<30
	}
	return strconv.FormatFloat(math.Round(float64(n)/size*10)/10, 'f', -1, 64) + unit
}

// memory is that of the machine; 0 = the whole host's.
func (s *site) memory() int64 {
	if s.profile.Off {
		return 0
	}
	return s.profile.MemoryBytes
}

// heapShare is the part of a machine's memory that a Java broker gets as its heap: the other half is for buffers outside
// of the heap, code, threads and the kernel's share.
const heapShare = 2

// heapFlags are the flags of a Java runtime on a machine with little memory, with the setting that reports them; none
// where it is unlimited, when the runtime takes a quarter of the host. A broker whose heap is full ends, so that it is
// known: otherwise it lives on as a broker that does not answer.
func (s *site) heapFlags() (flags []string, config []Setting) {
	if s.memory() == 0 {
		return nil, nil
	}
	flag := "-Xmx" + strconv.FormatInt(s.memory()/heapShare>>20, 10) + "m"
	return []string{flag, "-XX:+ExitOnOutOfMemoryError"}, []Setting{{"java heap", flag + " (half of the machine's memory)", asWritten}}
}

// heapExhausted recognises the end of a Java runtime whose heap is full: by its exit code, and what it says then.
func heapExhausted(end exit, said string) bool {
	return end.known && end.signal == 0 && end.code == 3 && strings.Contains(said, "Terminating due to java.lang.OutOfMemoryError")
}

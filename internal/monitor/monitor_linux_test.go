package monitor

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/procstat"
)

// tree is a made-up /proc.
type tree struct {
	t   *testing.T
	dir string
}

func newTree(t *testing.T) tree { return tree{t, t.TempDir()} }

func (f tree) monitor(targets ...Target) *Monitor {
	return newMonitor(procstat.Proc(f.dir), targets)
}

func (f tree) write(path, text string) {
	f.t.Helper()
	path = filepath.Join(f.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// fake is a process of a tree; utime and stime are in clock ticks of 10 ms.
type fake struct {
	pid, ppid, group, session int
	utime, stime, started     int
	pages, pssKiB, fds        int
	state                     string
	threads                   map[int][3]int // tid: voluntary, involuntary, nanoseconds waited
}

func (f tree) process(p fake) {
	f.t.Helper()
	if p.state == "" {
		p.state = "S"
	}
	at := fmt.Sprintf("%d/", p.pid)
	f.write(at+"stat", fmt.Sprintf("%d (a (b) c) %s %d %d %d 0 -1 4194304 1 0 0 0 %d %d 900 900 20 0 %d 0 %d 1000 %d 184467 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
		p.pid, p.state, p.ppid, p.group, p.session, p.utime, p.stime, len(p.threads), p.started, p.pages))
	if p.pssKiB > 0 {
		f.write(at+"smaps_rollup", fmt.Sprintf("5600-7fff ---p 00000000 00:00 0 [rollup]\nRss: 1 kB\nPss: %d kB\n", p.pssKiB))
	}
	for n := range p.fds {
		f.write(fmt.Sprintf("%sfd/%d", at, n), "")
	}
	for tid, c := range p.threads {
		task := fmt.Sprintf("%stask/%d/", at, tid)
		f.write(task+"status", fmt.Sprintf("Name:\tx\nvoluntary_ctxt_switches:\t%d\nnonvoluntary_ctxt_switches:\t%d\n", c[0], c[1]))
		f.write(task+"schedstat", fmt.Sprintf("1 %d 1\n", c[2]))
	}
}

func (f tree) remove(path string) {
	f.t.Helper()
	if err := os.RemoveAll(filepath.Join(f.dir, path)); err != nil {
		f.t.Fatal(err)
	}
}

func samples(m *Monitor) map[string]Sample {
	got := make(map[string]Sample)
	m.sample(func(s Sample) { got[s.Role] = s })
	return got
}

func TestTreeIsSummedUp(t *testing.T) {
	f := newTree(t)
	root := fake{pid: 100, ppid: 7, group: 100, session: 100, utime: 100, stime: 50, started: 5, pages: 10, pssKiB: 30, fds: 3, threads: map[int][3]int{100: {1, 2, 1e9}, 101: {10, 20, 2e9}}}
	child := fake{pid: 200, ppid: 100, group: 200, session: 200, utime: 10, started: 6, pages: 1, pssKiB: 4, fds: 1, threads: map[int][3]int{200: {100, 200, 5e8}}}
	orphan := fake{pid: 300, ppid: 1, group: 100, session: 100, utime: 1, started: 7, pages: 1, pssKiB: 2, threads: map[int][3]int{300: {0, 0, 0}}}
	f.process(root)
	f.process(child)
	f.process(orphan)
	f.process(fake{pid: 400, ppid: 100, group: 100, session: 100, state: "Z", utime: 5000})
	f.process(fake{pid: 7, ppid: 1, group: 7, session: 7, utime: 400, started: 1, pages: 100, pssKiB: 100, threads: map[int][3]int{7: {7, 7, 0}}})

	m := f.monitor(
		Target{Role: Broker, PIDs: []int{100}},
		Target{Role: Generator, PIDs: []int{7}, Alone: true, TCP: func() (TCPTotals, bool) { return TCPTotals{BytesSent: 5}, true }},
	)
	b := samples(m)[Broker]
	page := uint64(os.Getpagesize())
	want := Sample{
		T: b.T, Role: Broker, Processes: 3, CPUSeconds: 1.61, PSSBytes: 36 << 10, RSSBytes: 12 * page, Threads: 4, FDs: 4,
		CtxVoluntary: 111, CtxInvoluntary: 222, RunWaitSeconds: 3.5,
	}
	if fmt.Sprintf("%+v", b) != fmt.Sprintf("%+v", want) {
		t.Errorf("broker\n got %+v\nwant %+v", b, want)
	}
	g := samples(m)[Generator]
	if g.Processes != 1 || g.CPUSeconds != 4 || g.TCP == nil || g.TCP.BytesSent != 5 {
		t.Errorf("generator %+v: it must not contain its children", g)
	}

	// The child and a thread end; the root goes on.
	f.remove("200")
	f.remove("100/task/101")
	root.utime, root.threads = 200, map[int][3]int{100: {2, 2, 1e9}}
	f.process(root)
	b = samples(m)[Broker]
	if b.Processes != 2 || b.CPUSeconds != 2.61 || b.CtxVoluntary != 112 || b.CtxInvoluntary != 222 || b.RunWaitSeconds != 3.5 {
		t.Errorf("after some ended: %+v", b)
	}

	// All end: nothing is claimed any more.
	f.remove("100")
	f.remove("300")
	if b, ok := samples(m)[Broker]; ok {
		t.Errorf("a broker that is gone: %+v", b)
	}
}

func TestPartOfPSSIsNotReported(t *testing.T) {
	f := newTree(t)
	f.process(fake{pid: 100, group: 100, session: 100, pssKiB: 30, threads: map[int][3]int{100: {1, 1, 1}}})
	f.process(fake{pid: 101, ppid: 100, group: 100, session: 100, threads: map[int][3]int{101: {1, 1, 1}}})
	if b := samples(f.monitor(Target{Role: Broker, PIDs: []int{100}}))[Broker]; b.PSSBytes != 0 || b.Processes != 2 {
		t.Errorf("%+v", b)
	}
}

func TestHost(t *testing.T) {
	f := newTree(t)
	if len(samples(f.monitor())) != 0 {
		t.Error("a sample of a host that tells nothing")
	}
	f.write("stat", "cpu  100 20 300 4000 5 6 7 80 50 0\ncpu0 50 10 150 2000 2 3 3 40 25 0\ncpu1 50 10 150 2000 3 3 4 40 25 0\nbtime 1\n")
	f.write("loadavg", "0.50 0.40 0.30 1/100 999\n")
	h := samples(f.monitor())[Host]
	if fmt.Sprintf("%.2f", h.HostBusySeconds) != "4.33" || h.StealSeconds != 0.8 || h.Load1 != 0.5 || h.Cores != 2 || h.CPUPressure10 != nil {
		t.Errorf("%+v", h)
	}
	f.write("pressure/cpu", "some avg10=1.50 avg60=0.00 avg300=0.00 total=1\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n")
	if h := samples(f.monitor())[Host]; h.CPUPressure10 == nil || *h.CPUPressure10 != 1.5 {
		t.Errorf("%+v", h)
	}
}

func TestCostlyPSSIsReadLessOften(t *testing.T) {
	f := newTree(t)
	f.process(fake{pid: 100, group: 100, session: 100, pssKiB: 30, threads: map[int][3]int{100: {1, 1, 1}}})
	m := f.monitor(Target{Role: Broker, PIDs: []int{100}})
	if b := samples(m)[Broker]; b.PSSBytes == 0 {
		t.Errorf("%+v", b)
	}
	w := m.targets[0]
	if w.nextPSS <= clock.Now()-int64(time.Minute) {
		t.Error("no pause after a reading")
	}
	w.nextPSS = clock.Now() + int64(time.Minute)
	if b := samples(m)[Broker]; b.PSSBytes != 0 || b.RSSBytes != 0 && b.Processes != 1 {
		t.Errorf("read again too early: %+v", b)
	}
}

func TestBusyChildIsSeen(t *testing.T) {
	m := New(Target{Role: Broker, PIDs: []int{burner(t)}})
	first := samples(m)[Broker]
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 1000 {
		<-tick.C
		s := samples(m)[Broker]
		if s.CPUSeconds-first.CPUSeconds >= 0.2 {
			if used, passed := s.CPUSeconds-first.CPUSeconds, time.Duration(s.T-first.T).Seconds(); used > 2*passed+0.1 {
				t.Errorf("%v s of CPU in %v s by one busy thread", used, passed)
			}
			if s.Processes != 1 || s.RSSBytes == 0 || s.Threads == 0 || s.CtxInvoluntary+s.CtxVoluntary == 0 {
				t.Errorf("%+v", s)
			}
			return
		}
	}
	t.Error("a busy child used no CPU in ten seconds")
}

// BenchmarkSample is what one round costs: the host, a child's tree (the whole of /proc is searched) and ourselves.
func BenchmarkSample(b *testing.B) {
	m := New(Target{Role: Broker, PIDs: []int{burner(b)}}, Target{Role: Generator, PIDs: []int{os.Getpid()}, Alone: true})
	b.ReportAllocs()
	for b.Loop() {
		m.sample(func(Sample) {})
	}
}

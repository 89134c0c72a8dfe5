package tun

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/link"
)

// TestBusyLeavesRealTime: a carrier has a bound of how long it may run on end, and at that (SIGXCPU) goes on as an ordinary process and says so.
func TestBusyLeavesRealTime(t *testing.T) {
	n := open(t, both(link.Params{}))
	pid := n.carrier.cmd.Process.Pid
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &limit); err != nil {
		t.Fatal(err)
	}
	if limit != (unix.Rlimit{Cur: 3_000_000, Max: 10_000_000}) {
		t.Errorf("RLIMIT_RTTIME is %+v", limit)
	}
	if n.Facts().Scheduler != "rr" {
		t.Skip("this user may not have threads of the real-time class")
	}
	if err := n.carrier.cmd.Process.Signal(unix.SIGXCPU); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for n.Facts().Scheduler != "other" {
		if time.Now().After(deadline) {
			t.Fatalf("it is still %+v", n.Facts())
		}
		time.Sleep(time.Millisecond)
	}
	if why := strings.Join(n.Facts().Why, "; "); !strings.Contains(why, "has left the real-time class") {
		t.Errorf("why: %q", why)
	}
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		var id int
		if _, err := fmt.Sscan(task.Name(), &id); err != nil {
			t.Fatal(err)
		}
		if attr, err := unix.SchedGetAttr(id, 0); err == nil && attr.Policy != unix.SCHED_NORMAL {
			t.Errorf("thread %d is of policy %d", id, attr.Policy)
		}
	}
	send(t, n, 10, 100)
	upOnce(t, n, func(up link.Counters) bool { return up.Carried.Packets >= 10 })
}

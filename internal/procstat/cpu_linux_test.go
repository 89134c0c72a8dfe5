package procstat_test

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/procstat"
)

// A process that runs sees its own clock advance between two readings, however short: a count of ticks does not.
func TestCPUResolves(t *testing.T) {
	last, err := procstat.CPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		now, err := procstat.CPU(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if now <= last {
			t.Fatalf("%v after %v", now, last)
		}
		last = now
	}
}

func TestCPUOfNobody(t *testing.T) {
	if d, err := procstat.CPU(1 << 22); err == nil {
		t.Errorf("a process that is not there ran %v", d)
	}
}

// A process that has ended, and that nobody has waited for, still has threads and times; only its memory is gone.
func TestResidentOfTheDead(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	if n, err := procstat.Host.Resident(cmd.Process.Pid); err != nil || n != 0 {
		t.Errorf("%d B, %v", n, err)
	}
}

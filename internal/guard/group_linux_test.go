package guard

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/cgroup"
	"github.com/mqlab/mqlab/internal/needs"
)

// init lets the test program be run again as a lab of Linux alone.
func init() {
	if len(os.Args) > 1 && os.Args[1] == "lab-group" {
		os.Exit(labGroup())
	}
}

// labGroup starts a guard and a control group with a process in it that carries no other mark: its environment is empty,
// its session its own, its parents gone. It prints where the group is and waits to be killed.
func labGroup() int {
	g, err := Start()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	group, err := cgroup.Make("guard-"+strconv.Itoa(os.Getpid()), cgroup.Limits{CPUs: 1}, g.TrackGroup)
	if err != nil {
		fmt.Println("none:", err)
		_ = g.Close()
		return 1
	}
	cmd := exec.Command("/bin/sh", "-c", "read go; (env -i setsid sleep 3600 >/dev/null 2>&1 </dev/null &); exit 0")
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		err = cgroup.Enter(group.Dirs(), cmd.Process.Pid)
	}
	if err == nil {
		_, err = in.Write([]byte("go\n"))
	}
	if err == nil {
		err = cmd.Wait()
	}
	fmt.Println(group.Dirs()[0], err)
	select {}
}

func TestKilledLabLeavesNoControlGroup(t *testing.T) {
	cmd := exec.Command(os.Args[0], "lab-group")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	dir, result, _ := strings.Cut(strings.TrimSpace(line), " ")
	if dir == "none:" {
		_ = cmd.Wait()
		needs.Root(t, "no control groups can be made here: ", result)
	}
	if result != "<nil>" {
		t.Errorf("the lab said %q", line)
	}
	inside, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(inside)))
	if err != nil || pid == 0 {
		t.Errorf("in the group: %q, %v", inside, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for range 2500 {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			if err := syscall.Kill(pid, 0); pid != 0 && !errors.Is(err, syscall.ESRCH) && !zombie(pid) {
				t.Errorf("its process is still there: %v", err)
			}
			return
		}
		<-tick.C
	}
	t.Errorf("%s is still there", dir)
}

// zombie tells whether a process has ended but was not waited for, as orphans are where nobody adopts them.
func zombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(b), ") Z ")
}

func TestGroupIsRemovedNow(t *testing.T) {
	g := start(t)
	group, err := cgroup.Make("guard-now-"+strconv.Itoa(os.Getpid()), cgroup.Limits{}, g.TrackGroup)
	if err != nil {
		needs.Root(t, "no control groups can be made here: ", err)
	}
	for _, dir := range group.Dirs() {
		if err := g.RemoveGroup(dir); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if n := len(g.held.Groups); n != 0 {
		t.Errorf("%d groups are still remembered", n)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

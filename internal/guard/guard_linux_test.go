package guard

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"fmt"
	mrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

// witness finds the processes of a killed lab without the guard's own means: all of them inherit its test variable.
type witness struct {
	tmp   string
	token string
}

func newWitness(t *testing.T) witness {
	return witness{tmp: t.TempDir(), token: "MQLAB_TEST_TOKEN=" + rand.Text()}
}

func (w witness) lab() *exec.Cmd {
	cmd := exec.Command(os.Args[0], "lab")
	cmd.Env = append(os.Environ(), "TMPDIR="+w.tmp, w.token)
	return cmd
}

func (w witness) alive() (names []string) {
	all, _ := procfs.AllProcs()
	for _, p := range all {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID))
		if err != nil || !bytes.Contains(env, []byte(w.token)) {
			continue
		}
		if s, err := p.Stat(); err == nil && s.State != "Z" {
			names = append(names, fmt.Sprintf("%s (%d)", s.Comm, s.PID))
		}
	}
	return names
}

// mustBeGone waits, with a bound, until no process and no folder of the lab is left.
func (w witness) mustBeGone(t *testing.T) time.Duration {
	t.Helper()
	began := time.Now()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for time.Since(began) < 10*time.Second {
		left, _ := filepath.Glob(filepath.Join(w.tmp, "mqlab-*"))
		if len(left) == 0 && len(w.alive()) == 0 {
			return time.Since(began)
		}
		<-tick.C
	}
	left, _ := filepath.Glob(filepath.Join(w.tmp, "mqlab-*"))
	t.Fatalf("still there: %v %v", w.alive(), left)
	return 0
}

func TestKilledLabLeavesNothing(t *testing.T) {
	w := newWitness(t)
	cmd := w.lab()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "up\n" {
		t.Fatalf("lab said %q", line)
	}
	for began := time.Now(); len(w.alive()) < 8; { // children of children start in their own time
		if time.Since(began) > 10*time.Second {
			t.Fatalf("too few processes to begin with: %v", w.alive())
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	t.Logf("all gone after %v", w.mustBeGone(t))
}

func TestKilledAtRandomMoments(t *testing.T) {
	random := mrand.New(mrand.NewPCG(1, 2))
	for i := range 20 {
		w := newWitness(t)
		cmd := w.lab()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		moment := time.Duration(random.IntN(150)) * time.Millisecond
		<-time.After(moment)
		n := len(w.alive())
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		t.Logf("%d: killed at %v with %d processes: all gone after %v", i, moment, n, w.mustBeGone(t))
	}
}

func TestGuardIgnoresSignalsAndHasItsOwnName(t *testing.T) {
	g := start(t)
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if err := g.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	p, err := procfs.NewProc(g.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Stat()
	if err != nil || s.Comm != "lab-guard" || s.Session != s.PID {
		t.Errorf("guard is %+v, %v", s, err)
	}
	if args, _ := p.CmdLine(); strings.Contains(strings.Join(args, " "), "mqlab") {
		t.Errorf("%q would be found by pkill -f mqlab", args)
	}
	if err := g.Close(); err != nil {
		t.Errorf("the guard did not survive: %v", err)
	}
}

func TestEndKillsOneTreeOnly(t *testing.T) {
	g := start(t)
	var cmds []*exec.Cmd
	for range 12 { // more than nine, so that one mark is a prefix of another
		cmd := exec.Command("sh", "-c", `(setsid sh -c 'sleep 3600 & exec sleep 3600' &) ; exec sleep 3600`)
		if err := g.Spawn(cmd); err != nil {
			t.Fatal(err)
		}
		go func() { _ = cmd.Wait() }()
		cmds = append(cmds, cmd)
	}
	mark := g.markers[cmds[0].Process.Pid]
	if err := g.End(cmds[0].Process.Pid); err != nil {
		t.Fatal(err)
	}
	if n := len(carriers(t, mark)); n != 0 {
		t.Errorf("%d processes of the ended tree are left", n)
	}
	for _, cmd := range cmds[1:] {
		if err := syscall.Kill(cmd.Process.Pid, 0); err != nil {
			t.Errorf("a neighbour was ended, too: %v", err)
		}
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if n := len(carriers(t, g.Env()[0])); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}

func carriers(t *testing.T, mark string) (pids []int) {
	t.Helper()
	all, err := procfs.AllProcs()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if s, err := p.Stat(); err == nil && s.State != "Z" && carries(p.PID, mark) {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

func TestVictimsSpareReusedNumbers(t *testing.T) {
	all := []procfs.ProcStat{
		{PID: 100, PGRP: 100, Session: 100, Starttime: 50, State: "S"}, // ours
		{PID: 101, PPID: 100, PGRP: 101, Session: 101, State: "S"},     // its child, own session
		{PID: 102, PPID: 1, PGRP: 100, Session: 100, State: "S"},       // an orphan of its group
		{PID: 103, PPID: 100, PGRP: 100, Session: 100, State: "Z"},     // dead already
		{PID: 200, PGRP: 200, Session: 200, Starttime: 99, State: "S"}, // got the number of one of ours
		{PID: 201, PPID: 200, PGRP: 200, Session: 200, State: "S"},
		{PID: 301, PPID: 1, PGRP: 300, Session: 300, State: "S"}, // the leader has ended, the group has not
	}
	var got []int
	for _, s := range victims(all, "", map[int]uint64{100: 50, 200: 60, 300: 70}, nil) {
		got = append(got, s.PID)
	}
	if want := "[100 101 102 301]"; fmt.Sprint(got) != want {
		t.Errorf("victims = %v, want %s", got, want)
	}
}

// TestWorkingFolderIsAMark: a process that nobody told the guard of, with an empty environment.
func TestWorkingFolderIsAMark(t *testing.T) {
	g := start(t)
	dir, err := g.MkdirTemp("cwd")
	if err != nil {
		t.Fatal(err)
	}
	begin := func(dir string) (*exec.Cmd, chan error) {
		cmd := exec.Command("sleep", "3600")
		cmd.Dir, cmd.Env, cmd.SysProcAttr = dir, []string{}, &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		return cmd, ended
	}
	_, ours := begin(dir)
	other, ended := begin(t.TempDir())
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ours; err == nil {
		t.Error("it was not killed")
	}
	if err := other.Process.Kill(); err != nil {
		t.Errorf("a process elsewhere was ended, too: %v", err)
	}
	<-ended
}

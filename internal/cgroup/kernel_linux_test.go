package cgroup

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/needs"
)

// TestMain lets the test program be run again as what is put under limits.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "spin":
			spin()
		case "grow":
			grow()
		}
	}
	os.Exit(m.Run())
}

// enter waits until it is told that it is inside.
func enter() { _, _ = bufio.NewReader(os.Stdin).ReadString('\n') }

// spin burns the CPU with two threads for a second of time, and prints how much it got.
func spin() {
	enter()
	var before, after syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	began := time.Now()
	runtime.GOMAXPROCS(2)
	go func() {
		for n := uint64(1); n > 0; n |= 1 {
			n *= 3
		}
	}()
	for time.Since(began) < time.Second {
	}
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	used := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
	fmt.Printf("%d %d\n", used, time.Since(began))
	os.Exit(0)
}

// grow takes memory until it is killed.
func grow() {
	enter()
	var all [][]byte
	for range 256 {
		b := make([]byte, 1<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		all = append(all, b)
	}
	fmt.Println("took", len(all), "MiB")
	os.Exit(0)
}

// group makes a real one, or skips where this user may not.
func group(t *testing.T, l Limits) *Group {
	t.Helper()
	g, err := Make(fmt.Sprintf("test-%d", os.Getpid()), l, func(string) {})
	if err != nil {
		needs.Root(t, "no control groups can be made here: ", err)
	}
	t.Cleanup(func() {
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
		for _, dir := range g.Dirs() {
			if _, err := os.Stat(dir); err == nil {
				t.Errorf("%s is left", dir)
			}
		}
	})
	return g
}

// inside runs the test program inside g.
func inside(t *testing.T, g *Group, what string) (out string, err error) {
	t.Helper()
	cmd := exec.Command(os.Args[0], what)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	cmd.Stdout = &b
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := Enter(g.Dirs(), cmd.Process.Pid); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Fatal(err)
	}
	_, _ = in.Write([]byte("go\n"))
	err = cmd.Wait()
	return b.String(), err
}

func TestQuotaHoldsAProcess(t *testing.T) {
	g := group(t, Limits{CPUs: 0.2})
	out, err := inside(t, g, "spin")
	if err != nil {
		t.Fatal(err)
	}
	var used, span int64
	if _, err := fmt.Sscan(out, &used, &span); err != nil {
		t.Fatalf("%q: %v", out, err)
	}
	// A period's quota may be used up at once at both ends.
	if most := float64(span)*0.2 + 2*0.2*float64(period); float64(used) > most {
		t.Errorf("used %v of CPU in %v, more than a fifth", time.Duration(used), time.Duration(span))
	}
	u, err := g.Usage()
	if err != nil || u.Throttled == 0 || u.Throttled > u.Periods || u.ThrottledTime <= 0 {
		t.Errorf("usage %+v, %v", u, err)
	}
}

func TestMemoryLimitKills(t *testing.T) {
	g := group(t, Limits{Memory: 32 << 20})
	out, err := inside(t, g, "grow")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("printed %q and ended with %v", out, err)
	}
	u, err := g.Usage()
	if err != nil || u.KillsKnown && u.Kills != 1 || !u.KillsKnown && u.LimitHits == 0 || u.MemoryPeak > 33<<20 || u.MemoryPeak < 16<<20 {
		t.Errorf("usage %+v, %v", u, err)
	}
}

func TestEffectiveIsReadBack(t *testing.T) {
	for _, want := range []Limits{{1.5, 64 << 20}, {CPUs: 2}, {Memory: 16 << 20}, {}} {
		g := group(t, want)
		if got, err := g.Effective(); got != want || err != nil {
			t.Errorf("effective %+v, %v; want %+v", got, err, want)
		}
		if u, err := g.Usage(); err != nil || u.Kills != 0 || u.Throttled != 0 {
			t.Errorf("usage of an empty group: %+v, %v", u, err)
		}
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
	}
}

func TestRemoveEndsWhatIsInside(t *testing.T) {
	g := group(t, Limits{CPUs: 1})
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := Enter(g.Dirs(), cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if err := g.Remove(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("it was not killed")
	}
}

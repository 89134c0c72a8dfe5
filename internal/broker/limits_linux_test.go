package broker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/needs"
	"github.com/mqlab/mqlab/internal/plan"
)

// small is a machine that every user may ask for.
var small = plan.Profile{Name: "small", CPUs: 0.5, MemoryBytes: 64 << 20, OpenFiles: 500}

// limitable skips where no control groups can be made.
func limitable(t *testing.T) {
	t.Helper()
	if err := CanLimit(small, Process, 1, 0); err != nil {
		needs.Root(t, err)
	}
}

func gone(dirs []string) bool {
	for _, dir := range dirs {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

func TestLimitsAreInForceAndReadBack(t *testing.T) {
	limitable(t)
	for _, s := range []plan.Subject{
		subject("mosquitto", Process, AsShipped), subject("mosquitto", Process, Tuned), subject("mochi", Embedded, AsShipped),
	} {
		t.Run(label(s), func(t *testing.T) {
			o := options(t)
			o.Profile = small
			i := start(t, need(t, s), o)
			for key, want := range map[string]int64{"cpu_millicores": 500, "memory_bytes": 64 << 20, "open_files": 500} {
				if got := i.Limits[key]; got != want {
					t.Errorf("%s = %d, want %d", key, got, want)
				}
			}
			dirs := i.cell.group.Dirs()
			for _, dir := range dirs {
				if procs, err := os.ReadFile(dir + "/cgroup.procs"); err != nil || strings.TrimSpace(string(procs)) != fmt.Sprint(i.PIDs[0]) {
					t.Errorf("in %s: %q, %v; want %v", dir, procs, err, i.PIDs)
				}
			}
			if u, ok := i.Usage(); !ok || u.MemoryPeak <= 0 || u.MemoryKills != 0 {
				t.Errorf("usage %+v, %v", u, ok)
			}
			if err := i.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			if !gone(dirs) {
				t.Errorf("%v are left", dirs)
			}
		})
	}
}

func TestUnlimitedHasNoUsage(t *testing.T) {
	o := options(t)
	off := small
	off.Off = true
	o.Profile = off
	i := start(t, subject("mochi", Embedded, AsShipped), o)
	if _, ok := i.Usage(); ok || i.Limits["memory_bytes"] != 0 {
		t.Errorf("limits %v", i.Limits)
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestKilledForMemory(t *testing.T) {
	limitable(t)
	o := options(t)
	o.Profile = plan.Profile{Name: "tiny", MemoryBytes: 16 << 20, OpenFiles: 100}
	// A child of the broker takes the memory; what the shell makes of its end differs.
	o.Binary = script(t, "x=0123456789abcdef; while :; do x=$x$x; done & wait $!; exit 1\n")
	_, err := Start(t.Context(), subject("mosquitto", Process, AsShipped), o)
	var memory *MemoryError
	if !errors.As(err, &memory) || err.Error() != "mosquitto was killed for memory before it was ready: its limit is 16 MiB" {
		t.Errorf("%v", err)
	}
	if n := running(t, o.Guard.Env()[0]); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}

func TestLimitsThatCannotBeSet(t *testing.T) {
	for _, c := range []struct {
		p       plan.Profile
		runtime string
		want    string
	}{
		{plan.Profile{Name: "big", CPUs: 3}, Process, "machine big has 3 cores; this host has 2"},
		{plan.Profile{Name: "big", CPUs: 3}, Docker, "machine big has 3 cores; this host has 2"},
		{plan.Profile{Name: "big", MemoryBytes: 3 << 30}, Embedded, "machine big has 3 GiB of memory; this host has 2 GiB"},
		{plan.Profile{Name: "big", CPUs: 3, Off: true}, Process, ""},
		{plan.Profile{Name: "big", CPUs: 3}, External, ""},
		{plan.Profile{}, Process, ""},
		{plan.Profile{Name: "ok", CPUs: 1}, Docker, ""},
	} {
		if err := CanLimit(c.p, c.runtime, 2, 2<<30); err == nil && c.want != "" || err != nil && err.Error() != c.want {
			t.Errorf("%+v as %s: %v, want %q", c.p, c.runtime, err, c.want)
		}
	}
}

func TestLimitedSaysWhatItCannot(t *testing.T) {
	for want, args := range map[string][]string{
		"usage: limited":          {},
		"unexpected end of JSON":  {"{", "/bin/true"},
		"/sys/fs/cgroup/nowhere/": {`{"groups":["/sys/fs/cgroup/nowhere"]}`, "/bin/true"},
		"/nowhere/program":        {`{}`, "/nowhere/program"},
	} {
		cmd := exec.Command(os.Args[0], append([]string{LimitedVerb}, args...)...)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != exitLimits || !strings.Contains(string(out), "cannot be put under limits: ") || !strings.Contains(string(out), want) {
			t.Errorf("%q: %v, %s", args, err, out)
		}
	}
}

// init lets the test program be run again as a lab of Linux alone.
func init() {
	if len(os.Args) > 1 && os.Args[1] == "limited-lab" {
		os.Exit(limitedLab())
	}
}

// limitedLab starts a limited broker, prints where its control group is, and waits to be killed.
func limitedLab() int {
	g, err := guard.Start()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	i, err := Start(context.Background(), subject("mochi", Embedded, AsShipped), Options{Guard: g, Profile: small})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(strings.Join(i.cell.group.Dirs(), " "))
	select {}
}

func TestKilledLabLeavesNoControlGroup(t *testing.T) {
	limitable(t)
	cmd := exec.Command(os.Args[0], "limited-lab")
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	dirs := strings.Fields(line)
	if len(dirs) == 0 || gone(dirs) {
		t.Errorf("the lab said %q", line)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	until(t, "the control groups are gone", func() bool { return gone(dirs) })
}

func TestHeapIsExhausted(t *testing.T) {
	limitable(t)
	o := options(t)
	o.Profile = small
	o.Binary = script(t, "echo Terminating due to java.lang.OutOfMemoryError: Java heap space; exit 3\n")
	_, err := Start(t.Context(), subject("mosquitto", Process, AsShipped), o)
	var memory *MemoryError
	if !errors.As(err, &memory) || err.Error() != "mosquitto was killed for memory before it was ready: its Java heap of 32 MiB is full" {
		t.Errorf("%v", err)
	}
}

func TestSeveralBrokersShareOneMachine(t *testing.T) {
	limitable(t)
	o := options(t)
	o.Profile = small
	first := start(t, subject("mochi", Embedded, AsShipped), o)
	o.Beside = first
	second := start(t, subject("mochi", Embedded, AsShipped), o)
	dirs := first.cell.group.Dirs()
	procs, err := os.ReadFile(dirs[0] + "/cgroup.procs")
	if want := fmt.Sprintf("%d\n%d\n", min(first.PIDs[0], second.PIDs[0]), max(first.PIDs[0], second.PIDs[0])); err != nil || string(procs) != want {
		t.Errorf("inside: %q, %v; want %q", procs, err, want)
	}
	if err := first.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if err := second.Pause(); err != nil || gone(dirs) {
		t.Errorf("the end of the first took the second along: %v", err)
	}
	if err := second.Stop(t.Context()); err != nil || !gone(dirs) {
		t.Errorf("%v; gone: %v", err, gone(dirs))
	}
}

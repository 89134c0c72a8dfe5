//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/crew"
	"github.com/mqlab/mqlab/internal/needs"
	"github.com/mqlab/mqlab/internal/plan"
	"github.com/mqlab/mqlab/internal/summary"
)

// lab is mqlab as a process of its own, with folders of its own.
type lab struct {
	*exec.Cmd
	t      *testing.T
	runs   string // --out
	temp   string // TMPDIR: what is left in it was forgotten, and whoever has it in his environment is ours
	stdout bytes.Buffer
	stderr bytes.Buffer
}

// command is mqlab with arguments.
func command(t *testing.T, args ...string) *lab {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, runs: t.TempDir(), temp: t.TempDir()}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	l.Cmd = exec.CommandContext(ctx, exe)
	l.Args = append([]string{"mqlab"}, args...)
	if args[0] == "run" || args[0] == "report" {
		l.Args = append(l.Args, "--out", l.runs)
	}
	l.Env = append(os.Environ(), "TMPDIR="+l.temp)
	l.Stdout, l.Stderr = &l.stdout, &l.stderr
	return l
}

// code waits for the end and returns the exit code, -1 after a signal.
func (l *lab) code() int {
	l.t.Helper()
	var exit *exec.ExitError
	if err := l.Wait(); err != nil && !errors.As(err, &exit) {
		l.t.Fatal(err)
	}
	return l.ProcessState.ExitCode()
}

// await looks again and again until done, at most for limit.
func await(limit time.Duration, done func() bool) bool {
	end := time.Now().Add(limit)
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !done() {
		if time.Now().After(end) {
			return false
		}
		<-again.C
	}
	return true
}

// measuring waits until a trial has been measured for a second.
func (l *lab) measuring() {
	l.t.Helper()
	if !await(20*time.Second, func() bool {
		found, _ := filepath.Glob(filepath.Join(l.runs, "*", "trials", "1", "windows.jsonl"))
		if len(found) == 0 {
			return false
		}
		b, err := os.ReadFile(found[0])
		return err == nil && bytes.Contains(b, []byte(`"phase":"measure"`))
	}) {
		l.t.Fatalf("no trial began: %s", &l.stderr)
	}
}

// processes are those that run this program, or carry the lab's folder for temporary files in their environment. Those that have
// ended but were not yet waited for do not count, nor does the test itself.
func (l *lab) processes() (found []procfs.Proc) {
	l.t.Helper()
	all, err := procfs.AllProcs()
	if err != nil {
		l.t.Fatal(err)
	}
	for _, p := range all {
		stat, err := p.Stat()
		if err != nil || stat.State == "Z" || p.PID == os.Getpid() {
			continue
		}
		exe, _ := p.Executable() // "" where it is not ours to know
		environ, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.PID), "environ"))
		if exe == l.Path || bytes.Contains(environ, []byte(l.temp)) {
			found = append(found, p)
		}
	}
	return found
}

// forgotten is what is left of the lab in its folder for temporary files.
func (l *lab) forgotten() []string {
	found, _ := filepath.Glob(filepath.Join(l.temp, "mqlab-*"))
	return found
}

// clean checks that soon nothing of the lab is left.
func (l *lab) clean() {
	l.t.Helper()
	if await(2*time.Second, func() bool { return len(l.processes()) == 0 && len(l.forgotten()) == 0 }) {
		return
	}
	for _, p := range l.processes() {
		line, _ := p.CmdLine()
		l.t.Errorf("still running: %d %q", p.PID, line)
	}
	for _, path := range l.forgotten() {
		l.t.Errorf("still there: %s", path)
	}
}

// load are arguments of runs that go on until they are ended.
var load = []string{"--brokers", "mochi", "--duration", "1m", "--repeat", "2", "--seed", "3", "--set", "load.rate=100/s", "--set", "phases.warmup=0s"}

func TestInterrupt(t *testing.T) {
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, syscall.SIGHUP) // a child has it as usual then, even where the test itself was started by nohup
	t.Cleanup(func() { signal.Stop(handled) })
	for format, end := range map[string]os.Signal{"text": os.Interrupt, "json": syscall.SIGHUP} {
		t.Run(format, func(t *testing.T) {
			args := append([]string{"run", "quick"}, load...)
			if format == "json" {
				args = append(args, "--json")
			}
			l := command(t, args...)
			if err := l.Start(); err != nil {
				t.Fatal(err)
			}
			l.measuring()
			if err := l.Process.Signal(end); err != nil {
				t.Fatal(err)
			}
			if code := l.code(); code != exitInterrupted {
				t.Errorf("exit code %d, want %d", code, exitInterrupted)
			}
			if n := strings.Count(l.stderr.String(), "mqlab: "); n != 1 || !strings.Contains(l.stderr.String(), "mqlab: interrupted; what was measured is in ") {
				t.Errorf("stderr: %s", &l.stderr)
			}
			l.clean()
			if format == "json" {
				checkInterrupted(t, l.stdout.Bytes())
			} else if !strings.Contains(l.stdout.String(), "invalid interrupted (trial 1)") {
				t.Errorf("the report does not tell of the interruption:\n%s", &l.stdout)
			}
			again := command(t, "report", "--format", "json")
			again.Args[len(again.Args)-1] = l.runs
			if err := again.Run(); err != nil {
				t.Fatalf("report: %v: %s", err, &again.stderr)
			}
			checkInterrupted(t, again.stdout.Bytes())
		})
	}
}

// TestNoHangup: a run that was started by nohup goes on when the terminal is gone.
func TestNoHangup(t *testing.T) {
	l := command(t, "run", "quick", "--brokers", "mochi", "--duration", "300ms", "--repeat", "1", "--set", "load.rate=100/s", "--set", "phases.warmup=0s")
	program := filepath.Join(t.TempDir(), "mqlab") // by which the test program knows what it is
	if err := os.Symlink(l.Path, program); err != nil {
		t.Fatal(err)
	}
	l.Path, l.Args = "/bin/sh", append([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`, program}, l.Args[1:]...)
	if err := l.Start(); err != nil {
		t.Fatal(err)
	}
	l.measuring()
	if err := l.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if code := l.code(); code != exitDone && code != exitInvalid {
		t.Errorf("exit code %d: %s", code, &l.stderr)
	}
	l.clean()
}

// checkInterrupted looks at the JSON of a run that was interrupted within its first trial.
func checkInterrupted(t *testing.T, text []byte) {
	t.Helper()
	var s summary.Summary
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatalf("no JSON: %v\n%s", err, text)
	}
	if len(s.Trials) != 1 || s.Run.TrialsPlanned != 2 {
		t.Fatalf("%d of %d trials", len(s.Trials), s.Run.TrialsPlanned)
	}
	c := s.Trials[0].Counts
	if s.Trials[0].Validity != summary.Invalid || c.Offered == nil || *c.Offered == 0 || *c.Offered >= 6000 ||
		c.Delivered == nil || *c.Delivered+*c.Lost+*c.UndeliveredUnsent != *c.Expected {
		t.Errorf("not what was measured until then: %s", text)
	}
}

// TestInterruptAnywhere interrupts while brokers and connections are being made or ended. Only before the first line of main, where
// nothing has been started, may the signal end the program by itself.
func TestInterruptAnywhere(t *testing.T) {
	rng := rand.New(rand.NewPCG(130, 5))
	for range 5 {
		after := time.Duration(rng.Int64N(int64(400 * time.Millisecond)))
		t.Run(after.String(), func(t *testing.T) {
			l := command(t, append([]string{"run", "quick", "--json"}, load...)...)
			if err := l.Start(); err != nil {
				t.Fatal(err)
			}
			interrupt := time.AfterFunc(after, func() { _ = l.Process.Signal(os.Interrupt) })
			defer interrupt.Stop()
			switch code := l.code(); {
			case code == -1 && l.stderr.Len() == 0:
			case code != exitInterrupted:
				t.Errorf("exit code %d: %s", code, &l.stderr)
			case l.stdout.Len() > 0 && !json.Valid(l.stdout.Bytes()):
				t.Errorf("no JSON: %s", &l.stdout)
			}
			if n := strings.Count(l.stderr.String(), "mqlab: "); n > 1 {
				t.Errorf("%d complaints: %s", n, &l.stderr)
			}
			l.clean()
		})
	}
}

// TestInterruptTwice: the second signal ends the program at once, also where the first has to wait.
func TestInterruptTwice(t *testing.T) {
	l := command(t, append([]string{"run", "quick", "--set", "phases.drain=1m", "--set", "faults=[{at: 10ms, pause: 50s}]"}, load...)...)
	if err := l.Start(); err != nil {
		t.Fatal(err)
	}
	l.measuring()
	for range 2 {
		if err := l.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
	}
	if code := l.code(); code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
	l.clean()
}

// TestBrokerDies ends the broker by force while it is measured: the trial fails and says so.
func TestBrokerDies(t *testing.T) {
	l := command(t, append([]string{"run", "quick"}, load...)...)
	l.Args = append(l.Args, "--repeat", "1")
	if err := l.Start(); err != nil {
		t.Fatal(err)
	}
	l.measuring()
	l.killOne(broker.Verb)
	if code := l.code(); code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	if !strings.Contains(l.stderr.String(), "\nmqlab: mochi was ended by signal 9 (killed) during the trial") {
		t.Errorf("stderr: %s", &l.stderr)
	}
	l.clean()
}

// killOne ends by force a process that has this hidden verb.
func (l *lab) killOne(verb string) {
	l.t.Helper()
	for _, p := range l.processes() {
		if line, _ := p.CmdLine(); len(line) > 1 && line[1] == verb {
			if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
				l.t.Fatal(err)
			}
			return
		}
	}
	l.t.Fatalf("no process with the verb %s was found", verb)
}

// TestGeneratorDies ends one of three generator processes by force: the trial fails and says so.
func TestGeneratorDies(t *testing.T) {
	l := command(t, append([]string{"run", "quick", "--generators", "3"}, load...)...)
	l.Args = append(l.Args, "--repeat", "1")
	if err := l.Start(); err != nil {
		t.Fatal(err)
	}
	l.measuring()
	l.killOne(crew.Verb)
	if code := l.code(); code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	if want := regexp.MustCompile(`\nmqlab: generator process \d of 3 ended: signal: killed`); !want.MatchString(l.stderr.String()) {
		t.Errorf("stderr: %s", &l.stderr)
	}
	l.clean()
}

// TestKill ends mqlab by force at random moments. Whatever the moment, nothing of it runs soon after, its temporary folders are
// gone, and what it measured can be read.
func TestKill(t *testing.T) {
	brokers := "mochi,nats"
	switch f := broker.Find(t.Context(), plan.Subject{Broker: "mosquitto", Runtime: broker.Process}); {
	case f.OK:
		brokers = "mosquitto,mochi,nats"
	case needs.CI():
		t.Fatal(f.Why)
	}
	times := 20
	if testing.Short() {
		times = 3
	}
	rng := rand.New(rand.NewPCG(2, 20))
	for i := range times {
		after := time.Duration(rng.Int64N(int64(1500 * time.Millisecond)))
		t.Run(after.String(), func(t *testing.T) { killAfter(t, after, brokers, 1+i%2) })
	}
}

func killAfter(t *testing.T, after time.Duration, brokers string, generators int) {
	l := command(t, "run", "quick", "--brokers", brokers, "--duration", "300ms", "--repeat", "2", "--set", "load.rate=200/s",
		"--set", "phases.settle=0s", "--set", "phases.warmup=0s", "--generators", strconv.Itoa(generators))
	if err := l.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(after, func() { _ = l.Process.Signal(syscall.SIGKILL) })
	defer kill.Stop()
	_ = l.Wait() // killed, or done before
	l.clean()
	again := command(t, "report", "--format", "json")
	again.Args[len(again.Args)-1] = l.runs
	err := again.Run()
	switch {
	case err == nil && json.Valid(again.stdout.Bytes()):
	case again.ProcessState.ExitCode() == exitFailed && strings.HasPrefix(again.stderr.String(), "mqlab: no runs in "):
	default:
		t.Errorf("report: %v: %s%s", err, &again.stdout, &again.stderr)
	}
}

package broker

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"github.com/mqlab/mqlab/internal/guard/proctree"
	"github.com/mqlab/mqlab/internal/netns"
)

// until waits, with a bound, for what the kernel does soon but not at once.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for range 2500 {
		if ok() {
			return
		}
		<-tick.C
	}
	t.Fatal("still waiting: " + what)
}

func state(t *testing.T, pid int) string {
	t.Helper()
	p, err := procfs.NewProc(pid)
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return s.State
}

func TestPauseAndResume(t *testing.T) {
	for _, s := range subjects(t) {
		if s.Broker == "hivemq" {
			continue // one of those in Java is enough
		}
		t.Run(label(s), func(t *testing.T) {
			i := start(t, s, options(t))
			if err := i.Pause(); err != nil {
				t.Fatal(err)
			}
			until(t, "pause", func() bool { return state(t, i.PIDs[0]) == "T" })
			if err := i.Resume(); err != nil {
				t.Fatal(err)
			}
			until(t, "resume", func() bool { return state(t, i.PIDs[0]) != "T" })
			if err := i.Pause(); err != nil {
				t.Fatal(err)
			}
			if err := i.Stop(t.Context()); err != nil {
				t.Errorf("a paused broker must stop in order: %v", err)
			}
			if err := i.Pause(); err == nil {
				t.Error("paused a broker that has ended")
			}
		})
	}
}

func TestCrashIsReported(t *testing.T) {
	for _, s := range subjects(t) {
		if s.Broker == "hivemq" {
			continue // one of those in Java is enough
		}
		i := start(t, s, options(t))
		if err := syscall.Kill(i.PIDs[0], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		want := s.Broker + " was ended by signal 9 (killed) during the trial"
		if err := <-i.Exited(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Exited: %v, want %s", err, want)
		}
		if err := i.Stop(t.Context()); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Stop: %v, want %s", err, want)
		}
	}
}

// script makes a stand-in for mosquitto that answers -h and otherwise runs body.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mosquitto")
	text := "#!/bin/sh\nif [ \"$1\" = -h ]; then echo mosquitto version 9.9; exit 3; fi\n" + body
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFailuresBeforeReady(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"exit", "echo first >&2; printf 'Error: \\033bad line\\n\\n' >&2; exit 3", "mosquitto exited with 3 before it was ready: Error:  bad line"},
		{"silent", "exit 7", "mosquitto exited with 7 before it was ready"},
		{"signal", "kill -9 $$", "mosquitto was ended by signal 9 (killed) before it was ready"},
		{"mute", "echo starting >&2; exec sleep 600", "mosquitto was not ready within 5s: dial tcp 127.0.0.1"},
		{"escaped child", "setsid sleep 600 & exit 4", "mosquitto exited with 4 before it was ready"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := options(t)
			o.Binary = script(t, c.body)
			_, err := Start(t.Context(), subject("mosquitto", Process, AsShipped), o)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if n := running(t, o.Guard.Env()[0]); n != 0 {
				t.Errorf("%d processes are left", n)
			}
		})
	}
}

// running counts the processes whose environment, or working folder, holds mark. Redis writes its title over the former.
func running(t *testing.T, mark string) (n int) {
	t.Helper()
	all, err := procfs.AllProcs()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID))
		cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", p.PID))
		if err != nil || !strings.Contains(string(env)+cwd, mark) {
			continue
		}
		if s, err := p.Stat(); err == nil && s.State != "Z" {
			n++
		}
	}
	return n
}

func TestIgnoredTermIsFollowedByKill(t *testing.T) {
	o := options(t)
	real := need(t, subject("mosquitto", Process, AsShipped))
	o.Binary = script(t, "trap '' TERM\n"+Find(t.Context(), real).Path+" \"$@\" & while :; do wait; done")
	i := start(t, real, o)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := i.Stop(ctx); err == nil || !strings.Contains(err.Error(), "was killed") {
		t.Errorf("Stop: %v", err)
	}
	if n := running(t, o.Guard.Env()[0]); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}

// greedy is this host, but the ports it offers as free are taken at once the first few times.
type greedy struct {
	netns.Place
	t    *testing.T
	left int
}

func (g *greedy) Listen(ctx context.Context, network, addr string) (net.Listener, error) {
	l, err := g.Place.Listen(ctx, network, addr)
	if err != nil || g.left == 0 {
		return l, err
	}
	g.left--
	return &keptOpen{l, g.t}, nil
}

// keptOpen answers like a foreign MQTT broker would, and closes only when the test ends.
type keptOpen struct {
	net.Listener
	t *testing.T
}

func (k *keptOpen) Close() error {
	go func() {
		for {
			c, err := k.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte{0x20, 2, 0, 0})
		}
	}()
	k.t.Cleanup(func() { _ = k.Listener.Close() })
	return nil
}

func TestPortClash(t *testing.T) {
	for _, broker := range []string{"mosquitto", "nats", "redis"} {
		s := need(t, subject(broker, Process, AsShipped))
		o := options(t)
		o.Place = &greedy{netns.Host, t, 2}
		i := start(t, s, o)
		if err := i.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		o.Place = &greedy{netns.Host, t, 1000}
		if _, err := Start(t.Context(), s, o); err == nil || !strings.Contains(err.Error(), "before it was ready") {
			t.Errorf("with no port left: %v", err)
		}
	}
}

func TestOnlyOwnLoopbackListenersPass(t *testing.T) {
	open, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = open.Close() }()
	if err := onLoopbackOnly(os.Getpid(), open.Addr().String()); err == nil || !strings.Contains(err.Error(), errExposed.Error()) {
		t.Errorf("a listener on all interfaces: %v", err)
	}
	o := options(t)
	i := start(t, subject("mochi", Embedded, AsShipped), o)
	if err := onLoopbackOnly(i.PIDs[0], "127.0.0.1:1"); err == nil {
		t.Error("a port that nobody of ours listens at was accepted")
	}
}

func TestEmbeddedBrokerEndsWithItsStdin(t *testing.T) {
	i := start(t, subject("nats", Embedded, AsShipped), options(t))
	if err := i.vessel.(*process).stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-i.Exited(); err == nil || !strings.Contains(err.Error(), "nats exited with 0 during the trial") {
		t.Errorf("Exited: %v", err)
	}
}

func TestOwnSessionAndTree(t *testing.T) {
	i := start(t, subject("mochi", Embedded, AsShipped), options(t))
	p, err := procfs.NewProc(i.PIDs[0])
	if err != nil {
		t.Fatal(err)
	}
	if s, err := p.Stat(); err != nil || s.Session != s.PID || s.PGRP != s.PID {
		t.Errorf("%+v, %v", s, err)
	}
	pids, err := proctree.Members(i.PIDs[0])
	if err != nil || !slices.Contains(pids, i.PIDs[0]) || slices.Contains(pids, os.Getpid()) {
		t.Errorf("tree is %v, %v", pids, err)
	}
}

func TestKilledLabLeavesNoBroker(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	moments := []time.Duration{0} // the first waits until all are up
	for range 7 {
		moments = append(moments, time.Duration(random.IntN(300))*time.Millisecond)
	}
	killLab(t, 2+fast(t)/2, moments)
}

// TestKilledLabLeavesNoTree: brokers of several processes, some of which leave group and session.
func TestKilledLabLeavesNoTree(t *testing.T) {
	need(t, subject("rabbitmq", Process, Tuned))
	killLab(t, 2+5, []time.Duration{0, 500 * time.Millisecond, 1500 * time.Millisecond}, "rabbitmq")
}

// fast counts the subjects that lab starts when nothing is named, in two variants each.
func fast(t *testing.T) (n int) {
	for _, s := range subjects(t) {
		if !slow[s.Broker] {
			n++
		}
	}
	return n
}

// killLab starts a lab and kills it at each moment; in the first at least so many processes must be there.
func killLab(t *testing.T, least int, moments []time.Duration, brokers ...string) {
	t.Helper()
	for n, moment := range moments {
		tmp := t.TempDir()
		cmd := exec.Command(os.Args[0], append([]string{"lab"}, brokers...)...)
		cmd.Env = append(os.Environ(), "TMPDIR="+tmp) // by which its processes are recognised
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			_, _ = bufio.NewReader(out).ReadString('\n')
		} else {
			<-time.After(moment)
		}
		count := running(t, tmp)
		if n == 0 && count < least {
			t.Errorf("only %d processes when all are up", count)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		until(t, "everything is gone", func() bool {
			left, _ := filepath.Glob(filepath.Join(tmp, "mqlab-*"))
			return running(t, tmp) == 0 && len(left) == 0
		})
		t.Logf("killed at %v with %d processes", moment, count)
	}
}

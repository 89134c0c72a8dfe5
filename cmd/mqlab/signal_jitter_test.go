//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/mqlab/mqlab/agents/golang"
	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/clients/idle"
	"github.com/mqlab/mqlab/internal/needs"
	"github.com/mqlab/mqlab/internal/plan"
)

// TestJitterEndsCleanly interrupts or kills a measurement of jitter while its client runs: nothing stays, and the run can be read.
func TestJitterEndsCleanly(t *testing.T) {
	for name, signal := range map[string]os.Signal{"interrupted": os.Interrupt, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			l := command(t, "run", "jitter", "--client", "go-paho3", "--interval", "5ms", "--json")
			if err := l.Start(); err != nil {
				t.Fatal(err)
			}
			if !await(20*time.Second, l.measuresClient) {
				t.Fatalf("no client began: %s", &l.stderr)
			}
			if err := l.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			switch code := l.code(); {
			case signal == syscall.SIGKILL:
			case code != exitInterrupted || !json.Valid(l.stdout.Bytes()):
				t.Errorf("exit code %d: %s%s", code, &l.stdout, &l.stderr)
			}
			l.clean()
			again := command(t, "report", "--format", "json")
			again.Args[len(again.Args)-1] = l.runs
			if err := again.Run(); err != nil || !json.Valid(again.stdout.Bytes()) {
				t.Errorf("report: %v: %s%s", err, &again.stdout, &again.stderr)
			}
		})
	}
}

// measuresClient tells whether a client of the lab runs.
func (l *lab) measuresClient() bool {
	for _, p := range l.processes() {
		if line, _ := p.CmdLine(); slices.Contains(line, golang.Verb) {
			return true
		}
	}
	return false
}

// TestIdleEndsCleanly interrupts or kills a measurement of clients that wait: nothing stays, and what was measured can be read.
func TestIdleEndsCleanly(t *testing.T) {
	if f := broker.Find(t.Context(), plan.Subject{Broker: "mosquitto", Runtime: broker.Process}); !f.OK {
		needs.Installed(t, f.Why)
	}
	for name, signal := range map[string]os.Signal{"interrupted": os.Interrupt, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			l := command(t, "run", "clients", "idle", "--clients", "go-paho3", "--for", "1h", "--json")
			if err := l.Start(); err != nil {
				t.Fatal(err)
			}
			kept := func() bool {
				found, _ := filepath.Glob(filepath.Join(l.runs, "*", "idle.json"))
				return len(found) == 1
			}
			if !await(30*time.Second, kept) {
				t.Fatalf("nothing was kept: %s", &l.stderr)
			}
			if err := l.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if code := l.code(); signal == os.Interrupt && (code != exitInterrupted || !json.Valid(l.stdout.Bytes())) {
				t.Errorf("exit code %d: %s%s", code, &l.stdout, &l.stderr)
			}
			l.clean()
			again := command(t, "report", "--format", "json")
			again.Args[len(again.Args)-1] = l.runs
			var r idle.Result
			if err := errors.Join(again.Run(), json.Unmarshal(again.stdout.Bytes(), &r)); err != nil || !r.Cut || r.Span == 0 || len(r.Clients) != 1 {
				t.Errorf("report: %v: %s%s", err, &again.stdout, &again.stderr)
			}
		})
	}
}

//go:build linux

package main

import (
	"encoding/json"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/mqlab/mqlab/agents/golang"
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

package monitor

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/needs"
)

// TestMain lets the test program be run again as a process that keeps a CPU busy until its stdin is closed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "burn" {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(0)
		}()
		for {
			bytes.Count(make([]byte, 1<<16), []byte{1})
		}
	}
	os.Exit(m.Run())
}

func TestAbsentIsNotZero(t *testing.T) {
	b, err := json.Marshal(Sample{T: 1, Role: Host})
	if err != nil || string(b) != `{"t_ns":1,"role":"host"}` {
		t.Errorf("%s, %v", b, err)
	}
}

func TestSumKeepsWhatHasGone(t *testing.T) {
	a, b := owner{pid: 1, started: 10}, owner{pid: 2, started: 10}
	again := owner{pid: 1, started: 99} // the number was given to another process
	var s sum
	for n, step := range []struct {
		now  map[owner]counters
		want float64
	}{
		{map[owner]counters{a: {cpu: 1}, b: {cpu: 2}}, 3},
		{map[owner]counters{a: {cpu: 2}, b: {cpu: 2}}, 4},
		{map[owner]counters{a: {cpu: 3}}, 5},                  // b has gone
		{map[owner]counters{a: {cpu: 3}, b: {cpu: 4}}, 7},     // it was only out of sight
		{map[owner]counters{b: {cpu: 4}, again: {cpu: 1}}, 8}, // a has gone
		{map[owner]counters{again: {cpu: 0.5}}, 8.5},          // replaced by a thread of the same number
		{nil, 8.5},
	} {
		if got := s.update(step.now).cpu; got != step.want {
			t.Errorf("step %d: %v, want %v", n, got, step.want)
		}
	}
}

// burner starts a busy child.
func burner(t testing.TB) (pid int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "burn")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

func TestRunReportsOnceAtOnceAndOnceAtTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := New(Target{Role: Generator, PIDs: []int{os.Getpid()}, Alone: true})
	var got []Sample
	m.Run(ctx, time.Hour, func(s Sample) {
		got = append(got, s)
		cancel()
	})
	if len(got) == 0 {
		needs.Installed(t, "nothing is known on this system")
	}
	var roles []string
	for _, s := range got {
		roles = append(roles, s.Role)
	}
	if want := []string{Host, Generator, Host, Generator}; len(roles) != len(want) || roles[0] != want[0] || roles[3] != want[3] {
		t.Fatalf("roles %v, want %v", roles, want)
	}
	if a, b := got[1], got[3]; b.CPUSeconds < a.CPUSeconds || b.T < a.T || a.Processes != 1 || a.FDs == 0 || a.Threads == 0 || a.PSSBytes == 0 {
		t.Errorf("%+v then %+v", a, b)
	}
}

func TestTCPInfoCountsBytes(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	peer, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = peer.Close() }()
	if _, err := c.Write(make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(peer, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	sent, received := totals(t, c), totals(t, peer)
	if sent.BytesSent != 1000 || received.BytesReceived != 1000 || received.BytesSent != 0 || sent.SegmentsOut == 0 || received.SegmentsIn == 0 {
		t.Errorf("sender %+v, receiver %+v", sent, received)
	}
	sent.Add(received)
	if sent.BytesSent != 1000 || sent.BytesReceived != 1000 {
		t.Errorf("sum %+v", sent)
	}
	if _, err := TCPInfo(^uintptr(0)); err == nil {
		t.Error("no error for a descriptor that is none")
	}
}

func totals(t *testing.T, c net.Conn) (got TCPTotals) {
	t.Helper()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if e := raw.Control(func(fd uintptr) { got, err = TCPInfo(fd) }); e != nil {
		t.Fatal(e)
	}
	if err != nil {
		needs.Installed(t, err)
	}
	return got
}

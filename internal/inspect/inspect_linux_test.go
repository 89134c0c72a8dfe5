package inspect

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mqlab/mqlab/internal/diagnose"
	"github.com/mqlab/mqlab/internal/needs"
)

// TestMain lets the test program be run again as the client that is looked at.
func TestMain(m *testing.M) {
	if mode := os.Getenv("INSPECT_CLIENT"); mode != "" {
		client(mode, os.Getenv("INSPECT_ADDRESS"))
		return
	}
	os.Exit(m.Run())
}

// client is one thread with a blocking socket, as clients in C are.
func client(mode, address string) {
	runtime.LockOSThread()
	var port int
	if _, err := fmt.Sscanf(address, "127.0.0.1:%d", &port); err != nil {
		panic(err)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err == nil {
		err = unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	}
	if err != nil {
		panic(err)
	}
	fmt.Println("ready")
	b := make([]byte, 1)
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		switch mode {
		case "sleeping": // one byte, then a sleep
			_ = unix.Nanosleep(&unix.Timespec{Nsec: 20_000_000}, nil)
		case "polling":
			_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
			_, _ = unix.Poll(poll, 1000)
			b = make([]byte, 4096)
		case "reading":
			b = make([]byte, 4096)
		}
		if n, err := unix.Read(fd, b); n <= 0 && !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// start runs a client against a server that sends it 4 bytes every 10 ms.
func start(t *testing.T, mode string) (pid int, port uint16) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "INSPECT_CLIENT="+mode, "INSPECT_ADDRESS="+l.Addr().String())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			if _, err := conn.Write([]byte("data")); err != nil {
				return
			}
			<-time.After(10 * time.Millisecond)
		}
	}()
	t.Cleanup(func() { _ = conn.Close() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return cmd.Process.Pid, uint16(l.Addr().(*net.TCPAddr).Port)
}

func TestProcess(t *testing.T) {
	for mode, want := range map[string]diagnose.Cause{"sleeping": diagnose.LoopSleep, "polling": diagnose.None, "reading": diagnose.None} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			pid, port := start(t, mode)
			r, err := Process(t.Context(), Options{PID: pid, Port: port, For: 700 * time.Millisecond, Every: 5 * time.Millisecond})
			if errors.Is(err, ErrRights) {
				needs.Root(t, err)
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Sockets) != 1 || r.Sockets[0].Remote.Port() != port || r.Sockets[0].NoDelay != (mode == "polling") || r.Looks < 2 {
				t.Errorf("%+v", r)
			}
			// Others share this machine: what depends on them is not judged here.
			got := diagnose.DiagnoseProcess(&diagnose.Process{Facts: r.Facts, For: r.For, Sources: r.Sources})
			if got.Verdict() != want {
				t.Errorf("%s, want %s: waiting %v, asleep %v, unread %v", got.Verdict(), want, *r.Facts.SocketWait, *r.Facts.Asleep, *r.Facts.Unread)
			}
		})
	}
}

func TestNoProcess(t *testing.T) {
	if _, err := Process(t.Context(), Options{PID: 1<<22 + 5}); !errors.Is(err, ErrNoProcess) {
		t.Errorf("%v", err)
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	if _, err := Process(t.Context(), Options{PID: cmd.Process.Pid}); !errors.Is(err, ErrNoSocket) {
		t.Errorf("%v", err)
	}
}

// TestEnds: a process that ends, or a user who has seen enough, end the look.
func TestEnds(t *testing.T) {
	pid, port := start(t, "reading")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Process(ctx, Options{PID: pid, Port: port, For: time.Hour, Every: time.Millisecond}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := Process(t.Context(), Options{PID: pid, Port: port, For: time.Hour, Every: time.Millisecond})
		done <- err
	}()
	_ = p.Kill()
	_, _ = p.Wait()
	if err := <-done; err == nil {
		t.Error("the end of the process was not noticed")
	}
}

func TestStateOf(t *testing.T) {
	sockets := map[int]*watched{7: {}}
	for line, want := range map[string]state{
		"running\n": running,
		fmt.Sprintf("%d 0x7 0x1 0x2 0x0 0x0 0x0 0x1 0x2\n", unix.SYS_READ):            waitsForSocket,
		fmt.Sprintf("%d 0x8 0x1 0x2 0x0 0x0 0x0 0x1 0x2\n", unix.SYS_READ):            otherState,
		fmt.Sprintf("%d 0x1 0x1 0x2 0x0 0x0 0x0 0x1 0x2\n", unix.SYS_WRITE):           writes,
		fmt.Sprintf("%d 0x7 0x1 0x2 0x0 0x0 0x0 0x1 0x2\n", unix.SYS_WRITE):           otherState,
		fmt.Sprintf("%d 0x3 0x0 0x0 0x0 0x0 0x0 0x1 0x2\n", unix.SYS_FSYNC):           writes,
		fmt.Sprintf("%d 0x0 0x0 0x1 0x0 0x0 0x0 0x1 0x2\n", unix.SYS_CLOCK_NANOSLEEP): sleeps,
		fmt.Sprintf("%d 0x0 0x0 0x0 0x0 0x1 0x0 0x1 0x2\n", unix.SYS_PSELECT6):        sleeps,
		fmt.Sprintf("%d 0x1 0x80 0x0 0x0 0x0 0x0 0x1 0x2\n", unix.SYS_FUTEX):          otherState,
		"nonsense": running, "": running, "-1 0x1 0x2": running, "x 1 2 3 4 5": running,
	} {
		if got := stateOf(os.Getpid(), line, sockets); got != want {
			t.Errorf("%q: %d, want %d", line, got, want)
		}
	}
}

// TestRepair: a loss lasts from the last moment at which all was acknowledged until it is so again; what was sent again needlessly is none.
func TestRepair(t *testing.T) {
	const ms = 1_000_000
	type look struct {
		at             int64
		again, unacked uint32
	}
	for name, c := range map[string]struct {
		looks []look
		want  []diagnose.Span
	}{
		"none":            {[]look{{0, 3, 0}, {5, 3, 1}, {10, 3, 0}}, nil},
		"one":             {[]look{{0, 3, 0}, {5, 3, 1}, {10, 4, 2}, {15, 4, 1}, {20, 4, 0}, {25, 4, 1}}, []diagnose.Span{{From: 0, To: 20 * ms}}},
		"a long time":     {[]look{{0, 0, 0}, {400, 0, 1}, {500, 1, 1}, {505, 1, 0}}, []diagnose.Span{{From: 300 * ms, To: 505 * ms}}},
		"needless":        {[]look{{0, 0, 0}, {5, 1, 1}, {10, 0, 0}, {15, 0, 1}}, []diagnose.Span{}},
		"again and again": {[]look{{0, 0, 0}, {5, 1, 1}, {10, 1, 0}, {50, 2, 3}, {55, 2, 0}}, []diagnose.Span{{From: 0, To: 10 * ms}, {From: 10 * ms, To: 55 * ms}}},
	} {
		w := &watched{}
		for _, l := range c.looks {
			w.repair(l.at*ms, l.again, l.unacked)
		}
		if !slices.Equal(w.resent, c.want) {
			t.Errorf("%s: %v, want %v", name, w.resent, c.want)
		}
	}
}

// TestWithout: what others cover for half of its time is left out.
func TestWithout(t *testing.T) {
	got := without([]diagnose.Span{{From: 0, To: 10}, {From: 20, To: 30}}, []diagnose.Span{{From: 0, To: 3}}, []diagnose.Span{{From: 3, To: 5}, {From: 20, To: 22}})
	if !slices.Equal(got, []diagnose.Span{{From: 20, To: 30}}) {
		t.Errorf("%v", got)
	}
}

// TestSteadily: memory that grows in each tenth of the time grows steadily; a jump does not.
func TestSteadily(t *testing.T) {
	growing, jumping := make([]uint64, 200), make([]uint64, 200)
	for i := range growing {
		growing[i] = uint64(i)
		jumping[i] = uint64(i / 100)
	}
	if g := steadily(growing); g == nil || *g != 1 {
		t.Errorf("growing: %v", g)
	}
	if j := steadily(jumping); j == nil || *j > 0.1 {
		t.Errorf("jumping: %v", j)
	}
	if steadily(growing[:50]) != nil {
		t.Error("a short look tells")
	}
}

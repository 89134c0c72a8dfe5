package doctor

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestExamine looks at this host. What a container may hide is not asked for.
func TestExamine(t *testing.T) {
	f := Examine(t.Context())
	if f.Kernel == "" || f.OpenFiles == nil || f.OpenFiles.Process == 0 || f.Cores.Usable < 1 || f.Ports == nil || f.Memory == nil {
		t.Errorf("%+v", f)
	}
	if f.ClockRead == nil || f.KernelTimes == nil || f.RealTime == nil || f.IOUring == nil || f.TimerSlack == nil || *f.TimerSlack < 1 {
		t.Errorf("%+v", f)
	}
	if w := f.WakeUps; w == nil || w.Why == "" && (len(w.Late) != wakes || !slices.IsSorted(w.Late)) {
		t.Errorf("%+v", w)
	}
	if len(f.Brokers) < 2 {
		t.Errorf("%+v", f.Brokers)
	}
}

// TestExamineIsCancelled: a context that has ended ends the waiting, too.
func TestExamineIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if f := Examine(ctx); len(f.WakeUps.Late) != 0 {
		t.Errorf("%+v", f.WakeUps)
	}
}

// TestProbesLeaveNothing: no descriptor stays open.
func TestProbesLeaveNothing(t *testing.T) {
	f := Quick()
	probe(t.Context(), &f) // whatever the runtime opens at first use is open now
	before := descriptors(t)
	probe(t.Context(), &f)
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func descriptors(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestDocker(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		ok     bool
	}{
		"an engine":       {"HTTP/1.0 200 OK\r\nApi-Version: 1.47\r\n\r\nOK", true},
		"an error":        {"HTTP/1.0 500 Internal Server Error\r\n\r\n", false},
		"something else":  {"220 mail ready\r\n", false},
		"nothing at all":  {"", false},
		"200 by accident": {"RTSP/1.0 200 OK\r\n\r\n", false},
	} {
		path := filepath.Join(t.TempDir(), "docker.sock")
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			request := make([]byte, 512)
			_, _ = conn.Read(request)
			_, _ = conn.Write([]byte(c.answer))
			_ = conn.Close()
		}()
		if a := probeDocker(t.Context(), "unix://"+path); a == nil || a.OK != c.ok || a.OK == (a.Why != "") {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if a := probeDocker(t.Context(), "unix:///nowhere/docker.sock"); a == nil || a.OK || !strings.Contains(a.Why, "/nowhere/docker.sock") {
		t.Errorf("%+v", a)
	}
	if a := probeDocker(t.Context(), "tcp://10.0.0.1:2375"); a != nil {
		t.Errorf("an engine elsewhere was asked: %+v", a)
	}
}

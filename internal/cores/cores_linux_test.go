package cores

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// two are two cores of this host.
func two(t *testing.T) (a, b Set) {
	t.Helper()
	groups, err := Usable()
	if err != nil {
		t.Fatal(err)
	}
	all := union(groups)
	if len(all) < 2 {
		t.Skip("this process may use one core only")
	}
	return all[:1], all[1:2]
}

// TestHold: every thread is held, those that are started meanwhile too; afterwards all run as before.
func TestHold(t *testing.T) {
	one, _ := two(t)
	before, err := Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	stop, started := make(chan struct{}), make(chan struct{})
	defer close(stop)
	thread := func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		started <- struct{}{}
		<-stop
	}
	go thread()
	<-started
	release, err := Hold(one)
	if err != nil {
		t.Fatal(err)
	}
	go thread()
	<-started
	checkThreads(t, one)
	if err := release(); err != nil {
		t.Fatal(err)
	}
	checkThreads(t, before)
}

func checkThreads(t *testing.T, want Set) {
	t.Helper()
	files, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d threads, %v", len(files), err)
	}
	for _, file := range files {
		if got, err := allowed(file); err == nil && !slices.Equal(got, want) {
			t.Errorf("%s: cores %s, want %s", file, got, want)
		}
	}
}

// TestStart: a process is held to its cores, and so are those that it starts; the thread that started it is not.
func TestStart(t *testing.T) {
	before, err := Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	_, other := two(t)
	file := filepath.Join(t.TempDir(), "status")
	cmd := exec.Command("sh", "-c", `(cat /proc/self/status) > "$0"`, file)
	if err := Start(other, cmd.Start); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if got, err := allowed(file); err != nil || !slices.Equal(got, other) {
		t.Errorf("the process had cores %s, %v; want %s", got, err, other)
	}
	checkThreads(t, before)
	called := false
	if err := Start(nil, func() error { called = true; return nil }); err != nil || !called {
		t.Errorf("without cores nothing is started: %v", err)
	}
}

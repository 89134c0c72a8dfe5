package guard

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mqlab/mqlab/internal/needs"
)

// TestMain lets the test program be run again as the guard and as a lab that gets killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case Verb:
			// Not os.Exit: under the race detector it lingers for a second.
			syscall.Exit(Main(os.Stdin))
		case "lab":
			os.Exit(lab())
		}
	}
	os.Exit(m.Run())
}

// lab starts a guard, a folder and what tree says, says "up" and waits to be killed.
func lab() int {
	g, err := Start()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	dir, err := g.MkdirTemp("test")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for _, script := range trees() {
		if err := g.Spawn(exec.Command("/bin/sh", "-c", script)); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	fmt.Println("up")
	select {}
}

// trees are scripts whose processes are hard to find: children, another session, a double fork into another session
// whose parents have gone, and another user.
func trees() []string {
	s := []string{
		`sleep 3600 & exec sleep 3600`,
		`setsid sleep 3600 & exec sleep 3600`,
		`(setsid sh -c 'sleep 3600 & exec sleep 3600' &) ; exit 0`,
		`trap "" TERM HUP INT; while :; do sleep 0.01; done`,
	}
	if os.Getuid() == 0 {
		s = append(s, `setsid setpriv --reuid=65534 --regid=65534 --clear-groups sh -c 'sleep 3600 & exec sleep 3600' & exit 0`)
	}
	return s
}

func start(t *testing.T) *Guard {
	t.Helper()
	g, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}

func TestCloseEndsAndRemoves(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	g := start(t)
	dir, err := g.MkdirTemp("test")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "3600")
	if err := g.Spawn(cmd); err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the child ended by itself")
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("folder is still there: %v", err)
	}
	if err := g.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

func TestCloseWithoutGuardProcess(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	g := start(t)
	dir, err := g.MkdirTemp("test")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "3600")
	if err := g.Spawn(cmd); err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err == nil || !strings.Contains(err.Error(), "guard process was gone") {
		t.Errorf("Close = %v", err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the child ended by itself")
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("folder is still there: %v", err)
	}
}

func TestOnlyOurFoldersAreRemoved(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	for _, path := range []string{
		"/", tmp, filepath.Join(tmp, "other"), filepath.Join(tmp, "mqlab-a", "mqlab-b"), filepath.Join(tmp, "mqlab-a", ".."),
		tmp + "/mqlab-x/../mqlab-y/z", "mqlab-relative", "",
	} {
		if err := removeDir(path); err == nil {
			t.Errorf("removeDir(%q) was done", path)
		}
	}
	outside := filepath.Join(tmp, "outside")
	if err := os.Mkdir(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(tmp, "mqlab-link")
	if err := os.Symlink(outside, link); err != nil {
		needs.Installed(t, err)
	}
	if err := removeDir(link); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Errorf("what a link points to was removed: %v", err)
	}
}

func TestRegistryForgets(t *testing.T) {
	r := newRegistry()
	for _, m := range []message{{ID: "x"}, {Track: 7, Started: 1}, {Track: 8}, {Dir: "a"}, {Dir: "b"}, {Untrack: 7}, {Undir: "a"}, {Track: 1}, {Track: -1}} {
		r.apply(m)
	}
	if len(r.Roots) != 1 || len(r.Dirs) != 1 || !r.Dirs["b"] {
		t.Errorf("registry = %+v", r)
	}
}

// TestNoTemporaryFolder: a missing folder for temporary files is named, rather than what cannot be done without it.
func TestNoTemporaryFolder(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	t.Setenv("TMPDIR", missing)
	t.Setenv("TMP", missing) // Windows
	if _, err := Start(); err == nil || !strings.HasPrefix(err.Error(), "there is no folder "+missing) {
		t.Error(err)
	}
}

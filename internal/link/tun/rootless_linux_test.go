package tun

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mqlab/mqlab/internal/link"
)

const rootlessVerb = "rootless"

// rootless is a program that needs a network, and says what it has got.
func rootless() int {
	code, again, err := Rootless()
	if again || err != nil {
		if err != nil {
			fmt.Println(err)
		}
		return code
	}
	n, err := Open(context.Background(), link.Config{Profile: both(link.Params{})})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	out, err := n.Device().Command(context.Background(), "id", "-u").CombinedOutput()
	fmt.Printf("scheduler %s, user %s, %v, %v\n", n.Facts().Scheduler, strings.TrimSpace(string(out)), err, n.Close())
	return 7
}

// nobody runs this program as an ordinary user.
func nobody(t *testing.T) *exec.Cmd {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("it takes root to become another user")
	}
	path := filepath.Join("/tmp", fmt.Sprintf("mqlab-tun-test-%d", os.Getpid()))
	b, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(path, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(path) })
	cmd := exec.Command(path, rootlessVerb)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	return cmd
}

// TestRootless: an ordinary user gets a network in a user namespace, as himself and with the exit code of what he ran, or one line with the
// reason why not.
func TestRootless(t *testing.T) {
	open(t, both(link.Params{})) // or skip
	out, err := nobody(t).CombinedOutput()
	text := string(out)
	if got := strings.Contains(text, "scheduler other, user 65534, <nil>, <nil>\n"); got != (err != nil && err.Error() == "exit status 7") {
		t.Fatalf("%s, %v", out, err)
	} else if got {
		return
	}
	if strings.Count(text, "\n") != 1 || !strings.Contains(text, "user namespace") {
		t.Errorf("refused with %q, %v", out, err)
	}
}

// TestRootlessWithDevice: the same where everybody may open /dev/net/tun, which a mount of our own makes so.
func TestRootlessWithDevice(t *testing.T) {
	open(t, both(link.Params{})) // or skip
	cmd := nobody(t)
	script := fmt.Sprintf(`mount --make-rprivate / && mount -t tmpfs none /dev/net && mknod -m 666 /dev/net/tun c 10 200 &&
		exec setpriv --reuid=65534 --regid=65534 --clear-groups %s %s`, cmd.Path, rootlessVerb)
	sh := exec.Command("/bin/sh", "-c", script)
	sh.Dir = "/"
	sh.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	out, err := sh.CombinedOutput()
	text := string(out)
	if strings.Contains(text, "mount:") || strings.Contains(text, "not found") || strings.Contains(text, "no user namespace") {
		t.Skip(text) // containers forbid mounts, or user namespaces; nothing that is installed mends that
	}
	if !strings.Contains(text, "scheduler other, user 65534, <nil>, <nil>\n") || err == nil || err.Error() != "exit status 7" {
		t.Errorf("%s, %v", out, err)
	}
}

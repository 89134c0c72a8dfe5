package netstack

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// nobody is a user that may do nothing.
const nobody = 65534

// TestUnprivileged carries bytes as an ordinary user: started as root it runs itself again as nobody, without capabilities.
func TestUnprivileged(t *testing.T) {
	if os.Getuid() != 0 {
		return // then every test here shows it
	}
	dir, err := os.MkdirTemp("", "netstack")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "netstack.test")
	if err := os.WriteFile(copied, program, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, copied} {
		if err := os.Chmod(path, 0o755); err != nil { //nolint:gosec // nobody must be able to run it
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, copied, "-test.run=^(TestCarries|TestDatagrams|TestWho)$", "-test.v")
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("PASS: TestCarries")) || !bytes.Contains(out, []byte("user 65534")) {
		t.Fatalf("as nobody: %v\n%s", err, out)
	}
}

// TestWho tells TestUnprivileged who it ran as.
func TestWho(t *testing.T) { t.Logf("user %d", os.Getuid()) }

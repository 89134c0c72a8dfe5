package prototest_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/needs"
	"github.com/mqlab/mqlab/internal/proto"
	"github.com/mqlab/mqlab/internal/proto/mqtt"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// find returns where an installed program is. Without it the test is skipped, or fails where CI is set.
func find(t testing.TB, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		path = filepath.Join("/usr/sbin", program)
		if _, err := os.Stat(path); err != nil {
			needs.Installed(t, program, " is not installed")
		}
	}
	return path
}

// freePort is a loopback port that was free a moment ago.
func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// mosquitto starts the real broker with these settings on top of a loopback listener and returns its address.
func mosquitto(t testing.TB, settings string) string {
	t.Helper()
	program, port := find(t, "mosquitto"), freePort(t)
	config := fmt.Sprintf("listener %d 127.0.0.1\n%s", port, settings)
	if os.Geteuid() == 0 {
		config += "user root\n"
	}
	file := filepath.Join(t.TempDir(), "mosquitto.conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-c", file)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-exited
		if t.Failed() {
			t.Logf("mosquitto said:\n%s", log.Bytes())
		}
	})
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	if err := answers(addr, exited); err != nil {
		t.Fatalf("mosquitto does not start: %v\n%s", err, log.Bytes())
	}
	return addr
}

// answers waits until a broker answers CONNECT, even if only to refuse it.
func answers(addr string, exited chan error) error {
	retry := time.NewTicker(5 * time.Millisecond)
	defer retry.Stop()
	timeout := time.After(10 * time.Second)
	for {
		c, err := prototest.Dial(addr, mqtt.NewClient(&mqtt.Config{Version: mqtt.V311, CleanStart: true}, "ready"))
		if err == nil {
			ev, err := c.Next(time.Second)
			_ = c.Abort()
			var refused *mqtt.ReasonError
			if errors.As(err, &refused) || (err == nil && ev.Kind == proto.Ready) {
				return nil
			}
		}
		select {
		case err := <-exited:
			exited <- err
			return fmt.Errorf("it exited: %w", err)
		case <-timeout:
			return fmt.Errorf("no answer on %s: %w", addr, err)
		case <-retry.C:
		}
	}
}

package prototest_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/needs"
	"github.com/mqlab/mqlab/internal/proto/prototest"
	"github.com/mqlab/mqlab/internal/proto/zenoh"
)

// zenohCongestion are the ways of a message at a congested link.
var zenohCongestion = map[string]bool{"block": true, "drop": false}

func zenohProtocol(block, bestEffort bool) *prototest.Protocol {
	return &prototest.Protocol{
		Name: "zenoh",
		NewClient: func(o *prototest.Options) prototest.Client {
			return zenoh.NewClient(&zenoh.Config{
				User: o.User, Password: o.Password, Lease: o.KeepAlive, Block: block, BestEffort: bestEffort,
			}, o.ID)
		},
		Separator: "/", One: "*", Rest: "**",
		QoS:   []uint8{0},
		Lacks: []prototest.Feature{prototest.Groups, prototest.SizeLimit}, // what is too large is dropped without a word
	}
}

// TestZenoh runs the suite against the real router.
func TestZenoh(t *testing.T) {
	t.Parallel()
	b := &prototest.Broker{Name: "zenoh", Addr: zenohRouter(t, zenohPatient...), Guarded: zenohRouter(t, zenohGuarded(t)...)}
	for name, block := range zenohCongestion {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prototest.Run(t, zenohProtocol(block, false), b)
		})
	}
	t.Run("best effort", func(t *testing.T) {
		t.Parallel()
		prototest.Run(t, zenohProtocol(true, true), b)
	})
}

// zenohGuarded lets in only the suite's user.
func zenohGuarded(t testing.TB) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(file, fmt.Appendf(nil, "%s:%s\n", prototest.User, prototest.Password), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{fmt.Sprintf("transport/auth/usrpwd/dictionary_file=%q", file), `transport/auth/usrpwd/user="router"`, `transport/auth/usrpwd/password="unused"`}
}

// zenohSession opens a session of the library with settings KEY=JSON, one per argument, and goes on with the code that
// the tests put behind it.
const zenohSession = `
import sys, zenoh
c = zenoh.Config()
for setting in sys.argv[1:]:
    c.insert_json5(*setting.split("=", 1))
session = zenoh.open(c)
print("open", flush=True)
`

// zenohRouter starts the router of the eclipse-zenoh package on a free loopback port and returns its address.
func zenohRouter(t testing.TB, settings ...string) string {
	t.Helper()
	addr := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	settings = append([]string{`mode="router"`, fmt.Sprintf(`listen/endpoints=["tcp/%s"]`, addr)}, settings...)
	zenohProgram(t, "sys.stdin.read()", settings...)
	return addr
}

// zenohProgram runs a Python program with a session of the library, which is told to look for nobody, and returns when
// the session is open. It ends when its standard input does.
func zenohProgram(t testing.TB, code string, settings ...string) (in io.Writer, lines *bufio.Scanner) {
	t.Helper()
	settings = append(settings, "scouting/multicast/enabled=false", "scouting/gossip/enabled=false")
	ctx, cancel := context.WithTimeout(context.Background(), 6*patience)
	cmd := exec.CommandContext(ctx, zenohPython(t), append([]string{"-c", zenohSession + code + "\nsession.close()\n"}, settings...)...)
	var log bytes.Buffer
	cmd.Stderr = &log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		late := time.AfterFunc(patience, cancel)
		defer late.Stop()
		_ = cmd.Wait()
		cancel()
		if t.Failed() {
			t.Logf("python said:\n%s", log.Bytes())
		}
	})
	lines = bufio.NewScanner(stdout)
	lines.Buffer(nil, 8<<20)
	if !lines.Scan() || lines.Text() != "open" {
		t.Fatalf("no session of the library: %q", lines.Text())
	}
	return stdin, lines
}

// zenohPython finds the interpreter that has the eclipse-zenoh package, where scripts/brokers puts it.
func zenohPython(t testing.TB) string {
	t.Helper()
	cache := os.Getenv("MQLAB_CACHE")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(home, ".cache", "mqlab")
	}
	found, err := filepath.Glob(filepath.Join(cache, "zenoh-*", "bin", "python3"))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) > 0 {
		return slices.Max(found)
	}
	why, err := os.ReadFile(filepath.Join(cache, "zenoh.missing"))
	if err != nil {
		needs.Installed(t, "zenoh is not installed: run scripts/brokers zenoh")
	}
	t.Skipf("scripts/brokers could not get zenoh: %s", why)
	return ""
}

package prototest_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/mqlab/mqlab/internal/needs"
	"github.com/mqlab/mqlab/internal/proto/nats"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

func natsProtocol(headers []byte) *prototest.Protocol {
	return &prototest.Protocol{
		Name: "nats",
		NewClient: func(o *prototest.Options) prototest.Client {
			return nats.NewClient(&nats.Config{
				Name: o.ID, User: o.User, Password: o.Password, KeepAlive: o.KeepAlive, Headers: headers,
			})
		},
		Separator: ".", One: "*", Rest: ">",
		QoS: []uint8{0},
	}
}

// natsHost is a way of running nats-server: it starts one with this configuration and returns its address.
type natsHost func(t testing.TB, config string) string

// natsEverywhere runs a test with the embedded and with the installed nats-server.
func natsEverywhere(t *testing.T, test func(t *testing.T, start natsHost)) {
	t.Parallel()
	for name, start := range map[string]natsHost{"embedded": embeddedNATS, "installed": installedNATS} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, start)
		})
	}
}

func TestNATS(t *testing.T) {
	headers, err := nats.EncodeHeaders(nats.Header{Key: "Lab", Value: "yes"})
	if err != nil {
		t.Fatal(err)
	}
	guarded := fmt.Sprintf("max_payload: %d\nauthorization { user: %q, password: %q }\n",
		guardedPayload-1, prototest.User, prototest.Password)
	natsEverywhere(t, func(t *testing.T, start natsHost) {
		b := &prototest.Broker{
			Name: "nats-server", Addr: start(t, ""), Guarded: start(t, guarded), GuardedMaxPayload: guardedPayload,
		}
		for verb, block := range map[string][]byte{"PUB": nil, "HPUB": headers} {
			t.Run(verb, func(t *testing.T) {
				t.Parallel()
				prototest.Run(t, natsProtocol(block), b)
			})
		}
	})
}

// embeddedNATS runs nats-server in this process.
func embeddedNATS(t testing.TB, config string) string {
	t.Helper()
	return startNATS(t, config).Addr().String()
}

func startNATS(t testing.TB, config string) *server.Server {
	t.Helper()
	options, err := server.ProcessConfigFile(natsConfig(t, config))
	if err != nil {
		t.Fatal(err)
	}
	options.NoLog, options.NoSigs = true, true
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(patience) {
		t.Fatal("the embedded nats-server does not start")
	}
	return s
}

// installedNATS runs the nats-server that is installed on this machine. Without one the test is skipped, or fails where
// CI is set.
func installedNATS(t testing.TB, config string) string {
	t.Helper()
	program, err := exec.LookPath("nats-server")
	if err != nil {
		program, err = exec.LookPath("/usr/sbin/nats-server")
	}
	if err != nil {
		needs.Installed(t, "nats-server is not installed")
	}
	cmd := exec.Command(program, "-c", natsConfig(t, config))
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	addr, logged := make(chan string, 1), make(chan []byte, 1)
	go func() { logged <- readLog(log, addr) }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		said := <-logged
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("nats-server said:\n%s", said)
		}
	})
	select {
	case a, ok := <-addr:
		if !ok {
			t.Fatal("nats-server does not start")
		}
		return a
	case <-time.After(patience):
		t.Fatal("nats-server does not listen in time")
	}
	return ""
}

// readLog returns all of a server's log once it has ended, and sends the address on which it says it listens.
func readLog(log io.Reader, addr chan<- string) (all []byte) {
	defer close(addr)
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		all = append(append(all, lines.Bytes()...), '\n')
		if _, a, found := strings.Cut(lines.Text(), "Listening for client connections on "); found {
			addr <- a
		}
	}
	return all
}

// natsConfig writes the configuration of a server that chooses a free loopback port.
func natsConfig(t testing.TB, config string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(file, []byte("listen: \"127.0.0.1:-1\"\n"+config), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

package prototest_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

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
type natsHost func(t *testing.T, config string) string

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
func embeddedNATS(t *testing.T, config string) string {
	t.Helper()
	options, err := server.ProcessConfigFile(natsConfig(t, -1, config))
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
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the embedded nats-server does not start")
	}
	return s.Addr().String()
}

// installedNATS runs the nats-server that is installed on this machine.
func installedNATS(t *testing.T, config string) string {
	t.Helper()
	program, port := find(t, "nats-server"), freePort(t)
	cmd := exec.Command(program, "-c", natsConfig(t, port, config))
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
			t.Logf("nats-server said:\n%s", log.Bytes())
		}
	})
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	if err := greets(addr, exited); err != nil {
		t.Fatalf("nats-server does not start: %v\n%s", err, log.Bytes())
	}
	return addr
}

// natsConfig writes the configuration of a server on a loopback port.
func natsConfig(t *testing.T, port int, config string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nats.conf")
	text := fmt.Sprintf("listen: \"127.0.0.1:%d\"\n%s", port, config)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// greets waits until a server sends INFO.
func greets(addr string, exited chan error) error {
	retry := time.NewTicker(5 * time.Millisecond)
	defer retry.Stop()
	timeout := time.After(10 * time.Second)
	for {
		nc, err := readGreeting(addr)
		if err == nil {
			return nc.Close()
		}
		select {
		case err := <-exited:
			exited <- err
			return fmt.Errorf("it exited: %w", err)
		case <-timeout:
			return fmt.Errorf("no greeting on %s: %w", addr, err)
		case <-retry.C:
		}
	}
}

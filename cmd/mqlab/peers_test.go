package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/needs"
	"github.com/mqlab/mqlab/internal/plan"
)

// peerLimit bounds the start of a peer.
const peerLimit = 10 * time.Second

// portVariable is where a command puts the port of its peer: PORT, or the variable that its n-th argument names.
func portVariable(args []string, n int) string {
	if len(args) > n {
		return args[n]
	}
	return "PORT"
}

// freePort puts the number of a port on which nothing listens into a variable.
func freePort(ts *script, neg bool, args []string) {
	usageOf(ts, "freeport [VARIABLE]", len(args) <= 1, neg)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	setPort(ts, portVariable(args, 0), l)
	ts.Check(l.Close())
}

// awaitPort waits until somebody listens at an address.
func awaitPort(ts *script, neg bool, args []string) {
	usageOf(ts, "await HOST:PORT", len(args) == 1, neg)
	for deadline := time.Now().Add(20 * time.Second); ; {
		c, err := net.Dial("tcp", args[0])
		if err == nil {
			ts.Check(c.Close())
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("nobody listens at %s: %v", args[0], err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func setPort(ts *script, variable string, l net.Listener) {
	ts.Setenv(variable, strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
}

// startMosquitto runs a mosquitto with a configuration file, in which $PORT is a free port.
func startMosquitto(ts *script, neg bool, args []string) {
	usageOf(ts, "mosquitto FILE [VARIABLE]", len(args) == 1 || len(args) == 2, neg)
	extra := ""
	if os.Getuid() == 0 {
		extra = "user root\n" // else it becomes a user who may not read the script's files
	}
	startInstalled(ts, plan.Subject{Broker: "mosquitto", Runtime: broker.Process}, args, extra)
}

// startNATS runs a nats-server with a configuration file, in which $PORT is a free port.
func startNATS(ts *script, neg bool, args []string) {
	usageOf(ts, "nats FILE [VARIABLE]", len(args) == 1 || len(args) == 2, neg)
	startInstalled(ts, plan.Subject{Broker: "nats", Runtime: broker.Process}, args, "")
}

// startInstalled runs a broker of this host until the end of the script. Where it is not installed the script is skipped, or
// fails if a continuous integration runs it.
func startInstalled(ts *script, s plan.Subject, args []string, extra string) {
	found := broker.Find(context.Background(), s)
	if !found.OK {
		if needs.CI() {
			ts.Fatalf("%s", found.Why)
		}
		skip(ts, found.Why)
	}
	variable := portVariable(args, 1)
	freePort(ts, false, []string{variable})
	text := os.Expand(ts.ReadFile(args[0]), ts.Getenv) + "\n" + extra
	config := ts.MkAbs(args[0] + "." + variable)
	ts.Check(os.WriteFile(config, []byte(text), 0o600))
	cmd := exec.Command(found.Path, "-c", config)
	cmd.Dir = ts.Getenv("WORK")
	said := new(strings.Builder)
	cmd.Stdout, cmd.Stderr = said, said
	ts.Check(cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		<-ended
		ts.Logf("[%s]\n%s", filepath.Base(found.Path), said)
	})
	ts.Check(untilOpen("127.0.0.1:"+ts.Getenv(variable), ended))
}

// untilOpen waits until something listens at an address.
func untilOpen(addr string, ended <-chan struct{}) error {
	limit := time.After(peerLimit)
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-again.C:
		case <-ended:
			return fmt.Errorf("what should listen at %s has ended", addr)
		case <-limit:
			return err
		}
	}
}

// startSilent listens and never says a word.
func startSilent(ts *script, neg bool, args []string) {
	usageOf(ts, "silent [VARIABLE]", len(args) <= 1, neg)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	setPort(ts, portVariable(args, 0), l)
	accepted := make(chan net.Conn, 100) // kept open until the end
	go func() {
		defer close(accepted)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	ts.Defer(func() {
		_ = l.Close()
		for conn := range accepted {
			_ = conn.Close()
		}
	})
}

// startHTTP serves web pages.
func startHTTP(ts *script, neg bool, args []string) {
	usageOf(ts, "http [VARIABLE]", len(args) <= 1, neg)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	setPort(ts, portVariable(args, 0), l)
	server := &http.Server{ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(l) }()
	ts.Defer(func() { _ = server.Close() })
}

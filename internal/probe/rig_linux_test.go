package probe

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/broker/brokertest"
	"github.com/mqlab/mqlab/internal/clock"
	"github.com/mqlab/mqlab/internal/guard"
	"github.com/mqlab/mqlab/internal/guard/guardtest"
	"github.com/mqlab/mqlab/internal/plan"
)

// TestMain lets the test binary be its own guard and embedded brokers.
func TestMain(m *testing.M) {
	// These tests wait for brokers, and for what they do not do, far more than they compute.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	guardtest.Main(m, guard.Verbs{broker.Verb: broker.Main})
}

// rig is a real broker with a configuration of the test.
type rig struct {
	t      *testing.T
	url    string
	args   []string
	dir    string
	cmd    *exec.Cmd
	exited chan struct{}
	log    bytes.Buffer
}

// installed returns the path of a broker's program.
func installed(t *testing.T, name string) string {
	t.Helper()
	return brokertest.Need(t, plan.Subject{Broker: name, Runtime: broker.Process, Variant: broker.AsShipped}).Path
}

// ports are free on the loopback interface now.
func ports(t *testing.T, n int) []int {
	t.Helper()
	var list []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		list = append(list, l.Addr().(*net.TCPAddr).Port)
	}
	return list
}

// mosquitto runs the real broker with these lines of configuration; $DIR is its folder.
func mosquitto(t *testing.T, lines ...string) *rig {
	path, port := installed(t, "mosquitto"), ports(t, 1)[0]
	if os.Geteuid() == 0 {
		lines = append(lines, "user root")
	}
	r := newRig(t, fmt.Sprintf("mqtt://127.0.0.1:%d", port))
	config := fmt.Sprintf("listener %d 127.0.0.1\nallow_anonymous true\n%s\n", port, strings.Join(lines, "\n"))
	r.args = []string{path, "-c", r.write("mosquitto.conf", config)}
	return r.start()
}

// natsServer runs the real server; scheme mqtt is its MQTT listener.
func natsServer(t *testing.T, scheme string, lines ...string) *rig {
	path, free := installed(t, "nats"), ports(t, 2)
	r := newRig(t, fmt.Sprintf("nats://127.0.0.1:%d", free[0]))
	config := fmt.Sprintf("listen: \"127.0.0.1:%d\"\n%s\n", free[0], strings.Join(lines, "\n"))
	if scheme == "mqtt" {
		r.url = fmt.Sprintf("mqtt://127.0.0.1:%d", free[1])
		config += fmt.Sprintf("server_name: lab\njetstream { store_dir: %q }\nmqtt { listen: \"127.0.0.1:%d\" }\n", r.dir, free[1])
	}
	r.args = []string{path, "-c", r.write("nats.conf", config)}
	return r.start()
}

// redisServer runs the real server with these arguments.
func redisServer(t *testing.T, args ...string) *rig {
	path, port := installed(t, "redis"), ports(t, 1)[0]
	r := newRig(t, fmt.Sprintf("redis://127.0.0.1:%d", port))
	r.args = append([]string{path, "--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--dir", r.dir}, args...)
	return r.start()
}

func newRig(t *testing.T, url string) *rig { return &rig{t: t, url: url, dir: t.TempDir()} }

func (r *rig) write(name, text string) string {
	file := filepath.Join(r.dir, name)
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "$DIR", r.dir)), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return file
}

func (r *rig) start() *rig {
	r.t.Helper()
	if err := r.run(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		r.end(syscall.SIGKILL)
		if r.t.Failed() {
			r.t.Logf("the broker said in the end: %s", tail(r.log.Bytes(), 2000))
		}
	})
	if err := r.listening(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	return r
}

func (r *rig) run() error {
	r.cmd = exec.Command(r.args[0], r.args[1:]...)
	r.cmd.Dir = r.dir
	r.cmd.Stdout, r.cmd.Stderr = &r.log, &r.log
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := r.cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	r.exited = exited
	cmd := r.cmd
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	return nil
}

func (r *rig) end(signal syscall.Signal) {
	_ = r.cmd.Process.Signal(signal)
	<-r.exited
}

// restart is made for Options.
func (r *rig) restart(ctx context.Context, kill bool) error {
	signal := syscall.SIGTERM
	if kill {
		signal = syscall.SIGKILL
	}
	r.end(signal)
	return errors.Join(r.run(), r.listening(ctx))
}

// listening waits until the broker takes connections.
func (r *rig) listening(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 40*time.Second)
	defer cancel()
	_, addr, _ := strings.Cut(r.url, "://")
	addr, _, _ = strings.Cut(addr, "/")
	for {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			return c.Close()
		}
		select {
		case <-r.exited:
			return fmt.Errorf("the broker ended: %.500s", r.log.Bytes())
		default:
		}
		if clock.Pause(ctx, 5*time.Millisecond) != nil {
			return err
		}
	}
}

// ask probes a broker with some questions.
func ask(t *testing.T, url string, restart func(context.Context, bool) error, questions ...string) *Report {
	t.Helper()
	s, err := plan.ParseSubject(url)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), s, s.URL, Options{Restart: restart, Questions: questions})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// answer is the answer to one question.
func (r *rig) answer(question string) Answer {
	r.t.Helper()
	restart := r.restart
	if r.cmd == nil {
		restart = nil
	}
	a, ok := ask(r.t, r.url, restart, question).Answer(question)
	if !ok {
		r.t.Fatalf("%s was not asked", question)
	}
	r.t.Logf("%s: %s%s (%s)", question, a.Value, a.Why, a.Evidence)
	return a
}

// tail is what comes last.
func tail(b []byte, size int) []byte { return b[max(len(b)-size, 0):] }

package prototest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/mqlab/mqlab/internal/proto/amqp091"
	"github.com/mqlab/mqlab/internal/proto/prototest"
)

// rabbitBin is where the Debian package has the scripts that insist on no user and no folder.
const rabbitBin = "/usr/lib/rabbitmq/bin"

// rabbitScript runs epmd and the broker until its standard input ends, which it does even if this process is killed.
// Without an epmd of our own the broker would start one that outlives it.
const rabbitScript = `
epmd -address 127.0.0.1 -port "$ERL_EPMD_PORT" & epmd=$!
` + rabbitBin + `/rabbitmq-server & broker=$!
read -r _
kill -TERM $broker; wait $broker
kill -TERM $epmd; wait $epmd
rm -rf "$LAB_DIR"
`

// rabbitMaxMessage is what the broker accepts at most, bytes.
const rabbitMaxMessage = 16 << 20

// rabbitDefinitions are users and what each may do. Nobody is known to no virtual host.
const rabbitDefinitions = `{
	"vhosts": [{"name": "/"}],
	"users": [
		{"name": "guest", "password": "guest", "tags": "administrator"},
		{"name": "reader", "password": "secret", "tags": ""},
		{"name": "writer", "password": "secret", "tags": ""},
		{"name": "nobody", "password": "secret", "tags": ""}
	],
	"permissions": [
		{"user": "guest", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"},
		{"user": "reader", "vhost": "/", "configure": "^amq.gen", "write": "^amq.gen", "read": ".*"},
		{"user": "writer", "vhost": "/", "configure": "", "write": ".*", "read": ""}
	]
}`

// rabbitHost is the RabbitMQ that all tests of this binary share: it takes seconds to start.
type rabbitHost struct {
	once  sync.Once
	addr  string
	err   error
	dir   string
	env   []string
	cmd   *exec.Cmd
	alive io.Closer
	log   bytes.Buffer
}

var rabbit rabbitHost

func TestMain(m *testing.M) {
	code := m.Run()
	if err := rabbit.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "rabbitmq does not stop:", err)
		code = 1
	}
	os.Exit(code)
}

// rabbitMQ returns the address of the shared broker, which it starts if need be. Without an installed one the test is
// skipped, or fails where CI is set.
func rabbitMQ(t testing.TB) string {
	t.Helper()
	find(t, rabbitBin+"/rabbitmq-server")
	epmd, node, port := freePort(t), freePort(t), freePort(t)
	rabbit.once.Do(func() { rabbit.err = rabbit.start(epmd, node, port) })
	if rabbit.err != nil {
		t.Fatalf("rabbitmq does not start: %v", rabbit.err)
	}
	return rabbit.addr
}

func (h *rabbitHost) start(epmd, node, port int) (err error) {
	if h.dir, err = os.MkdirTemp("", "rabbitmq"); err != nil {
		return err
	}
	h.addr = fmt.Sprintf("127.0.0.1:%d", port)
	files := map[string]string{
		"plugins":     "[].\n",
		"definitions": rabbitDefinitions,
		"conf": "listeners.tcp.1 = " + h.addr + "\n" +
			"log.console = true\nlog.console.level = warning\nlog.file = false\n" +
			"vm_memory_high_watermark.absolute = 2GiB\ndisk_free_limit.absolute = 50MB\n" +
			fmt.Sprintf("max_message_size = %d\nload_definitions = %s\n", rabbitMaxMessage, h.file("definitions")),
	}
	for name, text := range files {
		if err := os.WriteFile(h.file(name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	h.env = []string{
		"PATH=/usr/bin:/bin:/usr/sbin", "LANG=C.UTF-8", "HOME=" + h.dir, "LAB_DIR=" + h.dir,
		"ERL_EPMD_ADDRESS=127.0.0.1", fmt.Sprintf("ERL_EPMD_PORT=%d", epmd),
		"RABBITMQ_NODENAME=lab@localhost", fmt.Sprintf("RABBITMQ_DIST_PORT=%d", node),
		"RABBITMQ_MNESIA_BASE=" + h.file("mnesia"), "RABBITMQ_LOG_BASE=" + h.file("log"), "RABBITMQ_LOGS=-",
		"RABBITMQ_ENABLED_PLUGINS_FILE=" + h.file("plugins"), "RABBITMQ_CONFIG_FILE=" + h.file("conf"),
		"RABBITMQ_CONF_ENV_FILE=" + h.file("none"), "RABBITMQ_PID_FILE=" + h.file("pid"),
		"RABBITMQ_GENERATED_CONFIG_DIR=" + h.file("generated"),
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1} +sbwt none +sbwtdcpu none +sbwtdio none",
	}
	h.cmd = exec.Command("/bin/sh", "-c", rabbitScript)
	h.cmd.Env, h.cmd.Dir = h.env, h.dir
	h.cmd.Stdout, h.cmd.Stderr = &h.log, &h.log
	ownGroup(h.cmd)
	h.cmd.WaitDelay = time.Second
	if h.alive, err = h.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := h.cmd.Start(); err != nil {
		return err
	}
	return h.ready()
}

func (h *rabbitHost) file(name string) string { return filepath.Join(h.dir, name) }

// ready waits until the broker greets.
func (h *rabbitHost) ready() error {
	retry := time.NewTicker(100 * time.Millisecond)
	defer retry.Stop()
	timeout := time.After(90 * time.Second)
	for {
		err := h.greets()
		if err == nil {
			return nil
		}
		select {
		case <-retry.C:
		case <-timeout:
			return errors.Join(err, h.stop(), errors.New(h.log.String()))
		}
	}
}

func (h *rabbitHost) greets() error {
	c, err := prototest.Dial(h.addr, amqp091.NewClient(&amqp091.Config{User: "guest", Password: "guest"}, "ready"))
	if err != nil {
		return err
	}
	if _, err := c.Next(patience); err != nil {
		return errors.Join(err, c.Abort())
	}
	return c.Goodbye()
}

// stop ends the broker and its epmd.
func (h *rabbitHost) stop() error {
	if h.cmd == nil || h.cmd.Process == nil {
		return nil
	}
	_ = h.alive.Close()
	ended := make(chan error, 1)
	go func() { ended <- h.cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
	}
	if killGroup(h.cmd) {
		return errors.New("it had to be killed")
	}
	h.cmd = nil
	return os.RemoveAll(h.dir)
}

// control runs rabbitmqctl.
func (h *rabbitHost) control(t testing.TB, args ...string) {
	t.Helper()
	cmd := exec.Command(rabbitBin+"/rabbitmqctl", args...)
	cmd.Env, cmd.Dir = h.env, h.dir
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("rabbitmqctl %q: %v\n%s", args, err, said)
	}
}

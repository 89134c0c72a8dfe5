package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/mqlab/mqlab/internal/broker"
	"github.com/mqlab/mqlab/internal/guard"
)

// Respawn returns a function for Options.Restart that ends a broker of ours and runs its program again: with the same
// arguments, environment and folder, and so with the same configuration and data. A broker whose process is not the
// program itself (started by a script) has none: nil.
//
// The first process must still run. Stop of the instance reports its end as a crash afterwards; done ends the last process.
func Respawn(i *broker.Instance, g *guard.Guard) (restart func(ctx context.Context, kill bool) (string, error), done func() error) {
	none := func() error { return nil }
	if len(i.PIDs) != 1 {
		return nil, none
	}
	p, err := inspect(i.PIDs[0])
	if err != nil || p.script() {
		return nil, none
	}
	exited := i.Exited()
	p.wait = func(ctx context.Context) error {
		for {
			select {
			case _, more := <-exited:
				if !more {
					return nil
				}
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	return func(ctx context.Context, kill bool) (string, error) { return p.restart(ctx, g, kill) }, func() error { return p.end(g) }
}

// process is a program that can be run again.
type process struct {
	pid       int
	path, dir string
	args, env []string
	wait      func(ctx context.Context) error // until pid has ended
	stdin     io.Closer                       // of an embedded broker, which ends when it is closed
	ours      bool                            // pid was started here
}

// inspect reads how a running process was started.
func inspect(pid int) (*process, error) {
	at := func(name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }
	path, err := os.Readlink(at("exe"))
	if err != nil {
		return nil, err
	}
	dir, err := os.Readlink(at("cwd"))
	if err != nil {
		return nil, err
	}
	args, err := os.ReadFile(at("cmdline"))
	if err != nil {
		return nil, err
	}
	env, err := os.ReadFile(at("environ"))
	if err != nil {
		return nil, err
	}
	p := &process{pid: pid, path: path, dir: dir, args: words(args)}
	for _, v := range words(env) {
		if !strings.HasPrefix(v, guard.Marker+"=") {
			p.env = append(p.env, v)
		}
	}
	return p, nil
}

func words(b []byte) []string { return strings.Split(string(bytes.TrimRight(b, "\x00")), "\x00") }

// script reports whether the process is an interpreter, whose children are the broker.
func (p *process) script() bool {
	for _, shell := range []string{"sh", "bash", "dash", "busybox"} {
		if strings.HasSuffix(p.path, "/"+shell) {
			return true
		}
	}
	return false
}

// embedded reports whether the process is this program as a broker, which chooses its port and tells it.
func (p *process) embedded() bool { return len(p.args) > 1 && p.args[1] == broker.Verb }

// end kills the process that was started here, if there is one.
func (p *process) end(g *guard.Guard) error {
	if !p.ours {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	return errors.Join(p.stop(ctx, true), g.End(p.pid))
}

func (p *process) stop(ctx context.Context, kill bool) error {
	signal := syscall.SIGTERM
	if kill {
		signal = syscall.SIGKILL
	}
	if err := syscall.Kill(p.pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return p.wait(ctx)
}

func (p *process) restart(ctx context.Context, g *guard.Guard, kill bool) (addr string, err error) {
	if err := p.stop(ctx, kill); err != nil {
		return "", fmt.Errorf("it does not end: %w", err)
	}
	cmd := exec.Command(p.path)
	cmd.Args, cmd.Dir, cmd.Env = p.args, p.dir, p.env
	cmd.WaitDelay = time.Second
	line := make(chan []byte, 1)
	if p.embedded() {
		if p.stdin, err = cmd.StdinPipe(); err != nil {
			return "", err
		}
		cmd.Stdout = &firstLine{to: line}
	}
	if err := g.Spawn(cmd); err != nil {
		return "", err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended does not matter
		close(ended)
	}()
	p.pid, p.ours = cmd.Process.Pid, true
	p.wait = func(ctx context.Context) error {
		select {
		case <-ended:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if !p.embedded() {
		return "", nil
	}
	select {
	case text := <-line:
		var ready struct {
			Address string `json:"address"`
		}
		if err := json.Unmarshal(text, &ready); err != nil || ready.Address == "" {
			return "", fmt.Errorf("it said %.100q instead of its address", text)
		}
		return ready.Address, nil
	case <-ended:
		return "", errors.New("it ended at once")
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// firstLine passes on the first line that is written to it.
type firstLine struct {
	buf []byte
	to  chan<- []byte
}

func (f *firstLine) Write(b []byte) (int, error) {
	if f.to == nil {
		return len(b), nil
	}
	f.buf = append(f.buf, b...)
	if i := bytes.IndexByte(f.buf, '\n'); i >= 0 {
		f.to <- f.buf[:i]
		f.to = nil
	}
	return len(b), nil
}
